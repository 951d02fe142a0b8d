"""Topic listings: what decides which topics a listing under `/admin/v2` names; a plug-in can.

`all` is Pulsar's default, which ignores the properties it is given; `by-properties` is ours. What a plug-in returns is
still checked against what exists, what else was asked for and what the caller may see (`listings`).

Source: PIP-452 (`PulsarResourcesExtended`, `DefaultPulsarResourcesExtended`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import closing
from enum import StrEnum
from importlib import import_module
from importlib.metadata import entry_points
from itertools import islice
from typing import Protocol, cast

from pyroaring import BitMap

from topicfold.errors import BadSetting, Overloaded
from topicfold.log.payload import decode_topic
from topicfold.runtime.cut import MAX_CHANGES, NamespaceCut
from topicfold.runtime.engine import Engine
from topicfold.runtime.slices import Slice
from topicfold.state.topic_table import TopicTable

ENTRY_POINTS = "topicfold.topic_listing"

_STEP = 1024


class ListingMode(StrEnum):
    """The domain whose topics are listed."""

    PERSISTENT = "PERSISTENT"
    NON_PERSISTENT = "NON_PERSISTENT"
    ALL = "ALL"


Listed = Iterable[str] | BitMap
"""Full names of topics or of their partitions; or the numbers of topics in their namespace's table."""


class TopicListing(Protocol):
    """A topic listing. Coroutines run on the engine's loop; plain methods run in a thread, so they may block.

    A listing that ignores properties must say so by `takes_properties = False`; otherwise it is assumed to use them.
    """

    def initialize(self, engine: Engine) -> Awaitable[None] | None:
        """Prepare to list topics of `engine`; called once, before the first `list`."""

    def list(self, namespace: str, mode: ListingMode, properties: Mapping[str, str]) -> Awaitable[Listed] | Listed:
        """Return the topics of a namespace and mode that a client that sent `properties` is to see.

        Topics that do not exist are ignored. Equal requests at the same time share one call; those that arrive after
        something has changed meanwhile share another.
        """

    def close(self) -> Awaitable[None] | None:
        """Release everything; called once, after the last `list`."""


class AllTopics:
    """Lists every topic, whatever the properties."""

    takes_properties = False

    async def initialize(self, engine: Engine) -> None:
        """Remember the engine."""
        self._engine = engine

    async def list(self, namespace: str, mode: ListingMode, properties: Mapping[str, str]) -> Listed:
        """Return all topics of the namespace."""
        table = self._engine.tables.of(namespace)
        return BitMap() if table is None else table.live

    async def close(self) -> None:
        """Do nothing."""


class TopicsByProperties:
    """Lists the topics that have each of the properties, as a property or as a label."""

    async def initialize(self, engine: Engine) -> None:
        """Remember the engine."""
        self._engine = engine

    async def list(self, namespace: str, mode: ListingMode, properties: Mapping[str, str]) -> Listed:
        """Return the topics of the namespace that have all of the properties.

        Cost: 0.1 µs for each topic that does not have them as labels, and 10 µs if its record must be read; in slices.
        """
        table = self._engine.tables.of(namespace)
        if table is None or not properties:
            return BitMap() if table is None else table.live
        with closing(self._engine.tables.cuts.open(namespace, table, ())) as cut:
            return await _bearing(table, properties, cut)

    async def close(self) -> None:
        """Do nothing."""


async def _bearing(table: TopicTable, properties: Mapping[str, str], cut: NamespaceCut) -> BitMap:
    """Return the topics that have `properties` at the moment of return; `cut` notes what changes meanwhile.

    Raises:
        Overloaded: too much changes.
    """
    texts = sorted([text.encode() for pair in properties.items() for text in pair], key=len)
    found = BitMap(table.matching(properties))
    rest = iter(table.live - found)
    work = Slice()
    while step := list(islice(rest, _STEP)):
        found.update([number for number in table.mentioning(step, texts) if _bears(table, number, properties)])
        await work.rest()
    if cut.is_lost:
        raise Overloaded(f"{MAX_CHANGES} topics have changed while they were looked at")
    for number in cut.changed:
        if _bears(table, number, properties):
            found.add(number)
        else:
            found.discard(number)
    return found


def _bears(table: TopicTable, number: int, properties: Mapping[str, str]) -> bool:
    row = table.row(number)
    record = decode_topic(row.payload_schema, row.payload) if row.is_live else None
    return record is not None and all(
        value in (record.properties.get(key), record.labels.get(key)) for key, value in properties.items()
    )


_BUILT_IN: Mapping[str, Callable[[], TopicListing]] = {"all": AllTopics, "by-properties": TopicsByProperties}


def is_built_in(name: str) -> bool:
    """Return whether a setting names a built-in listing."""
    return name in _BUILT_IN


def open_topic_listing(name: str) -> TopicListing:
    """Return the listing that a setting names: a built-in one, an entry point, or `package.module:Class`.

    Raises:
        BadSetting: there is none of that name, or it cannot be created.
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]()
    known = {each.name: each for each in entry_points(group=ENTRY_POINTS)}
    module, _, attribute = name.partition(":")
    try:
        if name in known:
            made = known[name].load()()
        elif module and attribute:
            made = getattr(import_module(module), attribute)()
        else:
            raise BadSetting(
                f"topic_listing {name!r} is none of {', '.join([*_BUILT_IN, *known])}, nor package.module:Class"
            )
    except BadSetting:
        raise
    except Exception as error:
        raise BadSetting(f"topic_listing {name!r} cannot be loaded: {type(error).__name__}: {error}") from error
    missing = [each for each in ("initialize", "list", "close") if not callable(getattr(made, each, None))]
    if missing:
        raise BadSetting(f"topic_listing {name!r} has no method {' nor '.join(missing)}")
    return cast("TopicListing", made)
