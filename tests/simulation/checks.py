"""The judge: every promise, checked against one finished run; and the trace of what broke one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.simulation.call_checks import check_calls
from tests.simulation.evidence import Evidence, Violation
from tests.simulation.listening_checks import check_listening
from tests.simulation.log_checks import check_log
from tests.simulation.read_checks import check_reads
from tests.simulation.reference import owner_of
from tests.simulation.state_checks import check_states
from topicfold.log.codec import decode_event

_TRACE_LINES = 60


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of one seed. `fingerprint` is equal for two runs only if they were the same run.

    `loop_errors` are those that nobody retrieved; the last of them appear when the run's garbage is collected.
    """

    seed: int
    violations: list[Violation]
    evidence: Evidence
    loop_errors: list[str]

    @property
    def fingerprint(self) -> tuple[object, ...]:
        """The whole log, when it landed, and what every client saw."""
        history, store = self.evidence.history, self.evidence.store
        return (store.entries, store.landed_at, [*map(str, history.calls)], [*map(str, history.reads)], history.notes)

    def __str__(self) -> str:
        first = self.violations[0]
        found = "\n".join(f"  {each.rule}: {each.text}" for each in self.violations[:5])
        lines = [line for moment, line in sorted(_trace(self.evidence, first.subject)) if moment <= first.moment]
        return (
            f"seed {self.seed} breaks {len(self.violations)} promise(s):\n{found}\n"
            f"{len(lines)} lines until then concern {first.subject or 'everything'}, the last {_TRACE_LINES}:\n"
            + "\n".join(f"  {line}" for line in lines[-_TRACE_LINES:])
            + f"\nrun it alone: TOPICFOLD_SIM_SEEDS={self.seed} python -m pytest tests/simulation/test_simulation.py"
        )


def judge(seed: int, evidence: Evidence, loop_errors: list[str]) -> Judgement:
    """Return the judgement on a finished run; `loop_errors` are those that nobody retrieved."""
    violations = [Violation(text.partition(" ")[0], text) for text in evidence.history.wrong]
    violations += [Violation("error", text) for text in loop_errors]
    violations += [*check_log(evidence), *check_calls(evidence), *check_reads(evidence), *check_states(evidence)]
    violations += check_listening(evidence)
    return Judgement(seed, violations, evidence, loop_errors)


def _trace(evidence: Evidence, subject: str) -> Iterator[tuple[float, str]]:
    """Yield (time, line) for all that concerns the aggregate `subject` or its namespace; all there is for ""."""
    owner = owner_of((3, subject)) or subject
    for call in evidence.history.calls:
        if (not subject or call.operation.name in (subject, owner)) and not call.was_refused_a_connection:
            yield call.span.began, str(call)
    for read in evidence.history.reads:
        if not subject or read.topic == subject:
            yield read.span.began, str(read)
    for fold, times in zip(evidence.folds, evidence.store.landed_at, strict=True):
        took_effect = {accepted.offset for accepted in fold.accepted}
        for entry, landed in zip(evidence.store.entries[fold.partition], times, strict=True):
            event = decode_event(entry.value)
            if event is not None and (not subject or event.name in (subject, owner)):
                verdict = "accepted" if entry.offset in took_effect else "no effect"
                operations = [(each.id.hex()[:6], each.verdict) for each in event.operations]
                yield (
                    landed,
                    (
                        f"{landed:8.3f} LOG {fold.partition}/{entry.offset} {verdict} kind {event.kind} {event.name} "
                        f"{event.event_id.hex()[:8]} on {event.base.hex()[:8]} carries {operations}"
                    ),
                )
    yield from ((moment, f"{moment:8.3f} {text}") for moment, text in evidence.history.notes)
