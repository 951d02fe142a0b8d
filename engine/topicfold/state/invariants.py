"""Checks that a partition's state agrees with itself. Slow; for tests, the simulation and the scrubber."""

from __future__ import annotations

from collections.abc import Iterator

from topicfold.model.events import AggregateKind
from topicfold.model.names import topic_of_key
from topicfold.state.aggregate import add_hashes, hash_of
from topicfold.state.fold import PartitionState
from topicfold.state.topic_table import TopicTable


def check(state: PartitionState) -> list[str]:
    """Return a sentence for each thing in `state` that does not fit; none for a sound state.

    Rebuilds every index from the records and compares. Cost: O(topics).
    """
    return list(_violations(state))


def _violations(state: PartitionState) -> Iterator[str]:
    live = {name for name, namespace in state.namespaces.items() if namespace.is_live}
    if live != set(state.topics):
        yield f"tables of {sorted(state.topics)} but live namespaces {sorted(live)}"
    total = 0
    for kind, owners in ((AggregateKind.TENANT, state.tenants), (AggregateKind.NAMESPACE, state.namespaces)):
        for name, owner in owners.items():
            total = add_hashes(total, hash_of(kind, name, owner))
    if total != state.own_digest_sum:
        yield "the digest sum of tenants and namespaces is not that of its parts"
    for namespace, table in state.topics.items():
        yield from (f"{namespace}: {sentence}" for sentence in _table_violations(namespace, table))


def _table_violations(namespace: str, table: TopicTable) -> Iterator[str]:
    expected = table.emptied()
    for number, key in enumerate(table.keys):
        name = topic_of_key(namespace, key)
        expected.put(name, key, table.row(number))
        if expected.stored_hash(number) != table.stored_hash(number):
            yield f"{key}: the stored hash is not that of the row"
        if expected.labels(number) != table.labels(number):
            yield f"{key}: labels {table.labels(number)}, the record says {expected.labels(number)}"
    if expected.numbers != table.numbers:
        yield "the numbers are not those of the keys"
    if expected.live != table.live or expected.undecodable != table.undecodable:
        yield "the sets of live or undecodable topics differ from the rows"
    if expected.non_persistent != table.non_persistent or expected.system != table.system:
        yield "the sets of non-persistent or system topics are not those of the keys"
    if expected.partitions != table.partitions:
        yield "the numbers of partitions are not those of the records"
    waits = expected.pending == table.pending and expected.ending == table.ending
    if expected.kafka_names != table.kafka_names or not waits:
        yield "names in Kafka, or who waits for a step there, are not those of the records"
    if expected.grants != table.grants:
        yield "the grants are not those of the records"
    if expected.digest_sum != table.digest_sum:
        yield "the digest sum is not that of the rows"
    if _by_pair(expected) != _by_pair(table):
        yield "the label index differs from one rebuilt from the records"
    if _by_key(expected) != _by_key(table):
        yield "the unions by key differ from those rebuilt from the records"
    if expected.names != table.names:
        yield "the name index differs from one rebuilt from the names"


def _by_pair(table: TopicTable) -> dict[tuple[str, str], list[int]]:
    return {(key, value): list(postings) for key, value, postings in table.index.postings_by_pair()}


def _by_key(table: TopicTable) -> dict[str, list[int]]:
    return {key: list(postings) for key, postings in table.index.postings_by_key()}
