"""A log's identity: its header record, how it is written, and how an existing one is recognised."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping

from topicfold.errors import LogUnavailable, WrongLog
from topicfold.log.codec import decode_event, encode_event
from topicfold.log.port import Entry, Log, LogIdentity
from topicfold.model.events import GENESIS, HASH_NAME, AggregateKind, Event, Kind
from topicfold.text.counting import counted

_BATCH = 1_000
_HEADER_WITHIN = 100_000


def header_value(identity: LogIdentity) -> bytes:
    """Return the value of the header record that states `identity`."""
    return encode_event(
        Event(
            level=1,
            kind=Kind.HEADER,
            flags=0,
            event_id=identity.incarnation,
            aggregate_kind=AggregateKind.NONE,
            name=identity.hash_name,
            partition_count=identity.partitions,
            base=GENESIS,
            namespace_id=GENESIS,
            operations=(),
            payload_schema=0,
            payload=b"",
            audit=b"",
        )
    )


def identity_in(value: bytes) -> LogIdentity | None:
    """Return what a header record states, or None for any other value."""
    event = decode_event(value)
    if event is None or event.kind != Kind.HEADER or not event.partition_count:
        return None
    return LogIdentity(event.event_id, event.partition_count, event.name)


async def establish_identity(log: Log, new_incarnation: bytes) -> LogIdentity:
    """Return the identity of `log`; an empty log is given `new_incarnation` first.

    The first valid header in partition 0 decides, so any number of nodes may do this at once and agree.
    Empty partitions get a copy of the header, as far as they can be reached.

    Raises:
        WrongLog: there are records but no header, or the header states another number of partitions or another hash.
        LogUnavailable: the log did not answer in time, or did not take the header.
    """
    if await is_empty(log) and await _first_header(log) is None:
        await _append_and_wait(log, 0, header_value(LogIdentity(new_incarnation, log.partitions, HASH_NAME)))
    identity = await recognise_identity(log)
    starts, ends = await log.known_start_offsets(), await log.known_end_offsets()
    for partition in range(1, log.partitions):
        if partition in starts and ends.get(partition, math.inf) <= starts[partition]:
            await _append_and_wait(log, partition, header_value(identity))
    return identity


async def is_empty(log: Log) -> bool:
    """Return whether nothing was ever written to any partition of `log`.

    Raises:
        LogUnavailable: the log, or one of its partitions if the others are empty, did not answer in time.
    """
    return not any((await log.known_end_offsets()).values()) and not any((await log.end_offsets()).values())


async def stated_identity(log: Log) -> LogIdentity:
    """Return the identity that `log` states, even if it has another number of partitions. Appends nothing.

    Raises:
        WrongLog: there is no header.
        LogUnavailable: the log did not answer in time.
    """
    identity = await _first_header(log)
    if identity is None:
        if await is_empty(log):
            raise WrongLog(
                "the log is empty: no server has started it",
                hint="Start one on it: topicfold serve --log FILE, or --kafka HOST:PORT",
            )
        raise WrongLog(
            "partition 0 of the log has no header",
            hint="This is not a log of Topicfold, or its beginning was deleted: name another log.",
        )
    return identity


async def recognise_identity(log: Log) -> LogIdentity:
    """Return the identity of `log`. Appends nothing.

    Raises:
        WrongLog: there is no header, or it states another number of partitions or another hash.
        LogUnavailable: the log did not answer in time.
    """
    identity = await stated_identity(log)
    if identity.partitions != log.partitions:
        raise WrongLog(
            f"the log was made with {counted(identity.partitions, 'partition')} and now has {log.partitions}",
            hint=f"That number must never change. Copy the {counted(identity.partitions, 'partition')} elsewhere with "
            "'topicfold copy', and name the copy.",
        )
    if identity.hash_name != HASH_NAME:
        raise WrongLog(f"the log spreads namespaces by {identity.hash_name!r}, this version knows {HASH_NAME!r}")
    return identity


async def restate_identity(log: Log, identity: LogIdentity, partition: int) -> int:
    """Append a copy of the header to `partition`; return its offset once it can be read there.

    Do this before deleting the beginning of a partition: a log without a header is not recognised.

    Raises:
        LogUnavailable: the log did not answer in time, or did not take the copy.
    """
    return (await _append_and_wait(log, partition, header_value(identity))).offset


async def _first_header(log: Log) -> LogIdentity | None:
    """Return what the first header states, None if there is none.

    A log that was not trimmed begins with the header, apart from garbage before it, so the search stops after a while:
    a topic with somebody's data is not read to its end. A trimmed log has a copy anywhere.
    """
    start = offset = _of(0, await log.known_start_offsets())
    limit = 1
    while batch := await log.read(0, offset, limit):
        for entry in batch:
            identity = identity_in(entry.value)
            if identity:
                return identity
        offset, limit = batch[-1].offset + 1, _BATCH
        if start == 0 and offset > _HEADER_WITHIN:
            break
    return None


async def _append_and_wait(log: Log, partition: int, value: bytes) -> Entry:
    """Append `value` and return the entry once it can be read back."""
    failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    offset = _of(partition, await log.known_end_offsets())
    log.append(partition, value, lambda error: None if failed.done() else failed.set_exception(error))
    while not failed.done():
        for entry in await log.read(partition, offset, _BATCH):
            if entry.value == value:
                failed.cancel()
                return entry
            offset = entry.offset + 1
        await asyncio.sleep(0.005)
    failed.result()
    raise AssertionError("unreachable")


def _of(partition: int, known: Mapping[int, int]) -> int:
    if partition not in known:
        raise LogUnavailable(f"partition {partition} of the log cannot be reached")
    return known[partition]
