"""What a set of histories has reached: a simulation in which nothing goes wrong would prove nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.simulation.evidence import Evidence
from tests.simulation.history import Call
from tests.simulation.operations import Method
from tests.simulation.reference import Accepted, Reference
from topicfold import errors
from topicfold.log.codec import decode_event
from topicfold.log.digest_record import statements_in
from topicfold.model.events import AggregateKind, Kind, Verdict
from topicfold.model.records import TopicRecord
from topicfold.runtime.asking import Written

_ANSWERS = (
    Written, errors.OutcomeUnknown, errors.LogUnavailable, errors.NotReady, errors.NewerSchema, errors.KeyReused,
    errors.AlreadyExists, errors.NotEmpty, errors.PreconditionFailed, errors.Undecodable, errors.TenantNotFound,
    errors.NamespaceNotFound, errors.TopicNotFound, errors.WrongKind, errors.FewerPartitions, errors.PolicyUnmet,
)  # fmt: skip
_CORNERS = (
    "a copy of an accepted event",
    "a rejected event of a live topic",
    "a group of several",
    "a refusal by the fold",
    "a refused topic logged on its namespace",
    "a key answered twice",
    "a key that fell out of its ring",
    "an attempt that landed after its sender's answer",
    "a topic after its namespace was made again",
    "an unreadable record that was replaced or ended",
    "garbage",
    "an unknown kind or level",
    "a record of another partition",
    "a level",
    "a digest record at the position that it speaks of",
    "a digest record that events overtook",
    "a comparison of digests",
    "labels and policies in one group",
    "policies of both scopes",
    "news of policies",
    "news that there are no policies any more",
)


class Coverage:
    """Counts of what was seen."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def add(self, evidence: Evidence) -> None:
        """Count what a run reached."""
        self._seen.update(type(call.answer).__name__ for call in evidence.history.calls)
        self._seen["a comparison of digests"] += evidence.history.compared
        for heard in (heard for ear in evidence.history.ears for heard in ear.heard):
            self._seen["news of policies" if heard.policies else "news that there are no policies any more"] += 1
        for fold in evidence.folds:
            self._seen.update(_records(evidence, fold))
            for accepted in evidence.ours(fold):
                self._seen.update(_corners(evidence, fold, accepted))

    def missed(self) -> list[str]:
        """Return what was never seen."""
        return [each for each in (*(answer.__name__ for answer in _ANSWERS), *_CORNERS) if not self._seen[each]]

    def __str__(self) -> str:
        return ", ".join(f"{count} × {what}" for what, count in self._seen.most_common())


def _records(evidence: Evidence, fold: Reference) -> Iterator[str]:
    accepted = {each.event.event_id: each.offset for each in fold.accepted}
    for entry in evidence.store.entries[fold.partition]:
        event, level = decode_event(entry.value), fold.levels[entry.offset]
        if event is None:
            yield "garbage"
        elif event.kind == Kind.LEVEL and event.level == level:
            yield "a level"
        elif event.kind == Kind.DIGEST and (statements := statements_in(event, fold.partition)):
            is_there = statements[-1].position == entry.offset
            yield f"a digest record {'at the position that it speaks of' if is_there else 'that events overtook'}"
        elif event.level != level or event.kind not in (*Kind,):
            yield "an unknown kind or level"
        elif accepted.get(event.event_id, entry.offset) < entry.offset:
            yield "a copy of an accepted event"
        elif event.event_id in _elsewhere(evidence, fold):
            yield "a record of another partition"
        elif event.event_id not in accepted and event.aggregate_kind == AggregateKind.TOPIC:
            yield "a rejected event of a live topic"


def _elsewhere(evidence: Evidence, fold: Reference) -> set[bytes]:
    return {each.event.event_id for other in evidence.folds if other is not fold for each in other.accepted}


def _corners(evidence: Evidence, fold: Reference, accepted: Accepted) -> Iterator[str]:
    event = accepted.event
    if len(event.operations) > 1:
        yield "a group of several"
    if len({_changes_policies(evidence.calls.get(each.request_id)) for _, each in accepted.carried} - {None}) > 1:
        yield "labels and policies in one group"
    if isinstance(accepted.after.found, TopicRecord) and accepted.after.found.local and accepted.after.found.global_:
        yield "policies of both scopes"
    if isinstance(accepted.before.found, str):
        yield "an unreadable record that was replaced or ended"
    if event.aggregate_kind == AggregateKind.NAMESPACE and accepted.before.incarnation != accepted.after.incarnation:
        yield "a topic after its namespace was made again" if accepted.before.version != bytes(16) else "a namespace"
    for operation, (operation_id, carried) in zip(event.operations, accepted.carried, strict=True):
        call = evidence.calls.get(carried.request_id)
        if carried.verdict != operation.verdict:
            yield "a refusal by the fold"
        if call is None:
            continue
        if carried.verdict == Verdict.NAMESPACE_NOT_FOUND and call.operation.kind is AggregateKind.TOPIC:
            yield "a refused topic logged on its namespace"
        if evidence.store.landed_at[fold.partition][accepted.offset] > call.span.ended:
            yield "an attempt that landed after its sender's answer"
        if len([each for each in evidence.history.calls if call.key and each.key_id == operation_id]) > 1:
            yield "a key answered twice"
        if len(fold.by_operation[operation_id]) > 1:
            yield "a key that fell out of its ring"


def _changes_policies(call: Call | None) -> bool | None:
    """Return whether a call is about policies alone, False for labels, None for anything else."""
    if call is None or call.operation.method not in (Method.SET_LABELS, Method.SET_POLICY, Method.COUNT_UP):
        return None
    return call.operation.method is not Method.SET_LABELS
