"""What a node finds out about itself: all that agreement, scrubbing and the log's settings told, and what to do."""

from __future__ import annotations

import asyncio
import math
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from topicfold import __version__
from topicfold.counting import counted
from topicfold.errors import LogUnavailable, SnapshotDamaged, SnapshotUnreadable, TopicfoldError
from topicfold.model.events import PAYLOAD_SCHEMA
from topicfold.model.names import topic_of_key
from topicfold.model.permissions import Access
from topicfold.rfc3339 import time_text
from topicfold.runtime.agreement import AgreementReport
from topicfold.runtime.examiner import Finding
from topicfold.runtime.refold import digest_in_slices, lay_out_in_slices
from topicfold.runtime.topic_counts import count_topics
from topicfold.server.answers import JSON_TYPE
from topicfold.server.health import LEAVING, reason_not_ready
from topicfold.server.node import Node
from topicfold.server.queries import query_of
from topicfold.server.routes import READ_ERRORS, Operation
from topicfold.state.aggregate import Aggregate
from topicfold.state.fold import PartitionState
from topicfold.wire.diagnosis import (
    DiagnosedProblem,
    Diagnosis,
    DigestComparison,
    LogDiagnosis,
    PartitionDiagnosis,
    ScrubDiagnosis,
    SnapshotDiagnosis,
)

