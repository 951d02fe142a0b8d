"""Every byte of a hundred valid records is damaged, with and without a repaired CRC: the fold goes on, alike on all."""

from __future__ import annotations

from collections.abc import Iterator

import google_crc32c

from tests.builders import an_id, empty_state, namespace_put, operation, tenant_put, topic_delete, topic_put
from topicfold.log.codec import decode_event, encode_event
from topicfold.model.events import Event
from topicfold.state.change import Outcome
from topicfold.state.fold import PartitionState
from topicfold.state.invariants import check

LIFE = an_id(1)
BITS = (0x01, 0xFF)


def valid_records() -> list[Event]:
    """Return a hundred events, each of which takes effect after those before it."""
    events = [namespace_put(1), tenant_put(2)]
    for number in range(3, 101):
        name = f"persistent://public/default/t{number % 7}"
        base = an_id(number - 7) if number > 9 else bytes(16)
        body = {"name": name, "operations": (operation(number),)}
        if number % 5 == 0:
            events.append(topic_delete(number, LIFE, base, **body))
        else:
            events.append(topic_put(number, LIFE, base, labels={"team": "pay"}, **body))
    return events


def damaged(value: bytes) -> Iterator[bytes]:
    """Yield `value` with each of its bytes changed in turn."""
    for place in range(len(value)):
        for bits in BITS:
            changed = bytearray(value)
            changed[place] ^= bits
            yield bytes(changed)


def repaired(value: bytes) -> bytes:
    """Return `value` with a CRC that fits."""
    return value[:4] + google_crc32c.value(value[8:]).to_bytes(4, "big") + value[8:]


def feed(state: PartitionState, value: bytes) -> Outcome:
    """Fold one value."""
    return state.apply(state.position, decode_event(value)).outcome


def after(values: list[bytes]) -> PartitionState:
    """Return the state that `values` come to."""
    state = empty_state()
    for value in values:
        feed(state, value)
    return state


VALUES = [encode_event(event) for event in valid_records()]


def test_the_hundred_records_are_valid() -> None:
    state = empty_state()
    assert [feed(state, value) for value in VALUES] == [Outcome.ACCEPTED] * 100


def test_without_a_repaired_crc_every_damaged_record_is_garbage_and_changes_nothing() -> None:
    state = empty_state()
    for value in VALUES:
        before = state.digest()
        assert {feed(state, each) for each in damaged(value)} == {Outcome.GARBAGE}
        assert state.digest() == before
        assert feed(state, value) is Outcome.ACCEPTED


def test_with_a_repaired_crc_two_nodes_go_on_and_make_the_same_of_every_damaged_record() -> None:
    met: set[Outcome] = set()
    for number, value in enumerate(VALUES):
        one, other = after(VALUES[:number]), after(VALUES[:number])
        for each in map(repaired, damaged(value)):
            outcome = feed(one, each)
            met.add(outcome)
            assert feed(other, each) is outcome
        assert feed(one, value) is feed(other, value)
        assert one.digest() == other.digest()
        assert check(one) == check(other) == []
    assert met == set(Outcome)
