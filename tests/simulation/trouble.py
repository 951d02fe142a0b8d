"""What goes wrong beside single appends: nodes die, lose the log or fall behind; strangers write to it."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from random import Random

from tests.simulation.fake_log import FakeStore
from tests.simulation.history import History
from tests.simulation.node import Node
from tests.simulation.setup import Setup
from topicfold.log.codec import decode_event, encode_event
from topicfold.model.events import GENESIS, PAYLOAD_SCHEMA, AggregateKind, Event, Kind

_NO_NAME = AggregateKind.NONE


class Trouble:
    """Makes trouble from time to time, until it is stopped."""

    def __init__(self, setup: Setup, rng: Random, store: FakeStore, nodes: list[Node], history: History) -> None:
        self._setup = setup
        self._rng = rng
        self._store = store
        self._nodes = nodes
        self._history = history
        self._kinds = [self._outage, self._slow, self._replay]
        if setup.crashes:
            self._kinds += [self._crash, self._crash]
        if setup.garbage:
            self._kinds += [self._garbage, self._flip, self._misplace]
        if setup.unreadable:
            self._kinds.append(self._unreadable)

    async def run(self) -> None:
        """Make trouble for ever."""
        levels = 1 if self._setup.level else 0
        while True:
            await asyncio.sleep(self._rng.expovariate(1 / self._setup.trouble_every_seconds))
            if levels and self._rng.random() < 0.4:
                levels -= 1
                self._raise_level()
            else:
                await self._rng.choice(self._kinds)()

    async def _crash(self) -> None:
        node = self._rng.choice(self._nodes)
        if self._rng.random() < 0.3:
            self._note(f"{node.name} is stopped")
            await node.stop()
        else:
            self._note(f"{node.name} crashes")
        node.crash()
        await asyncio.sleep(self._rng.choice((0.0, 0.05, 1.0)))
        await node.start()
        self._note(f"{node.name} is back")

    async def _outage(self) -> None:
        node = self._rng.choice(self._nodes)
        if node.log is not None:
            seconds = self._rng.choice((0.1, 0.5, 3.0))
            self._note(f"{node.name} loses the log for {seconds} s")
            node.log.outage_ends = self._store.loop.time() + seconds

    async def _slow(self) -> None:
        node = self._rng.choice(self._nodes)
        if node.log is not None:
            node.log.pace = self._rng.choice((1, 1, 10, 100))
            self._note(f"{node.name} has pace {node.log.pace}")

    async def _replay(self) -> None:
        """Append copies of an old record, as a mirror or a resending client would; births of topics above all."""
        partition, value = self._old_record()
        births = [entry.value for entry in self._store.entries[partition] if _is_birth(entry.value)]
        if births and self._rng.random() < 0.5:
            value = self._rng.choice(births)
        for _ in range(self._rng.randint(1, 4)):
            self._store.send(partition, value, self._rng.uniform(0, 1))

    async def _garbage(self) -> None:
        partition, value = self._old_record()
        bare = Event(1, Kind.BARRIER, 0, self._id(), _NO_NAME, "", 0, GENESIS, GENESIS, (), 0, b"", b"")
        found = self._rng.choice((
            b"",
            self._rng.randbytes(self._rng.randint(1, 200)),
            value[: self._rng.randrange(len(value) + 1)],
            _flipped(value, self._rng.randrange(max(1, len(value) * 8))),
            encode_event(bare._replace(kind=self._rng.choice((0, 4, 6, 9, 255)))),
            encode_event(bare._replace(level=self._rng.choice((0, 7, 65_535)), kind=self._rng.randint(1, 6))),
            encode_event(bare._replace(kind=Kind.PUT, aggregate_kind=self._rng.randint(0, 255), name="a/b//c")),
        ))  # fmt: skip
        self._foreign(partition, found)

    async def _flip(self) -> None:
        """Append a decided event with one field damaged and its CRC repaired; its base is no longer current."""
        partition, value = self._old_record()
        event = decode_event(value)
        if event is None or event.base == GENESIS or self._setup.level or self._setup.unreadable:
            return
        damaged = self._rng.choice((
            event._replace(event_id=self._id()),
            event._replace(flags=event.flags ^ 255),
            event._replace(kind=self._rng.randint(6, 255)),
            event._replace(partition_count=7),
            event._replace(namespace_id=self._id()),
            event._replace(payload=event.payload[:-1]),
            event._replace(level=2),
        ))  # fmt: skip
        self._foreign(partition, encode_event(damaged))

    async def _misplace(self) -> None:
        """Append a record to a partition it does not belong in."""
        partition, value = self._old_record()
        if self._setup.partitions > 1:
            self._foreign((partition + 1) % self._setup.partitions, value)

    async def _unreadable(self) -> None:
        """Append, as a node of another version may, a topic whose payload this version cannot read."""
        node = self._rng.choice(self._nodes)
        if node.engine is None:
            return
        for partition, state in node.engine.states.items():
            for namespace, table in state.topics.items():
                if len(table) and self._rng.random() < 0.5:
                    number = self._rng.choice(list(table))
                    base, owner = table.row(number), state.namespaces[namespace]
                    schema = self._rng.choice((1, 1, 1, PAYLOAD_SCHEMA + 1))
                    name = f"persistent://{namespace}/{table.keys[number]}"
                    event = Event(state.level, Kind.PUT, 0, self._id(), AggregateKind.TOPIC, name, 0, base.version,
                                  owner.incarnation, (), schema, b"\xff\xff", b"")  # fmt: skip
                    self._foreign(partition, encode_event(event))
                    return

    def _raise_level(self) -> None:
        partition = self._rng.randrange(self._setup.partitions)
        event = Event(1, Kind.LEVEL, 0, self._id(), _NO_NAME, "", 0, GENESIS, GENESIS, (), 0, b"", b"")
        self._foreign(partition, encode_event(event))

    def _foreign(self, partition: int, value: bytes) -> None:
        self._note(f"a foreign record for partition {partition}")
        self._store.send(partition, value, self._rng.uniform(0, 0.1), is_foreign=True)

    def _old_record(self) -> tuple[int, bytes]:
        partition = self._rng.randrange(self._setup.partitions)
        return partition, self._rng.choice(self._store.entries[partition]).value

    def _id(self) -> bytes:
        return self._rng.randbytes(16)

    def _note(self, text: str) -> None:
        self._history.notes.append((self._store.loop.time(), text))


@lru_cache(maxsize=1_024)
def _is_birth(value: bytes) -> bool:
    event = decode_event(value)
    return event is not None and event.aggregate_kind == AggregateKind.TOPIC and event.base == GENESIS


def _flipped(value: bytes, bit: int) -> bytes:
    if not value:
        return b"\x00"
    damaged = bytearray(value)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)
