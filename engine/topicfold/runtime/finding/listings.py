"""Runs a topic listing, which may be a plug-in, and keeps it from doing harm.

Equal listings at the same time share one run, unless something was folded since that began: then they share the next.
A listing can only narrow the result: names that do not exist are ignored. If it raises, hangs or returns anything but
a list of names, only that request fails; while many calls of its plain functions hang, only listings are refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from itertools import islice
from typing import Any, NamedTuple

import structlog
from pyroaring import BitMap

from topicfold.errors import ListingFailed, Overloaded, TopicfoldError
from topicfold.model.names import partition_base, split_topic
from topicfold.process.own_thread import is_cancelled
from topicfold.runtime.engine import Engine
from topicfold.runtime.finding.plug_in_threads import PlugInThreads
from topicfold.runtime.finding.topic_listing import Listed, ListingMode, TopicListing
from topicfold.runtime.task_end import end_tasks
from topicfold.state.topic_table import TopicTable

_log = structlog.get_logger(__name__)

_STEP = 1024

_READY = (list, tuple, set, frozenset)
"""What is there whole: anything else may wait for each name that is taken of it."""

_Run = tuple[str, ListingMode, frozenset[tuple[str, str]]]


class _Running(NamedTuple):
    """A run, and how far its namespace's partition was folded when it began."""

    position: int
    task: asyncio.Task[Chosen]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The topics that a listing chose, by their numbers in `table`, None where the namespace was not there.

    `names` are those of them that it gave, None for whole topics.
    """

    table: TopicTable | None
    numbers: BitMap
    names: frozenset[str] | None = None

    def of(self, names: Iterable[str]) -> list[str]:
        """Return those of `names`, topics' and partitions' alike, that are chosen: themselves or their whole topics."""
        chosen = self.names
        if chosen is None:
            return list(names)
        return [name for name in names if name in chosen or name.rpartition("-partition-")[0] in chosen]


class _NoNames(Exception):
    """What a listing returned is no list of names."""


class Listings:
    """Lists with `listing`, called `name`. `close` it before the engine stops."""

    def __init__(self, engine: Engine, listing: TopicListing, name: str) -> None:
        self._engine = engine
        self._listing = listing
        self._name = name
        self._threads = PlugInThreads(name)
        self._ready: asyncio.Task[None] | None = None
        self._running: dict[_Run, _Running] = {}
        self._next: dict[_Run, asyncio.Task[Chosen]] = {}

    @property
    def takes_properties(self) -> bool:
        """Whether it goes by properties."""
        return getattr(self._listing, "takes_properties", True)

    async def choose(self, namespace: str, mode: ListingMode, properties: Mapping[str, str]) -> Chosen:
        """Return the topics of a namespace that the listing chooses, asked when all that is folded now was.

        Raises:
            ListingFailed: it raised, took too long, or did not return names.
            Overloaded: too many calls of it have not come back.
        """
        return await asyncio.shield(self._run((namespace, mode, frozenset(properties.items()))))

    async def start(self) -> None:
        """Make the listing ready, if that was not done yet.

        Raises:
            ListingFailed: it raised, or took too long.
        """
        if self._ready is None or (self._ready.done() and self._ready.exception()):
            self._ready = asyncio.create_task(self._guarded(self._listing.initialize, self._engine))
        await asyncio.shield(self._ready)

    async def close(self) -> None:
        """End what runs, and close the listing if it was made ready; an error of its own is logged."""
        running = [each.task for each in self._running.values()]
        await end_tasks([*self._next.values(), *running, self._ready])
        if self._ready is not None and not self._ready.cancelled() and self._ready.exception() is None:
            try:
                await self._guarded(self._listing.close)
            except (ListingFailed, Overloaded):
                return

    def _run(self, run: _Run) -> asyncio.Task[Chosen]:
        """Return the task that answers `run`: one that began with all that is folded there now, or the next."""
        position = self._engine.states[self._engine.partition(run[0])].position
        running = self._running.get(run)
        if running is None:
            running = self._running[run] = _Running(position, asyncio.create_task(self._choose(*run)))
            running.task.add_done_callback(lambda _: self._running.pop(run))
        if running.position == position:
            return running.task
        if run not in self._next:
            self._next[run] = asyncio.create_task(self._choose_after(running.task, run))
        return self._next[run]

    async def _choose_after(self, before: asyncio.Task[Chosen], run: _Run) -> Chosen:
        try:
            await asyncio.wait({before})
        finally:
            del self._next[run]
        return await self._run(run)

    async def _choose(self, namespace: str, mode: ListingMode, pairs: Iterable[tuple[str, str]]) -> Chosen:
        await self.start()
        chosen: Chosen = await self._guarded(partial(self._listed, namespace, mode, dict(pairs)))
        return chosen

    async def _listed(self, namespace: str, mode: ListingMode, properties: Mapping[str, str]) -> Chosen:
        table = self._engine.tables.of(namespace)
        listed: Listed = await self._called(self._listing.list, namespace, mode, properties)
        if isinstance(listed, BitMap):
            return Chosen(table, listed)
        if isinstance(listed, str | bytes | Mapping) or not isinstance(listed, Iterable):
            raise _NoNames(f"it returned {type(listed).__name__}, not a list of names")
        return await self._resolved(namespace, table, listed)

    async def _resolved(self, namespace: str, table: TopicTable | None, listed: Iterable[str]) -> Chosen:
        """Return what names mean, a slice of them at a time; those that mean nothing are not kept."""
        may_wait = not isinstance(listed, _READY) and not iscoroutinefunction(self._listing.list)
        rest = await self._threads.call(iter, listed) if may_wait else iter(listed)
        names: set[str] = set()
        numbers = BitMap()
        while step := await self._threads.call(_next, rest) if may_wait else _next(rest):
            strange = next((each for each in step if not isinstance(each, str)), None)
            if strange is not None:
                raise _NoNames(f"it named {strange!r:.80}, which is not text")
            there = {name: number for name in step if (number := _number(table, namespace, name)) is not None}
            numbers.update(there.values())
            names.update(there)
            await asyncio.sleep(0)
        return Chosen(table, numbers, frozenset(names))

    async def _guarded(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a call returns within the time of a request.

        Raises:
            ListingFailed: it raised, or took longer.
        """
        seconds = self._engine.options.request_timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._called(call, *arguments)
        except TimeoutError:
            reason = f"took longer than {seconds:g} s"
        except (TopicfoldError, GeneratorExit):
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            _log.exception("topic_listing_failed", listing=self._name)
            reason = str(error) if isinstance(error, _NoNames) else f"raised {type(error).__name__}"
        raise ListingFailed(f"the topic listing {self._name} failed: {reason}", listing=self._name)

    async def _called(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a coroutine function or, in a thread, a plain one returns."""
        if iscoroutinefunction(call):
            return await _awaited(call(*arguments))
        answer = await self._threads.call(call, *arguments)
        return await _awaited(answer) if isawaitable(answer) else answer


async def _awaited(answer: Awaitable[Any]) -> Any:
    """Return what a plug-in's `answer` comes to, in a task of its own: if it cancels its task, it cancels only that.

    Who waits no longer leaves it to itself: it may ignore being cancelled.
    """

    async def outcome() -> tuple[Any, BaseException | None]:
        # A task that lets SystemExit or KeyboardInterrupt pass ends the loop.
        try:
            return await answer, None
        except BaseException as error:  # noqa: BLE001 -- raised again where it is waited for
            return None, error

    task = asyncio.create_task(outcome())
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()
    value, error = task.result()
    if error is not None:
        raise error
    return value


def _next(names: Iterator[Any]) -> list[Any]:
    """Return the next slice of `names`, nothing at their end."""
    return list(islice(names, _STEP))


def _number(table: TopicTable | None, namespace: str, name: str) -> int | None:
    """Return the number of the topic that a full name means, or one of whose partitions; None where there is none."""
    place = split_topic(name)
    if table is None or place is None or place[0] != namespace:
        return None
    number = table.numbers.get(place[1])
    if number is not None:
        return number
    base = partition_base(place[1])
    return None if base is None else table.numbers.get(base)