PROBLEM_FOR_MS = 24 * 3_600_000
"""A difference with a node from which nothing better was heard is a problem for a day."""
OLD_SNAPSHOT_SECONDS = 2 * 86_400
"""Twice as long as a job of compaction may rest."""
_SAVE = "save what this node knows before it stops (docs/recovery.md)"
_PARTITION = "{partition}"
"""Stands for the name of a partition in a reason that others may have, too."""


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
        problems = [*self._problems({each.partition for each in partitions if each.undecodable_topics})]
        snapshot, is_trimmed = None, await self._is_trimmed()
        if settings.snapshot is not None:
            try:
                snapshot, wrong = await asyncio.to_thread(self._snapshot, settings.snapshot)
                problems += self._snapshot_problems(snapshot, wrong, is_trimmed=is_trimmed)
            except SnapshotUnreadable as error:
                problems.append(_problem(error.reason, error.hint))
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
            warnings=[
                *self._settings(is_advice=True), *self._garbage(), *self._beginning(is_trimmed), *self._old_snapshot(),
                *self._apart(),
            ],
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

    def _problems(self, undecodable: Collection[int]) -> Iterator[DiagnosedProblem]:
        """Yield what is wrong; in these partitions are topics that cannot be read."""
        engine = self.node.engine
        if not engine.freshness.is_reachable:
            what = "the log cannot be reached"
            why = engine.freshness.why_unreachable.removeprefix(f"{what}: ")
            yield _problem(f"{what}: {why}", engine.freshness.what_to_do or _look_at(self._log_place()))
        if engine.freshness.silent:
            yield _problem(
                f"{_named(sorted(engine.freshness.silent))} of the log cannot be reached, while others can",
                "check that the brokers that lead them are running and let this node in",
            )
        if refusal := engine.freshness.refusal:
            yield _problem(f"changes cannot be written to the log: {refusal.reason}", refusal.hint)
        yield from self._settings(is_advice=False)
        yield from self._not_ready()
        for partition, state in engine.states.items():
            yield from self._differences(partition)
            if partition in undecodable:
                yield from _undecodable(state)
        yield from _newer("tenant", (state.tenants for state in engine.states.values()))
        yield from _newer("namespace", (state.namespaces for state in engine.states.values()))
        scrub = engine.scrubber.report
        if scrub is not None and scrub.found and not engine.reader.faults:
            what = f"the last check of memory found {counted(scrub.found, 'thing')} wrong: {'; '.join(scrub.told)}"
            yield _problem(what, "restart this node: it then folds everything again")
        if self.node.upkeep is not None and (trouble := self.node.upkeep.trouble):
            yield _problem(trouble.reason, trouble.hint)

    def _not_ready(self) -> Iterator[DiagnosedProblem]:
        """Yield why partitions are not ready, once for all that have the same reason."""
        engine = self.node.engine
        if self.node.leaving.is_set():
            yield _problem(LEAVING, "ask another node, or start it again")
            return
        sharing: dict[tuple[str, str], list[int]] = {}
        for partition in engine.states:
            if reason := reason_not_ready(self.node, partition):
                unnamed = reason.replace(f"partition {partition} ", f"{_PARTITION} ", 1)
                sharing.setdefault((unnamed, _after(engine.reader.faults.get(partition))), []).append(partition)
        for (unnamed, next_step), partitions in sharing.items():
            yield _problem(unnamed.replace(_PARTITION, _named(partitions), 1), next_step)

    async def _is_trimmed(self) -> bool:
        """Return whether the log has lost its beginning, as far as it answers."""
        try:
            return any((await self.node.engine.log.start_offsets()).values())
        except LogUnavailable:
            return False

    def _garbage(self) -> Iterator[DiagnosedProblem]:
        """Yield where the log has records that are damaged or not Topicfold's, among those folded since the start."""
        for partition, (records, last) in sorted(self.node.engine.reader.garbage.items()):
            which, verb = f"partition {partition} has a record at offset {last} that", "is"
            if records > 1:
                which, verb = f"partition {partition} has {records} records, the last at offset {last}, that", "are"
            what = f"{which} {verb} damaged or not Topicfold's, and without effect"
            yield _problem(what, "check what besides Topicfold can write to the log, and the disks that it is on")

    def _beginning(self, is_trimmed: bool) -> Iterator[DiagnosedProblem]:
        """Yield that this node could not start again, where the log lost its beginning and no snapshot is named."""
        if is_trimmed and self.node.settings.snapshot is None:
            what = "the log was trimmed, and no snapshot is configured: this node cannot restart"
            yield _problem(
                what,
                f"start it with --snapshot DIR, the directory that 'topicfold trim' was told; if none was, {_SAVE}",
            )

    def _apart(self) -> Iterator[DiagnosedProblem]:
        """Yield what topics wait for in Kafka, and, where it is followed, which are otherwise there than recorded."""
        upkeep = self.node.upkeep
        if upkeep is None:
            return
        if held_up := upkeep.held_up:
            name = min(held_up)
            many = "1 topic waits" if len(held_up) == 1 else f"{len(held_up)} topics wait"
            what = f"{many} for a step in Kafka, such as {name}: {held_up[name].reason}"
            yield _problem(what, held_up[name].hint or "see the log output of this node")
        counts = upkeep.followed
        for kind, how in (("missing", "not in Kafka"), ("fewer_partitions", "of fewer partitions in Kafka")):
            if count := counts.get(kind, 0):
                what = f"{count} recorded topic{' is' if count == 1 else 's are'} {how}"
                command = shlex.join(["topicfold", "import", "kafka", "--bootstrap", upkeep.bootstrap, "--dry-run"])
                yield _problem(what, f"{command} names them")

    def _settings(self, *, is_advice: bool) -> Iterator[DiagnosedProblem]:
        verb = "should" if is_advice else "must"
        for problem in self.node.engine.freshness.problems:
            if problem.is_advice == is_advice:
                what = f"the log's {problem.setting} is {problem.found}, it {verb} be {problem.wanted}"
                yield _problem(what, problem.repair)

    def _differences(self, partition: int) -> Iterator[DiagnosedProblem]:
        engine = self.node.engine
        if partition in engine.reader.faults:
            return
        examined = engine.examiner.last.get(partition)
        is_right = examined is not None and examined[1] is Finding.MEMORY_RIGHT
        for name, last in engine.agreement.reports[partition].by_node.items():
            if last.is_equal or engine.options.clock_ms() - last.at_ms > PROBLEM_FOR_MS:
                continue
            own = (
                "a refold shows that this node is right" if is_right else "this node could not determine which is right"
            )
            what = f"node {name} has another digest of partition {partition} at {last.position}; {own}"
            yield _problem(what, f"topicfold doctor --url {name if '://' in name else 'URL'} asks that node")

    def _snapshot_problems(
        self, snapshot: SnapshotDiagnosis, wrong: TopicfoldError | None, *, is_trimmed: bool
    ) -> Iterator[DiagnosedProblem]:
        restore = (
            f"restore its directory: no node can start without it, as the log was trimmed; if there is no copy, {_SAVE}"
        )
        if wrong is not None and snapshot.sequence is None:
            what = f"no commit of the snapshot can be read: {wrong.reason}"
            anew = "restore its directory, or compact into a new one: no job can continue from this one"
            if is_trimmed:
                anew = restore
            yield _problem(what, anew if isinstance(wrong, SnapshotDamaged) else wrong.hint)
        elif wrong is not None:
            what = f"a commit of the snapshot cannot be read, the newest that can be is {snapshot.sequence}"
            yield _problem(f"{what}: {wrong.reason}", wrong.hint)
        elif snapshot.sequence is None:
            what = f"there is no commit in the snapshot {snapshot.path}"
            yield _problem(what, restore if is_trimmed else self.node.settings.compact_command(Path(snapshot.path)))

    def _old_snapshot(self) -> Iterator[DiagnosedProblem]:
        """Yield that the snapshot has lacked something for longer than its job may rest. The node itself is well."""
        age_seconds = self.node.engine.snapshot_age.seconds
        if age_seconds is not None and OLD_SNAPSHOT_SECONDS < age_seconds < math.inf:
            what = f"the snapshot has been behind the log for {age_seconds / 86_400:.0f} days"
            yield _problem(what, "check that 'topicfold compact' is running, and what it reports")

    def _log_place(self) -> str:
        settings = self.node.settings
        return settings.kafka_bootstrap or str(settings.log_file)


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be asked of a node about itself."""
    return (
        Operation("diagnose", "GET", "/api/v1/doctor", Doctor(node).diagnose, "Diagnose the node",
                  answer=Diagnosis, needs=Access.SUPERUSER, errors=READ_ERRORS),
    )  # fmt: skip


def _undecodable(state: PartitionState) -> Iterator[DiagnosedProblem]:
    for namespace, table in state.topics.items():
        if table.undecodable:
            number = table.undecodable[0]
            name = topic_of_key(namespace, table.keys[number])
            count = len(table.undecodable)
            what = f"{count} topic{'' if count == 1 else 's'} of {namespace} cannot be read, such as {name}"
            command = shlex.join(["topicfold", "history", name])
            way_out = "a newer node than this can read it"
            if table.row(number).payload_schema <= PAYLOAD_SCHEMA:
                ending, making = (shlex.join(["topicfold", "topics", verb, name]) for verb in ("delete", "create"))
                way_out = f"it is damaged: {ending} deletes it, {making} creates it again"
            yield _problem(what, f"{command} tells who wrote it; {way_out}")


def _newer(what: str, owners: Iterable[Mapping[str, Aggregate]]) -> Iterator[DiagnosedProblem]:
    """Yield how many tenants or namespaces a newer node wrote so that this one cannot read them."""
    names = [name for each in owners for name, owner in each.items() if owner.payload_schema > PAYLOAD_SCHEMA]
    if names:
        count = f"1 {what}" if len(names) == 1 else f"{len(names)} {what}s"
        yield _problem(
            f"{count} cannot be read, such as {min(names)}: a newer node than this wrote it",
            "upgrade this node; until then it ignores their grants and does not show their policies",
        )


def _named(partitions: Sequence[int]) -> str:
    """Return partitions in words, before what holds for one.

    >>> _named([4]), _named([0, 1, 2, 5])
    ('partition 4', 'each of partitions 0-2, 5')
    """
    runs: list[list[int]] = []
    for partition in partitions:
        if runs and runs[-1][-1] == partition - 1:
            runs[-1].append(partition)
        else:
            runs.append([partition])
    named = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"partition {named}" if len(partitions) == 1 else f"each of partitions {named}"


def _comparison(report: AgreementReport) -> DigestComparison | None:
    last = report.last
    if last is None:
        return None
    return DigestComparison(
        position=last.position, node=last.node, equal=last.is_equal, at=time_text(last.at_ms, "seconds")
    )


def _after(fault: TopicfoldError | None) -> str:
    """Return what to do about a partition that is not ready."""
    if fault is None:
        return "topicfold doctor in a moment; if the position does not move, check that the log can be reached"
    return fault.hint or "restart this node"


def _look_at(place: str) -> str:
    return f"see whether {place} is there and lets this node in"


def _problem(what: str, next_step: str) -> DiagnosedProblem:
    return DiagnosedProblem(what=what, next=next_step)
