"""Labels as a metric, which Prometheus joins with what others measure of Kafka topics.

    kafka_topic_label_info{topic="shop..payments..refund",namespace="shop/payments",label_team="payments"} 1

Source: kube-state-metrics' `kube_pod_labels`; Prometheus' text format 0.0.4.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import InvalidName, InvalidRequest, Overloaded
from topicfold.model.kafka.names import kafka_name
from topicfold.model.labels import broken_key_rule
from topicfold.model.names import PERSISTENT, TopicName
from topicfold.model.permissions import LIST_NAMESPACE
from topicfold.runtime.cut import NamespaceCut
from topicfold.runtime.slices import CHUNK
from topicfold.server.answers import read_headers
from topicfold.server.asking import asked_to_find
from topicfold.server.auth.principal import actor_of
from topicfold.server.connections.long_answer import LongAnswer
from topicfold.server.finding.find import QUERY_ERRORS, found_now
from topicfold.server.finding.topic_query import CONDITIONS, wanted_in
from topicfold.server.metrics import TEXT_TYPE
from topicfold.server.node import Node
from topicfold.server.queries import Query, query_of
from topicfold.server.routes import Operation
from topicfold.state.change import TopicRow

PATH = "/api/v1/metrics/labels"
MAX_KEYS = 16

_KEY = "key"
_HEAD = b"""# HELP kafka_topic_label_info Always 1; says which labels a Kafka topic has.
# TYPE kafka_topic_label_info gauge
"""
_NOT_OF_A_NAME = re.compile(r"[^a-zA-Z0-9_]")
_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@dataclass(frozen=True, slots=True)
class LabelMetrics:
    """The handler."""

    node: Node

    async def get(self, request: Request) -> Response:
        """Answer a sample for each Kafka topic that matches, with those of its labels that are asked for.

        Raises:
            InvalidRequest, InvalidSelector, InvalidPattern, InvalidRegex: the query is malformed, all of it refused.
            NamespaceNotFound, TenantNotFound: there is none of that name.
            Overloaded: too many or too long answers are being sent, or an expression takes too long.
        """
        node = self.node
        query = query_of(request, (*(name.rstrip("*") for name in CONDITIONS), _KEY))
        names = _names(query)
        wanted = wanted_in(request, query, node)
        on_end = node.long_answers.take(actor_of(request.scope))
        try:
            found, cut = await found_now(request, node, wanted, asked_to_find(request, node))
            taken = [
                node.engine.tables.cuts.open(section.namespace, section.table, numbers)
                for section, numbers in found.all_after(None)
                if section.domain == PERSISTENT
            ]
        except BaseException:
            on_end()
            raise
        return LongAnswer(_parts(taken, names), {"content-type": TEXT_TYPE, **read_headers(cut)}, taken, on_end)


async def _parts(cuts: Sequence[NamespaceCut], names: Mapping[str, str]) -> AsyncIterator[bytes]:
    yield _HEAD
    for cut in cuts:
        tenant, part = cut.namespace.split("/")
        for numbers in cut.chunks(CHUNK):
            # A persistent topic's key is its local name.
            rows = ((TopicName(PERSISTENT, tenant, part, key), row) for key, row in cut.rows(numbers))
            yield "".join(_sample(cut.namespace, name, row, names) for name, row in rows).encode()
        cut.close()


def _sample(namespace: str, name: TopicName, row: TopicRow, names: Mapping[str, str]) -> str:
    """Return the line of a topic, "" for one that cannot be in Kafka."""
    try:
        topic = row.kafka_name or kafka_name(name)
    except InvalidName:
        return ""
    labels = "".join(f',{names[each]}="{value.translate(_ESCAPED)}"' for each, value in row.labels if each in names)
    return f'kafka_topic_label_info{{topic="{topic}",namespace="{namespace}"{labels}}} 1\n'


def _names(query: Query) -> Mapping[str, str]:
    """Return what the labels that are asked for are called in the metric, by their keys.

    Raises:
        InvalidRequest: none is asked for, or too many; one is no key, or two would have one name.
    """
    keys = dict.fromkeys(query.get(_KEY, ()))
    if not keys or len(keys) > MAX_KEYS:
        raise InvalidRequest(
            f"{len(keys)} label keys, 1 to {MAX_KEYS} are allowed", hint="Name those that matter: key=team&key=tier."
        )
    by_name: dict[str, str] = {}
    for key in keys:
        if (reason := broken_key_rule(key)) is not None:
            raise InvalidRequest(f"key {key[:80]!r}: {reason}")
        name = f"label_{_NOT_OF_A_NAME.sub('_', key)}"
        if (other := by_name.setdefault(name, key)) != key:
            raise InvalidRequest(f"keys {other!r} and {key!r} would both be called {name}", hint="Ask for one of them.")
    return {key: name for name, key in by_name.items()}


def operations(node: Node) -> Sequence[Operation]:
    """Return how labels are scraped."""
    return (
        Operation("labelMetrics", "GET", PATH, LabelMetrics(node).get, "Read labels as a metric for Prometheus",
                  media_types=("text/plain",), needs=LIST_NAMESPACE,
                  query=CONDITIONS | {f"{_KEY}*": "A label key to show; can be repeated."},
                  errors=(*QUERY_ERRORS, Overloaded)),
    )  # fmt: skip
