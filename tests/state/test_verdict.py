"""The verdict alone: each of its conditions is needed."""

from __future__ import annotations

import pytest

from tests.builders import NAMESPACE, an_id, folded, namespace_put, topic_put
from topicfold.model.events import GENESIS, Event
from topicfold.state.aggregate import Aggregate
from topicfold.state.verdict import event_is_accepted, topic_event_is_accepted

STATE = folded(namespace_put(1), topic_put(2, an_id(1)))
NAMESPACE_NOW, TABLE = STATE.namespaces[NAMESPACE], STATE.topics[NAMESPACE]
NEXT = topic_put(3, an_id(1), an_id(2))


@pytest.mark.parametrize(
    ("event", "namespace", "key", "accepted"),
    [
        (NEXT, NAMESPACE_NOW, "orders", True),
        (NEXT._replace(base=GENESIS), NAMESPACE_NOW, "new", True),
        (NEXT._replace(base=GENESIS), NAMESPACE_NOW, "orders", False),
        (NEXT, NAMESPACE_NOW, "new", False),
        (NEXT._replace(namespace_id=an_id(9)), NAMESPACE_NOW, "orders", False),
        (NEXT, NAMESPACE_NOW._replace(incarnation=an_id(9)), "orders", False),
        (NEXT, NAMESPACE_NOW._replace(is_live=False), "orders", False),
    ],
)
def test_a_topics_event_needs_a_live_namespace_its_incarnation_and_the_current_version(
    event: Event, namespace: Aggregate, key: str, accepted: bool
) -> None:
    assert topic_event_is_accepted(event, namespace, TABLE.get(key)) is accepted


@pytest.mark.parametrize(("base", "accepted"), [(an_id(1), True), (GENESIS, False), (an_id(2), False)])
def test_a_namespaces_or_tenants_event_needs_the_current_version(base: bytes, accepted: bool) -> None:
    assert event_is_accepted(namespace_put(3, base), NAMESPACE_NOW) is accepted
