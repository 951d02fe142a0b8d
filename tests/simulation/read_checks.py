"""What must hold of every read: it shows one position of the log exactly, and one that is new enough."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from tests.simulation.call_checks import SLACK_SECONDS
from tests.simulation.evidence import Evidence, Violation
from tests.simulation.history import Crashed, Read, Scopes
from tests.simulation.reference import NOTHING, View, topics_alive
from topicfold.errors import LogUnavailable, NotReady, PositionTimeout
from topicfold.model.events import AggregateKind
from topicfold.model.records import TopicRecord
from topicfold.runtime.asking import Consistency

_TOPIC = int(AggregateKind.TOPIC)
_INSTANT = 1e-6


def check_reads(evidence: Evidence) -> Iterator[Violation]:
    """Yield every read that showed something else than its position holds, or that was too old."""
    for read in evidence.history.reads:
        for rule, text in _lies(evidence, read):
            yield Violation(rule, f"{text}: {read}", read.topic, read.span.ended)
    for status in evidence.history.statuses:
        rings = evidence.folds[status.partition].rings[status.position]
        known = [ring[status.operation_id].verdict for ring in rings if status.operation_id in ring]
        if known != ([] if status.verdict is None else [status.verdict]):
            yield Violation("I7", f"{status} but the log says {known}")


def _lies(evidence: Evidence, read: Read) -> Iterator[tuple[str, str]]:
    if read.span.ended > read.span.deadline + SLACK_SECONDS:
        yield "hang", f"{read.span.ended - read.span.deadline:.3f} s late"
    if isinstance(read.error, Crashed | NotReady | LogUnavailable | PositionTimeout):
        return
    if read.error is not None:
        yield "W5", "answered with an error that no read may have"
        return
    view = evidence.folds[read.partition].at[read.position]
    if (read.labels, read.etag, read.policies) != _expected(view, read):
        yield "I10", f"the log holds {_expected(view, read)} there"
    for (key, value), names in read.found_by.items():
        if names != _bearing(view, read.namespace, key, value):
            yield "R5", f"{key}={value} finds {sorted(names)}"
    if read.position < read.minimum:
        yield "R1", f"older than the minimum position {read.minimum}"
    if read.position < bisect_left(evidence.store.landed_at[read.partition], read.confirmed - _INSTANT):
        yield "R4", f"older than its age says, which is as of {read.confirmed:.3f}"
    wants_all = read.consistency is Consistency.LINEARIZABLE or (
        read.consistency is Consistency.BARRIER and not read.is_excused
    )
    if wants_all and read.position < read.span.ends_before[read.partition]:
        yield "R3", f"older than its request, when the log ended at {read.span.ends_before[read.partition]}"


def _expected(view: View, read: Read) -> tuple[dict[str, str] | None, str, Scopes]:
    topic = view.get((_TOPIC, read.topic), NOTHING)
    if topic.found is None:
        return None, "", (None, None)
    policies = (topic.found.local, topic.found.global_) if isinstance(topic.found, TopicRecord) else (None, None)
    return _labels(view, read.topic), topic.etag, policies


def _labels(view: View, topic: str) -> dict[str, str]:
    found = view[_TOPIC, topic].found
    return dict(found.labels) if isinstance(found, TopicRecord) else {}


def _bearing(view: View, namespace: str, key: str, value: str) -> frozenset[str]:
    return frozenset(name for name in topics_alive(view, namespace) if _labels(view, name).get(key) == value)
