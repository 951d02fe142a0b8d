from __future__ import annotations

import pytest

from tests.builders import an_id, namespace_delete, namespace_put, tenant_put, topic_put
from topicfold.compaction.routing import ROUTES, is_for_all, range_of, route_of, route_of_value, slice_of
from topicfold.log.codec import encode_event
from topicfold.model.events import Kind


def test_a_topics_record_goes_where_its_name_does() -> None:
    event = topic_put(1, an_id(1), name="persistent://public/default/übung")
    assert route_of_value(encode_event(event)) == route_of(event.name)
    assert not is_for_all(encode_event(event))


@pytest.mark.parametrize(
    "event",
    [tenant_put(1), namespace_put(1), namespace_delete(2, an_id(1)), namespace_put(1)._replace(kind=Kind.LEVEL)],
)
def test_what_decides_over_topics_goes_to_all(event: object) -> None:
    assert is_for_all(encode_event(event))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [b"", b"TFE1", bytes(70), b"\xff" * 300])
def test_garbage_has_a_route_too(value: bytes) -> None:
    assert 0 <= route_of_value(value) < ROUTES
    assert not is_for_all(value)


@pytest.mark.parametrize("slices", [1, 2, 3, 7, 200])
def test_slices_part_all_routes_between_them(slices: int) -> None:
    ranges = [range_of(number, slices) for number in range(slices)]
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
    assert ranges[-1][1] == ROUTES
    for number, (start, end) in enumerate(ranges):
        assert slice_of(start, slices) == slice_of(end - 1, slices) == number
