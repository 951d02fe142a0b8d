"""Answers how healthy a node is: its partitions, its log and its snapshot, and what is wrong with them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from topicfold import __version__
from topicfold.errors import (
    ClusterUnavailable,
    LevelUnsupported,
    LogUnavailable,
    SnapshotDamaged,
    SnapshotUnreadable,
    TopicfoldError,
    Wait,
    WrongSnapshot,
)
from topicfold.model.permissions import Access
from topicfold.runtime.agreement import AgreementReport
from topicfold.runtime.refold import digest_in_slices, lay_out_in_slices
from topicfold.runtime.topic_counts import count_topics
from topicfold.server.answers import JSON_TYPE
from topicfold.server.health import reason_not_ready
from topicfold.server.node import Node
from topicfold.server.queries import query_of
from topicfold.server.routes import READ_ERRORS, Operation
from topicfold.server.symptoms import Symptoms, problem_of
from topicfold.state.fold import PartitionState
from topicfold.text.rfc3339 import time_text
from topicfold.wire.diagnosis import (
    Diagnosis,
    DigestComparison,
    LogDiagnosis,
    PartitionDiagnosis,
    ScrubDiagnosis,
    SnapshotDiagnosis,
)

SNAPSHOT_SECONDS = 5.0
"""For so long the doctor waits for the snapshot's files, or for its turn with them."""


@dataclass(frozen=True, slots=True)
class Doctor:
    """The handler."""

    node: Node

    async def diagnose(self, request: Request) -> Response:
        """Answer how this node is, whether it is ready or not.

        Raises:
            InvalidRequest: a parameter is given.
        """
        query_of(request, ())
        engine, settings = self.node.engine, self.node.settings
        partitions = [await self._partition(state) for state in engine.states.values()]
        symptoms = Symptoms(self.node)
        problems = [*symptoms.problems({each.partition for each in partitions if each.undecodable_topics})]
        snapshot, is_trimmed = None, await self._is_trimmed()
        if settings.snapshot is not None:
            try:
                async with asyncio.timeout(SNAPSHOT_SECONDS):
                    snapshot, wrong = await engine.snapshots.ask(self._snapshot, settings.snapshot)
                    problems += symptoms.snapshot_problems(snapshot, wrong, is_trimmed=is_trimmed)
                    if (archive := engine.snapshots.archive) is not None and snapshot.sequence is not None:
                        await engine.snapshots.ask(archive.require_readable)
            except TimeoutError:
                problems.append(problem_of(_unread(settings.snapshot)))
            except SnapshotDamaged as error:
                problems.append(symptoms.damaged_past(error))
            except (SnapshotUnreadable, WrongSnapshot, LevelUnsupported) as error:
                problems.append(problem_of(error))
        apart: Mapping[str, int] = {}
        try:
            apart = await self._apart(is_well=not problems)
        except ClusterUnavailable as error:
            problems.append(problem_of(error))
        except Wait:
            pass  # The log does not answer right now: nothing is known of Kafka's topics.
        scrub = engine.scrubber.report
        diagnosis = Diagnosis(
            healthy=not problems,
            node=engine.agreement.node,
            version=__version__,
            log=LogDiagnosis(
                incarnation=engine.identity.incarnation.hex(),
                reachable=engine.freshness.is_reachable,
                wrong_settings=[problem.setting for problem in engine.freshness.problems],
            ),
            partitions=partitions,
            scrub=None if scrub is None else ScrubDiagnosis(
                at=time_text(scrub.at_ms, "seconds"), topics=scrub.topics, found=scrub.found, told=list(scrub.told)
            ),
            snapshot=snapshot,
            problems=problems,
            warnings=[*symptoms.warnings(is_trimmed=is_trimmed, apart=apart)],
        )  # fmt: skip
        return Response(diagnosis.model_dump_json(by_alias=True), media_type=JSON_TYPE)

    async def _partition(self, state: PartitionState) -> PartitionDiagnosis:
        engine, partition = self.node.engine, state.partition
        counts = await count_topics([state])
        await lay_out_in_slices(state)
        mark = state.mark()
        reason = reason_not_ready(self.node, partition)
        report = engine.agreement.reports[partition]
        examined = engine.examiner.last.get(partition)
        return PartitionDiagnosis(
            partition=partition,
            ready=not reason,
            reason=reason,
            position=mark.position,
            topics=counts.live,
            undecodable_topics=counts.undecodable,
            compared=_comparison(report),
            comparisons=report.compared,
            differences=dict(report.differences),
            examined=None if examined is None else examined[1].value,
            digest=(await digest_in_slices(mark)).hex(),
        )

    def _snapshot(self, root: Path) -> tuple[SnapshotDiagnosis, TopicfoldError | None]:
        """Return the newest commit that can be read, and what is wrong with the newest of all. Blocks on files.

        Raises:
            SnapshotUnreadable: its commits cannot be listed.
        """
        from topicfold.snapshot.commits import read_commit, sequences
        from topicfold.snapshot.intact import require_there

        wrong: TopicfoldError | None = None
        for sequence in sequences(root):
            try:
                commit = read_commit(root, sequence)
                require_there(root, commit)
            except TopicfoldError as error:
                wrong = wrong or error
                continue
            age_seconds = max(0.0, (self.node.engine.options.clock_ms() - commit.time_ms) / 1000)
            return SnapshotDiagnosis(path=str(root), sequence=sequence, age_seconds=age_seconds), wrong
        return SnapshotDiagnosis(path=str(root), sequence=None, age_seconds=None), wrong

    async def _apart(self, *, is_well: bool) -> Mapping[str, int]:
        """Return how many topics are otherwise in Kafka than recorded; looks for that only if the node `is_well`.

        Raises:
            ClusterUnavailable: Kafka does not answer, though it did before.
            Wait: the log does not.
        """
        upkeep = self.node.upkeep
        if upkeep is None:
            return {}
        return await upkeep.compared() if is_well else upkeep.followed

    async def _is_trimmed(self) -> bool:
        """Return whether the log has lost its beginning, as far as it answers."""
        try:
            return any((await self.node.engine.log.start_offsets()).values())
        except LogUnavailable:
            return False


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be asked of a node about itself."""
    return (
        Operation("diagnose", "GET", "/api/v1/doctor", Doctor(node).diagnose, "Diagnose the node",
                  answer=Diagnosis, needs=Access.SUPERUSER, errors=READ_ERRORS),
    )  # fmt: skip


def _unread(root: Path) -> SnapshotUnreadable:
    return SnapshotUnreadable(
        f"the snapshot {root} does not answer within {SNAPSHOT_SECONDS:.0f} s",
        hint="See whether the file system that it is on answers, as with 'ls'. While it does not, nodes go on, but "
        "none can start.",
        path=str(root),
    )


def _comparison(report: AgreementReport) -> DigestComparison | None:
    last = report.last
    if last is None:
        return None
    return DigestComparison(
        position=last.position, node=last.node, equal=last.is_equal, at=time_text(last.at_ms, "seconds")
    )
