"""Labels of a namespace: those of one cut, whatever changes while they are listed, and in slices."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from tests.builders import an_id, folded, namespace_put, topic_delete, topic_put
from topicfold.errors import Overloaded
from topicfold.log.payload import encode_record, payload_schema_of
from topicfold.model.events import Event
from topicfold.model.records import Pending, Step, TopicRecord, frozen
from topicfold.runtime import cut, slices
from topicfold.runtime.cut import Cuts
from topicfold.runtime.finding import listed_labels
from topicfold.state.fold import PartitionState
from topicfold.state.topic_table import TopicTable

NAMESPACE = "public/default"
LABELS = st.dictionaries(st.sampled_from(["team", "tier", "x"]), st.text("abc", max_size=2), max_size=3)


class Topics:
    """Topics of a namespace with labels, whose changes are published to `cuts`."""

    def __init__(self, *labels: dict[str, str]) -> None:
        self.cuts = Cuts()
        self._state: PartitionState = folded(namespace_put(1))
        self._ids = 1
        self._versions: dict[int, bytes] = {}
        for number, each in enumerate(labels):
            self.label(number, each)

    @property
    def table(self) -> TopicTable:
        """They themselves."""
        return self._state.topics[NAMESPACE]

    def label(self, number: int, labels: dict[str, str], pending: Pending | None = None) -> None:
        """Give one of them these labels, and what is still to be done about it in Kafka."""
        self._ids += 1
        base: dict[str, Any] = {"base": self._versions[number]} if number in self._versions else {}
        record = TopicRecord(labels=frozen(labels), pending=pending)
        told = {"payload": encode_record(record), "payload_schema": payload_schema_of(record)}
        event = topic_put(self._ids, an_id(1), name=f"persistent://{NAMESPACE}/{number}", **told, **base)
        self._apply(number, event)

    def end(self, number: int) -> None:
        """End one of them."""
        self._ids += 1
        name = f"persistent://{NAMESPACE}/{number}"
        self._apply(number, topic_delete(self._ids, an_id(1), self._versions[number], name=name))

    async def listed(self, among: BitMap | None = None) -> dict[str, list[str]]:
        """Return what is listed."""
        return await listed_labels.listed_labels(self.cuts, NAMESPACE, self.table, among)

    def _apply(self, number: int, event: Event) -> None:
        self._versions[number] = event.event_id
        change = self._state.apply(self._state.position, event)
        if change.effect is not None:
            self.cuts.publish(change.effect)


@pytest.fixture
def bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slice is used up at once."""
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    monkeypatch.setattr(listed_labels, "CHUNK", 1)
    monkeypatch.setattr(listed_labels, "_RUN", 2)


def by_brute_force(labels: list[dict[str, str]]) -> dict[str, list[str]]:
    """Return what is to be listed of topics with these labels."""
    keys = sorted({key for each in labels for key in each})
    return {key: sorted({each[key] for each in labels if key in each}) for key in keys}


@pytest.mark.usefixtures("bit_by_bit")
@given(before=st.lists(LABELS, max_size=12), after=st.lists(LABELS, max_size=12), first=st.none() | st.integers(0, 12))
def test_they_are_those_of_the_moment_when_they_were_asked_for(
    before: list[dict[str, str]], after: list[dict[str, str]], first: int | None
) -> None:
    async def run() -> None:
        topics = Topics(*before)
        listing = asyncio.create_task(topics.listed(None if first is None else BitMap(range(first, len(before)))))
        await asyncio.sleep(0)
        for number, labels in enumerate(after):
            topics.label(number, labels)
            await asyncio.sleep(0)
        listed = await listing
        assert listed == by_brute_force(before[first or 0 :])
        assert list(listed) == sorted(listed)

    asyncio.run(run())


@pytest.mark.usefixtures("bit_by_bit")
@pytest.mark.parametrize("is_told", [False, True])
async def test_topics_that_end_meanwhile_are_listed_though_the_set_of_those_that_count_is_an_indexs_own(
    is_told: bool,
) -> None:
    topics = Topics(*({"id": str(number)} for number in range(9)), {})
    topics.label(9, {}, Pending(Step.END, ""))
    listing = asyncio.create_task(topics.listed(topics.table.live if is_told else None))
    for number in range(9):
        await asyncio.sleep(0)
        topics.end(number)
    assert await listing == {"id": list("012345678")}


@pytest.mark.usefixtures("bit_by_bit")
@pytest.mark.parametrize("among", [None, BitMap(range(9))])
async def test_others_have_their_turn_meanwhile(among: BitMap | None) -> None:
    topics = Topics(*({"id": str(number)} for number in range(9)))
    listing = asyncio.create_task(topics.listed(among))
    for _ in range(9):
        await asyncio.sleep(0)
    assert not listing.done()
    assert await listing == {"id": list("012345678")}


@pytest.mark.parametrize("among", [None, BitMap([0, 1])])
async def test_what_only_topics_bear_whose_end_is_decided_is_not_listed(among: BitMap | None) -> None:
    topics = Topics({"team": "pay"}, {"team": "pay", "tier": "gold"})
    topics.label(1, {"team": "pay", "tier": "gold"}, Pending(Step.END, ""))
    assert await topics.listed(among) == {"team": ["pay"]}


@pytest.mark.usefixtures("bit_by_bit")
async def test_more_changes_than_a_cut_outlasts_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut, "MAX_CHANGES", 1)
    topics = Topics({"a": "1"}, {"a": "2"})
    listing = asyncio.create_task(topics.listed(BitMap([0, 1])))
    await asyncio.sleep(0)
    for value in "34":
        topics.label(0, {"a": value})
    with pytest.raises(Overloaded, match="have changed meanwhile"):
        await listing
