"""What must hold of the log itself: every accepted event follows from its predecessor and from what was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.simulation.effects import Found
from tests.simulation.evidence import Evidence, Violation, key_of, verdict_on
from tests.simulation.history import Call, Span
from tests.simulation.operations import Method, Operation
from tests.simulation.reference import Accepted, Carried, Reference, topics_alive
from topicfold.model.events import AggregateKind, Verdict


def check_log(evidence: Evidence) -> Iterator[Violation]:
    """Yield every accepted event that does not follow, and every operation that took effect twice."""
    for fold in evidence.folds:
        for accepted in evidence.ours(fold):
            landed = evidence.store.landed_at[fold.partition][accepted.offset]
            for rule, text in _faults(evidence, fold, accepted):
                yield Violation(rule, f"{text}, at {fold.partition}/{accepted.offset}", accepted.event.name, landed)
    for request_id, times in Counter({each: len(found) for each, found in evidence.applied.items() if each}).items():
        if times > 1:
            yield Violation("I6", f"{request_id} was accepted {times} times", _name_of(evidence, request_id))


def _faults(evidence: Evidence, fold: Reference, accepted: Accepted) -> Iterator[tuple[str, str]]:
    """Run the operations of an event on its predecessor's record; they must give its own."""
    event, found, etag = accepted.event, accepted.before.found, accepted.before.etag
    for operation_id, carried in accepted.carried:
        call = evidence.calls.get(carried.request_id) or _by_the_engine(accepted)
        if carried.is_again:
            yield "I7", f"{operation_id.hex()} has a second verdict"
        if carried.offset < call.span.ends_before[fold.partition]:
            yield "W2", f"{call.request_id} lies before its request"
        wanted, new = _wanted(fold, accepted, call, found, etag)
        if carried.verdict != wanted and not _is_true_elsewhere(evidence, fold, carried, call, wanted):
            yield "I3", f"{call.request_id} has verdict {carried.verdict}, not {wanted!r}"
        if carried.verdict == Verdict.CHANGED:
            found, etag = new, f"{event.event_id.hex()}.{carried.place}"
    if found != accepted.after.found:
        yield "I3", f"the event holds {accepted.after.found}, its operations give {found}"


def _wanted(fold: Reference, accepted: Accepted, call: Call, found: Found, etag: str) -> tuple[Verdict, Found]:
    if call.operation.kind != accepted.event.aggregate_kind:
        is_missing = accepted.before.found is None
        return (Verdict.NAMESPACE_NOT_FOUND if is_missing else Verdict.CHANGED), found
    return verdict_on(call, fold.at[accepted.offset], accepted.before._replace(found=found, etag=etag))


def _is_true_elsewhere(evidence: Evidence, fold: Reference, carried: Carried, call: Call, wanted: Verdict) -> bool:
    """Whether a verdict that looked beyond its own aggregate was true at some moment since the request."""
    landed = evidence.store.landed_at[fold.partition][carried.offset]
    method, name = call.operation.method, call.operation.name
    if carried.verdict == Verdict.TENANT_NOT_FOUND and method is Method.CREATE_NAMESPACE:
        is_free = wanted in (Verdict.CHANGED, Verdict.PRECONDITION_FAILED)
        return is_free and evidence.is_tenant_missing(name.partition("/")[0], call.span.began, landed)
    if carried.verdict == Verdict.TENANT_IN_USE and method is Method.DELETE_TENANT:
        exists_by_its_record_or_not = wanted in (Verdict.CHANGED, Verdict.TENANT_NOT_FOUND)
        return exists_by_its_record_or_not and evidence.is_tenant_in_use(call)
    if carried.verdict == Verdict.NOT_EMPTY and method is Method.DELETE_NAMESPACE:
        since = range(call.span.ends_before[fold.partition], carried.offset + 1)
        return any(topics_alive(fold.at[position], name) for position in since)
    return False


def _by_the_engine(accepted: Accepted) -> Call:
    """Return the call that stands for what an engine makes at the first start."""
    operation = Operation(Method.ENSURE, AggregateKind(accepted.event.aggregate_kind), accepted.event.name)
    return Call(-1, "", operation, 0, None, "", Span(0.0, 0.0, (0,) * 99))


def _name_of(evidence: Evidence, request_id: str) -> str:
    call = evidence.calls.get(request_id)
    return key_of(call.operation)[1] if call else ""
