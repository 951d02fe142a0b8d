"""Random requests over a handful of names, so that clients meet."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.simulation.operations import QUOTAS, RETENTION, TTL, Method, Operation
from tests.simulation.setup import Setup
from topicfold.model.events import AggregateKind
from topicfold.model.policy.values import frozen_value

NAMESPACES = ("public/default", "public/a", "t1/b")
TENANTS = ("public", "t1", "t2")
KEYS = ("k0", "k1", "k2")

_QUOTA_TYPE, _HOLD = "destination_storage", "producer_request_hold"

_TOPIC_METHODS = {Method.SET_LABELS: 36, Method.CREATE_TOPIC: 14, Method.DELETE_TOPIC: 9, Method.REMOVE_LABELS: 6,
                  Method.GROW: 3, Method.SET_POLICY: 16, Method.COUNT_UP: 6, Method.REMOVE_POLICY: 4, Method.RESTORE: 4,
                  Method.DELETE_POLICIES: 2}  # fmt: skip
_OWNER_METHODS = {Method.CREATE_NAMESPACE: 9, Method.DELETE_NAMESPACE: 7, Method.FORCE_NAMESPACE: 4,
                  Method.CREATE_TENANT: 3, Method.UPDATE_TENANT: 1, Method.DELETE_TENANT: 3}  # fmt: skip


class Requests:
    """Draws requests; each carries a marker that no other has."""

    def __init__(self, setup: Setup, rng: Random) -> None:
        self._rng = rng
        self._topics = setup.topics_per_namespace
        self._is_narrow = setup.topics_only
        self._namespaces = NAMESPACES[: 1 if setup.topics_only else 3]
        weights = dict(_TOPIC_METHODS)
        if not setup.topics_only:
            weights |= {method: weight * setup.turnover for method, weight in _OWNER_METHODS.items()}
        self._methods = list(weights)
        self._weights = list(weights.values())
        self._drawn = 0

    def makers(self) -> Iterator[Operation]:
        """Yield what makes everything that a request may be about."""
        for tenant in TENANTS[1 : 1 if self._is_narrow else 3]:
            yield Operation(Method.CREATE_TENANT, AggregateKind.TENANT, tenant, marker=self._marker())
        for namespace in self._namespaces[1:]:
            yield Operation(Method.CREATE_NAMESPACE, AggregateKind.NAMESPACE, namespace, marker=self._marker())
        for namespace in self._namespaces:
            for number in range(self._topics):
                topic = _topic(namespace, number)
                yield self._of_topic(Method.CREATE_TOPIC, topic, labels=self.labels(), number=2 * number)

    def operation(self) -> Operation:
        """Draw a request."""
        method = self._rng.choices(self._methods, self._weights)[0]
        match method:
            case Method.CREATE_NAMESPACE | Method.DELETE_NAMESPACE | Method.FORCE_NAMESPACE:
                return Operation(
                    method, AggregateKind.NAMESPACE, self._rng.choice(self._namespaces), marker=self._marker()
                )
            case Method.CREATE_TENANT | Method.UPDATE_TENANT | Method.DELETE_TENANT:
                return Operation(method, AggregateKind.TENANT, self._rng.choice(TENANTS), marker=self._marker())
            case Method.SET_LABELS:
                return self.set_labels(self.topic())
            case Method.REMOVE_LABELS:
                keys = self._rng.choice((None, (self._rng.choice(KEYS),)))
                return self._of_topic(method, self.topic(), keys=keys)
            case Method.SET_POLICY | Method.REMOVE_POLICY:
                return self._of_topic(method, self.topic(), policies=self._policies(1), is_global=self._is_global())
            case Method.COUNT_UP | Method.DELETE_POLICIES:
                return self._of_topic(method, self.topic(), is_global=self._is_global())
            case Method.RESTORE:
                policies = self._policies(self._rng.randint(0, 3))
                return self._of_topic(method, self.topic(), labels=self.labels(), policies=policies)
            case Method.CREATE_TOPIC:
                number = self._rng.choice((0, 0, 2))
                return self._of_topic(method, self.topic(), labels=self.labels(), number=number)
            case _:
                return self._of_topic(method, self.topic(), number=self._rng.randint(1, 5))

    def topic(self) -> Operation:
        """Draw a topic; only its names mean anything."""
        return _topic(self._rng.choice(self._namespaces), self._rng.randrange(self._topics))

    def rebirth(self) -> tuple[Operation, Operation]:
        """Draw the end of a namespace, and its next beginning."""
        name = self._rng.choice(self._namespaces)
        return (
            Operation(Method.FORCE_NAMESPACE, AggregateKind.NAMESPACE, name, marker=self._marker()),
            Operation(Method.CREATE_NAMESPACE, AggregateKind.NAMESPACE, name, marker=self._marker()),
        )

    def set_labels(self, topic: Operation) -> Operation:
        """Draw new labels for a topic, sometimes ones that it may have already."""
        labels = self.labels() if self._rng.random() < 0.9 else (("k0", "same"),)
        return self._of_topic(Method.SET_LABELS, topic, labels=labels)

    def labels(self) -> tuple[tuple[str, str], ...]:
        """Draw one label whose value no other request has."""
        return ((self._rng.choice(KEYS), self._marker()),)

    def _policies(self, count: int) -> tuple[tuple[str, Any], ...]:
        """Draw policies: a time to live that no other request has, retention and quota so that they often conflict."""
        kept, waiting = self._rng.choice((1, 1, 3)), self._rng.choice((0, 2, 2)) << 20
        drawn = {
            TTL: int(self._marker()[1:]),
            RETENTION: frozen_value({"retentionSizeInMB": kept, "retentionTimeInMinutes": -1}),
            QUOTAS: frozen_value({_QUOTA_TYPE: {"limitSize": waiting, "limitTime": 0, "policy": _HOLD}}),
        }
        return tuple((name, drawn[name]) for name in self._rng.sample(list(drawn), count))

    def _is_global(self) -> bool:
        return self._rng.random() < 0.3

    def _of_topic(self, method: Method, topic: Operation, **fields: Any) -> Operation:
        return Operation(method, AggregateKind.TOPIC, topic.name, topic.namespace, marker=self._marker(), **fields)

    def _marker(self) -> str:
        self._drawn += 1
        return f"v{self._drawn}"


def _topic(namespace: str, number: int) -> Operation:
    return Operation(Method.SET_LABELS, AggregateKind.TOPIC, f"persistent://{namespace}/topic{number}", namespace)
