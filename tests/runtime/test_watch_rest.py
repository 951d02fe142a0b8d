"""What the window has after a cursor, made once for all who ask the same, and kept within bounds."""

from __future__ import annotations

import pytest

from tests.runtime.nodes import Node
from tests.runtime.watching import Watching
from topicfold.runtime import watch_rest


async def test_parts_are_kept_as_long_as_there_is_room_for_their_frames(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_rest, "PART", 4)
    monkeypatch.setattr(watch_rest, "MAX_KEPT_BYTES", 5_000)
    since = orders.engine.states[0].position
    for number in range(40):
        await orders.label(k=f"{number}-{'x' * 100}")
    rest = orders.engine.watches.rest
    for _ in range(2):
        watching = Watching(orders, since={0: since})
        await watching.up_to_date()
        assert [labels["k"].partition("-")[0] for _, labels in watching.told()] == list(map(str, range(40)))
        kept = sum(len(frame) for part in rest._parts.values() for frame in part.frames)
        assert 0 < kept == rest._kept_bytes <= 5_000
