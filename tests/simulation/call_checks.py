"""What must hold of every answer to a write: a yes is in the log and folded, a no is true and final."""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulation.evidence import Evidence, Violation, key_of, verdict_on
from tests.simulation.history import Call, Crashed
from tests.simulation.node import READY_SECONDS
from tests.simulation.reference import NOTHING, Carried
from topicfold.errors import (
    AlreadyExists,
    FewerPartitions,
    KeyReused,
    NamespaceNotFound,
    NotEmpty,
    OutcomeUnknown,
    PolicyUnmet,
    PreconditionFailed,
    TenantNotFound,
    TopicfoldError,
    TopicNotFound,
    Undecodable,
    Wait,
    WrongKind,
)
from topicfold.model.events import Verdict
from topicfold.runtime.asking import Written

SLACK_SECONDS = 2 * READY_SECONDS + 0.1
_REFUSALS: dict[type[TopicfoldError], tuple[Verdict, ...]] = {
    AlreadyExists: (Verdict.ALREADY_EXISTS,),
    FewerPartitions: (Verdict.FEWER_PARTITIONS,),
    NamespaceNotFound: (Verdict.NAMESPACE_NOT_FOUND,),
    NotEmpty: (Verdict.NOT_EMPTY, Verdict.TENANT_IN_USE),
    PolicyUnmet: (Verdict.QUOTA_EXCEEDS_RETENTION, Verdict.RETENTION_BELOW_QUOTA, Verdict.POLICY_UNMET),
    PreconditionFailed: (Verdict.PRECONDITION_FAILED,),
    TenantNotFound: (Verdict.TENANT_NOT_FOUND,),
    TopicNotFound: (Verdict.TOPIC_NOT_FOUND,),
    Undecodable: (Verdict.UNDECODABLE,),
    WrongKind: (Verdict.WRONG_KIND,),
}


def check_calls(evidence: Evidence) -> Iterator[Violation]:
    """Yield every call whose answer was late or a lie, and every pipeline that was applied out of order."""
    for call in evidence.history.calls:
        if call.answer is None or call.span.ended > call.span.deadline + SLACK_SECONDS:
            yield Violation("hang", f"call-{call.number} ended {call.span.ended - call.span.deadline:.3f} s late")
        for rule, text in _lies(evidence, call):
            yield Violation(rule, f"call-{call.number}: {text}", call.operation.name, call.span.ended)
    yield from _check_order(evidence)


def _lies(evidence: Evidence, call: Call) -> Iterator[tuple[str, str]]:
    match call.answer:
        case None | Crashed() | OutcomeUnknown():
            return
        case Written() as written:
            verdicts = (Verdict.CHANGED if written.changed else Verdict.UNCHANGED,)
            yield from _unfounded(evidence, call, verdicts, written.etag)
        case Wait():
            if _is_applied(evidence, call) and not _is_shared(evidence, call):
                yield "W5", f"answered {call.answer!r}, and applied"
        case KeyReused():
            if _is_applied(evidence, call):
                yield "W5", "its key was said to be another's, and it is applied"
        case TopicfoldError() as refusal if type(refusal) in _REFUSALS:
            if _is_applied(evidence, call) and not _is_shared(evidence, call):
                yield "W5", f"refused ({refusal!r}), and applied"
            yield from _unfounded(evidence, call, _REFUSALS[type(refusal)], None)
        case other:
            yield "W5", f"answered {other!r}"


def _unfounded(
    evidence: Evidence, call: Call, verdicts: tuple[Verdict, ...], etag: str | None
) -> Iterator[tuple[str, str]]:
    """Yield why neither the log nor, for a no without a key, the state at any moment bears an answer out."""
    fold = evidence.folds[call.partition]
    found = fold.by_operation.get(call.key_id, []) if call.key_id else evidence.applied.get(call.request_id, [])
    bearing = [each for each in found if each.verdict in verdicts and etag in (None, each.etag)]
    if any(each.offset < call.folded for each in bearing):
        if call.key_id and not any(_same_body(evidence, call, each) for each in bearing):
            yield "W4", f"answered for another request with its key: {call.answer}"
    elif bearing:
        yield "I8", f"answered at {call.folded}, before {bearing[0].offset} was folded"
    elif call.key_id is not None:
        yield "W4", f"no accepted event bears out {verdicts} with {etag}; there are {found}"
    elif Verdict.CHANGED in verdicts:
        yield "W1", f"acknowledged with {etag}, and not in the log; there are {found}"
    elif not any(_is_fresh(evidence, call, verdict) for verdict in verdicts):
        yield "I13", f"{verdicts} was true at no moment between request and answer"


def _is_fresh(evidence: Evidence, call: Call, verdict: Verdict) -> bool:
    """Whether a no without a key was true at some position between request and answer."""
    if verdict is Verdict.TENANT_NOT_FOUND and "/" in call.operation.name:
        tenant = call.operation.name.partition("/")[0]
        return evidence.is_tenant_missing(tenant, call.span.began, call.span.ended)
    if verdict is Verdict.TENANT_IN_USE:
        return evidence.is_tenant_in_use(call)
    views = evidence.folds[call.partition].at
    for position in range(call.span.ends_before[call.partition], call.span.ends_after[call.partition] + 1):
        view = views[position]
        if verdict_on(call, view, view.get(key_of(call.operation), NOTHING))[0] is verdict:
            return True
    return False


def _is_applied(evidence: Evidence, call: Call) -> bool:
    return any(each.verdict == Verdict.CHANGED for each in evidence.applied.get(call.request_id, ()))


def _is_shared(evidence: Evidence, call: Call) -> bool:
    """Whether other calls have the same key: an answer speaks of one request only."""
    return call.key_id is not None and any(
        other is not call and other.key_id == call.key_id for other in evidence.history.calls
    )


def _same_body(evidence: Evidence, call: Call, carried: Carried) -> bool:
    other = evidence.calls.get(carried.request_id)
    return other is not None and other.operation.body == call.operation.body


def _check_order(evidence: Evidence) -> Iterator[Violation]:
    """W3: of several updates that a client sends at once, those applied are applied in the order they were sent."""
    pipelines: dict[int, list[tuple[int, int, int]]] = {}
    for call in evidence.history.calls:
        for carried in evidence.applied.get(call.request_id, ()):
            if call.sequence is not None:
                number, place = call.sequence
                pipelines.setdefault(number, []).append((carried.offset, carried.place, place))
    for number, applied in pipelines.items():
        places = [place for _, _, place in sorted(applied)]
        if places != sorted(places):
            yield Violation("W3", f"pipeline {number} was applied in the order {places}")
