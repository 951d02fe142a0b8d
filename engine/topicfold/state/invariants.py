"""Checks whether a partition's state is consistent: all at once for tests, in steps for the scrubber.

Each topic's standing is compared with its record, and each topic that an index lists with the reason for listing it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from pyroaring import BitMap

from topicfold.model.events import AggregateKind
from topicfold.model.names import split_topic, topic_of_key
from topicfold.state.aggregate import ABSENT, Aggregate, add_hashes, hash_of
from topicfold.state.fold import PartitionState
from topicfold.state.indexes import grant_index, label_index, name_index
from topicfold.state.standing import misfits, standing
from topicfold.state.topic_table import TopicTable

_NUMBERED = (
    "live", "undecodable", "non_persistent", "system", "partitions", "kafka_names", "pending", "ending", "grants",
    "names.everyone",
)  # fmt: skip
"""The attributes of a table that contain numbers of topics, apart from rows and postings."""
_NAMED = 3
"""How many topics a flaw names at most."""


class Flaw(NamedTuple):
    """An inconsistency, in words. `look` returns the affected part of a state, equal for two folds of one log."""

    text: str
    look: Callable[[PartitionState], object]


Step = tuple[bool, Flaw | None]
"""Whether a live topic was checked, and the flaw, if any."""

_TableFlaw = tuple[str, Callable[[TopicTable], object]]


def check(state: PartitionState) -> list[str]:
    """Return a sentence for each flaw of `state`, none for a sound one. Cost: as `steps`."""
    return [flaw.text for _, flaw in steps(state) if flaw is not None]


def steps(state: PartitionState) -> Iterator[Step]:
    """Check all of `state`, step by step. The fold may continue between steps; its changes are not taken for flaws.

    Sums are only checked if nothing changed meanwhile. Index lists are compared with the topics' own labels and names,
    so they are skipped in a table where a topic itself has a flaw. Not checked: offsets, the rings of operations, and
    the integers by which labels are compared.

    Cost: 8 µs a topic with five labels, 10 µs if its name has three segments. A step takes at most 0.5 ms, except for
    finding the greatest number in a dictionary: 5 ms with a million topics in it.
    """
    yield from _owner_steps(state)
    for namespace in list(state.topics):
        table = state.topics.get(namespace)
        if table is not None:
            yield from _topic_steps(state, namespace, table)


def _owner_steps(state: PartitionState) -> Iterator[Step]:
    since, total = state.accepted_to, 0
    for kind, owners in ((AggregateKind.TENANT, state.tenants), (AggregateKind.NAMESPACE, state.namespaces)):
        for name in list(owners):
            total = add_hashes(total, hash_of(kind, name, owners[name]))
            yield False, None
    if state.accepted_to == since and total != state.own_digest_sum:
        yield False, Flaw("the sum of tenants and namespaces is not that of its parts", _owners)
    for name in {**state.namespaces, **state.topics}:
        is_live, has_table = _life(name, state)
        text = f"{name} is {'live' if is_live else 'not live'} and has {'a' if has_table else 'no'} table of topics"
        yield False, None if is_live is has_table else Flaw(text, partial(_life, name))
        text = f"{name} is not among the namespaces that bear its tenant's name"
        yield False, None if _is_filed(name, state) else Flaw(text, partial(_is_filed, name))


def _topic_steps(state: PartitionState, namespace: str, table: TopicTable) -> Iterator[Step]:
    since, total, are_sound = state.accepted_to, 0, True
    for number in range(len(table.keys)):
        name = topic_of_key(namespace, table.keys[number])
        total = add_hashes(total, table.stored_hash(number))
        if found := misfits(table, number, name):
            are_sound = False
            text = f"what is stored of {name} does not fit its record: {', '.join(found)}"
            yield number in table.live, Flaw(text, partial(_stored, name))
        else:
            yield number in table.live, None
    is_added_up = state.accepted_to != since or total == table.digest_sum
    for part in (_table_flaws(table, is_added_up), _index_flaws(table) if are_sound else ()):
        for flaw in part:
            yield False, flaw and Flaw(f"{namespace}: {flaw[0]}", partial(_of_table, namespace, flaw[1]))


def _table_flaws(table: TopicTable, is_added_up: bool) -> Iterator[_TableFlaw | None]:
    yield None if is_added_up else ("the sum is not that of the topics", attrgetter("digest_sum"))
    yield ("there are numbers or labels that nobody has", _unused) if any(_unused(table)) else None
    for part in _NUMBERED:
        look = partial(_is_beyond, part)
        yield (f"there is a number in {part} that no topic has", look) if look(table) else None


def _index_flaws(table: TopicTable) -> Iterator[_TableFlaw | None]:
    for label in table.index.misfiled(table.label_ids):
        yield label and _listed_flaw(table, f"as {_label_text(label)}", partial(_not_bearing, label))
    for place in table.names.misfiled():
        yield None if place is None else _listed_flaw(table, "by a segment of the name", partial(_not_called, place))
    for grant in table.granted.misfiled(table.grants):
        yield grant and _listed_flaw(table, f"as granting to {grant[0]}", partial(_not_granting, grant))
    for name in table.named.misfiled(table.kafka_names):
        where = f"as naming Kafka topic {name}"
        yield None if name is None else _listed_flaw(table, where, partial(_not_naming, name))


def _listed_flaw(table: TopicTable, where: str, look: Callable[[TopicTable], list[str] | None]) -> _TableFlaw:
    names = look(table)
    return f"listed {where}, wrongly: {', '.join(names[:_NAMED]) if names else 'nobody'}", look


def _label_text(label: label_index.Filing) -> str:
    key, value = label
    return key if value is None else f"{key}={value}"


def _not_bearing(label: label_index.Filing, table: TopicTable) -> list[str] | None:
    numbers = table.index.strangers(label, table.label_ids)
    return None if numbers is None else _called(table, numbers)


def _not_granting(grant: grant_index.Filing, table: TopicTable) -> list[str] | None:
    numbers = table.granted.strangers(grant, table.grants)
    return None if numbers is None else _called(table, numbers)


def _not_naming(kafka_topic: str, table: TopicTable) -> list[str]:
    return _called(table, table.named.strangers(kafka_topic, table.kafka_names))


def _not_called(place: name_index.Filing, table: TopicTable) -> list[str]:
    return _called(table, table.names.strangers(place))


def _called(table: TopicTable, numbers: Iterable[int]) -> list[str]:
    """Return the keys of topics, sorted; their numbers differ between folds."""
    return sorted([table.keys[each] if each < len(table.keys) else f"number {each}" for each in numbers])


def _is_beyond(part: str, table: TopicTable) -> bool:
    numbers = attrgetter(part)(table)
    greatest = numbers.max() if numbers and isinstance(numbers, BitMap) else max(numbers, default=-1)
    return bool(greatest >= len(table.keys))


def _unused(table: TopicTable) -> tuple[int, ...]:
    return len(table.numbers) - len(table.keys), *table.index.unborne()


def _of_table(namespace: str, look: Callable[[TopicTable], object], state: PartitionState) -> object:
    table = state.topics.get(namespace)
    return None if table is None else look(table)


def _owners(state: PartitionState) -> object:
    aggregates = (*sorted(state.tenants.items()), *sorted(state.namespaces.items()))
    return state.own_digest_sum, [(name, _content(each)) for name, each in aggregates]


def _life(name: str, state: PartitionState) -> tuple[bool, bool]:
    """Return whether a namespace is live, and whether it has a table."""
    return state.namespaces.get(name, ABSENT).is_live, name in state.topics


def _is_filed(name: str, state: PartitionState) -> bool:
    """Return whether a namespace, live or deleted, is found by its tenant's name; True if it never existed."""
    return name not in state.namespaces or name in state.names_of.get(name.partition("/")[0], ())


def _stored(name: str, state: PartitionState) -> object:
    """Return everything stored about one topic that must be equal in two folds of one log."""
    namespace, key = split_topic(name) or ("", "")
    table = state.topics.get(namespace)
    number = None if table is None else table.numbers.get(key)
    if table is None or number is None:
        return None
    return _content(table.row(number)), standing(table, number)


def _content(aggregate: Aggregate) -> Aggregate:
    """Return an aggregate without its offset, which no digest covers."""
    return aggregate._replace(offset=0)
