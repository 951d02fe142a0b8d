"""What is wrong with a node, and what is worth a warning, each with what to do about it.

Gathered from agreement, examinations, scrubbing, the reader, the log's settings, enforcement and the snapshot.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from topicfold.errors import SnapshotDamaged, TopicfoldError
from topicfold.model.events import PAYLOAD_SCHEMA
from topicfold.model.names import topic_of_key
from topicfold.runtime.examiner import Conclusion
from topicfold.server.health import LEAVING, reason_not_ready
from topicfold.server.node import Node
from topicfold.state.aggregate import Aggregate
from topicfold.state.fold import PartitionState
from topicfold.text.counting import counted
from topicfold.wire.diagnosis import DiagnosedProblem, SnapshotDiagnosis

PROBLEM_FOR_MS = 24 * 3_600_000
"""A difference with a node from which nothing better was heard is a problem for a day."""
OLD_SNAPSHOT_SECONDS = 2 * 86_400
"""Twice as long as a job of compaction may rest."""
ENDING_CERTIFICATE_SECONDS = 7 * 86_400
_SAVE = "save what this node knows before it stops (docs/recovery.md)"
_PARTITION = "{partition}"
"""Stands for the name of a partition in a reason that others may have, too."""


@dataclass(frozen=True, slots=True)
class Symptoms:
    """Those that a node shows at this moment."""

    node: Node

    def problems(self, undecodable: Collection[int]) -> Iterator[DiagnosedProblem]:
        """Yield what is wrong; in these partitions are topics that cannot be read."""
        engine = self.node.engine
        if not engine.freshness.is_reachable:
            what = "the log cannot be reached"
            why = engine.freshness.why_unreachable.removeprefix(f"{what}: ")
            yield _problem(f"{what}: {why}", engine.freshness.what_to_do or self._look_at_log())
        if engine.freshness.silent:
            yield _problem(
                f"{_named(sorted(engine.freshness.silent))} of the log cannot be reached, while others can",
                "check that the brokers that lead them are running and let this node in",
            )
        if refusal := engine.freshness.refusal:
            yield _problem(f"changes cannot be written to the log: {refusal.reason}", refusal.hint)
        yield from self._settings(is_advice=False)
        yield from self._not_ready()
        yield from self._certificates(has_expired=True)
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
        if self.node.upkeep is not None and (trouble := self.node.upkeep.trouble) and not self._is_log_away_there():
            yield problem_of(trouble)

    def warnings(self, *, is_trimmed: bool, apart: Mapping[str, int]) -> Iterator[DiagnosedProblem]:
        """Yield what needs somebody's attention, although the node itself is well.

        `apart` are how many topics are otherwise in Kafka than recorded.
        """
        yield from self._settings(is_advice=True)
        yield from self._garbage()
        yield from self._clock()
        if is_trimmed:
            yield from self._beginning()
        yield from self._old_snapshot()
        yield from self._certificates(has_expired=False)
        yield from self._apart(apart)

    def snapshot_problems(
        self, snapshot: SnapshotDiagnosis, wrong: TopicfoldError | None, *, is_trimmed: bool
    ) -> Iterator[DiagnosedProblem]:
        """Yield what is wrong with it, `wrong` being what was said of the newest commit of all."""
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

    def damaged_past(self, damage: SnapshotDamaged) -> DiagnosedProblem:
        """Return that questions about the past are not answered, because of this `damage` of the snapshot's history."""
        snapshot = self.node.settings.snapshot
        assert snapshot is not None  # noqa: S101 -- it has a history
        return _problem(
            f"of the past, only what the log holds is answered: {damage.reason}",
            "restore the file; if there is no copy, remove it, where it is there, and type "
            f"{self.node.settings.compact_command(snapshot)}: that folds again what the log still has of it",
        )

    def _not_ready(self) -> Iterator[DiagnosedProblem]:
        """Yield why partitions are not ready, once for all that have the same reason.

        That they are old follows from a log that cannot be reached, and is not told again.
        """
        engine = self.node.engine
        if self.node.leaving.is_set():
            yield _problem(LEAVING, "ask another node, or start it again")
            return
        sharing: dict[tuple[str, str], list[int]] = {}
        for partition in engine.states:
            if engine.readiness.is_ready(partition) and not engine.freshness.is_reachable:
                continue
            if reason := reason_not_ready(self.node, partition):
                unnamed = reason.replace(f"partition {partition} ", f"{_PARTITION} ", 1)
                sharing.setdefault((unnamed, _after(engine.reader.faults.get(partition))), []).append(partition)
        for (unnamed, next_step), partitions in sharing.items():
            yield _problem(unnamed.replace(_PARTITION, _named(partitions), 1), next_step)

    def _garbage(self) -> Iterator[DiagnosedProblem]:
        """Yield where the log has records that are damaged or not Topicfold's, among those folded since the start."""
        for partition, (records, last) in sorted(self.node.engine.reader.garbage.items()):
            which, verb = f"partition {partition} has a record at offset {last} that", "is"
            if records > 1:
                which, verb = f"partition {partition} has {records} records, the last at offset {last}, that", "are"
            what = f"{which} {verb} damaged or not Topicfold's, and without effect"
            yield _problem(what, "check what besides Topicfold can write to the log, and the disks that it is on")

    def _clock(self) -> Iterator[DiagnosedProblem]:
        """Yield that waits of Kafka's client may take longer, as they are measured by a clock that was set back."""
        seconds = self.node.engine.clock_set_back_seconds
        if seconds and self.node.settings.kafka_bootstrap:
            what = f"this node's clock was set back by {seconds:.0f} s, and Kafka's client may fall silent for as long"
            yield _problem(what, "if other nodes reach the log and this one does not, or only at times, restart it")

    def _beginning(self) -> Iterator[DiagnosedProblem]:
        """Yield that this node could not start again from a log that lost its beginning, if no snapshot is named."""
        if self.node.settings.snapshot is None:
            what = "the log was trimmed, and no snapshot is configured: this node cannot restart"
            yield _problem(
                what,
                f"start it with --snapshot DIR, the directory that 'topicfold trim' was told; if none was, {_SAVE}",
            )

    def _apart(self, counts: Mapping[str, int]) -> Iterator[DiagnosedProblem]:
        """Yield what topics wait for in Kafka, and how many are otherwise there than recorded."""
        upkeep = self.node.upkeep
        if upkeep is None:
            return
        if held_up := upkeep.held_up:
            name = min(held_up)
            many = "1 topic waits" if len(held_up) == 1 else f"{len(held_up)} topics wait"
            what = f"{many} for a step in Kafka, such as {name}: {held_up[name].reason}"
            yield _problem(what, held_up[name].hint or "see the log output of this node")
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

    def _certificates(self, *, has_expired: bool) -> Iterator[DiagnosedProblem]:
        """Yield which certificates that this node shows have expired, or soon will."""
        now = self.node.engine.options.clock_ms() / 1000
        for setting, end in self.node.certificate_ends.items():
            rest = end.timestamp() - now
            if rest < ENDING_CERTIFICATE_SECONDS and has_expired == (rest <= 0):
                when = f"{'expired' if has_expired else 'expires'} at {end:%Y-%m-%dT%H:%M:%SZ}"
                what = f"the certificate that this node has read from {setting} {when}"
                yield _problem(what, "put a new one in its place, if that is not done yet, and restart this node")

    def _differences(self, partition: int) -> Iterator[DiagnosedProblem]:
        engine = self.node.engine
        if partition in engine.reader.faults:
            return
        examined = engine.examiner.last.get(partition)
        is_right = examined is not None and examined[1] is Conclusion.MEMORY_RIGHT
        for name, last in engine.agreement.reports[partition].by_node.items():
            if last.is_equal or engine.options.clock_ms() - last.at_ms > PROBLEM_FOR_MS:
                continue
            own = (
                "a refold shows that this node is right" if is_right else "this node could not determine which is right"
            )
            what = f"node {name} has another digest of partition {partition} at {last.position}; {own}"
            yield _problem(what, f"topicfold doctor --url {name if '://' in name else 'URL'} asks that node")

    def _old_snapshot(self) -> Iterator[DiagnosedProblem]:
        """Yield that the snapshot has lacked something for longer than its job may rest."""
        age_seconds = self.node.engine.snapshot_age.seconds
        if age_seconds is not None and OLD_SNAPSHOT_SECONDS < age_seconds < math.inf:
            what = f"the snapshot has been behind the log for {age_seconds / 86_400:.0f} days"
            yield _problem(what, "check that 'topicfold compact' is running, and what it reports")

    def _is_log_away_there(self) -> bool:
        """Return whether the log cannot be reached and the topics are in its cluster: then that says it all."""
        upkeep, settings = self.node.upkeep, self.node.settings
        is_there = upkeep is not None and upkeep.bootstrap == settings.kafka_bootstrap
        return is_there and not self.node.engine.freshness.is_reachable

    def _look_at_log(self) -> str:
        """Return what to do about a log that cannot be reached, where it does not say so itself."""
        settings = self.node.settings
        return f"see whether {settings.kafka_bootstrap or settings.log_file} is there and lets this node in"


def problem_of(error: TopicfoldError) -> DiagnosedProblem:
    """Return what an error tells, as a problem."""
    return _problem(error.reason, error.hint)


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


def _after(fault: TopicfoldError | None) -> str:
    """Return what to do about a partition that is not ready."""
    if fault is None:
        return "topicfold doctor in a moment; if the position does not move, check that the log can be reached"
    return fault.hint or "restart this node"


def _problem(what: str, next_step: str) -> DiagnosedProblem:
    return DiagnosedProblem(what=what, next=next_step)
