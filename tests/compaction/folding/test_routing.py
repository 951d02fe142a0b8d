from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.builders import an_id, namespace_delete, namespace_put, tenant_put, topic_put
from tests.compaction.folds import is_for_all, route_of_value, slice_of
from topicfold.compaction.folding.routing import IS_FOR_ALL_SQL, ROUTE_SQL, ROUTES, range_of, route_of
from topicfold.log.codec import encode_event
from topicfold.model.events import Kind

TOPIC = topic_put(1, an_id(1), name="persistent://public/default/übung")
OF_ALL = [tenant_put(1), namespace_put(1), namespace_delete(2, an_id(1)), namespace_put(1)._replace(kind=Kind.LEVEL)]
GARBAGE = [b"", b"TFE1", bytes(70), b"\xff" * 300]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.usefixtures("spark")
def test_the_jvm_deals_records_out_as_is_done_here_without_it() -> None:
    values = [*map(encode_event, (TOPIC, *OF_ALL)), *GARBAGE]
    given = SparkSession.active().createDataFrame([(value,) for value in values], "value binary")
    dealt = [tuple(row) for row in given.selectExpr(ROUTE_SQL, IS_FOR_ALL_SQL).collect()]
    assert dealt == [(route_of_value(value), is_for_all(value)) for value in values]
    assert dealt[0][0] == route_of(TOPIC.name.encode())
    assert [is_all for _, is_all in dealt] == [False] + [True] * len(OF_ALL) + [False] * len(GARBAGE)


@pytest.mark.parametrize("slices", [1, 2, 3, 7, 200])
def test_slices_part_all_routes_between_them(slices: int) -> None:
    ranges = [range_of(number, slices) for number in range(slices)]
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
    assert ranges[-1][1] == ROUTES
    for number, (start, end) in enumerate(ranges):
        assert slice_of(start, slices) == slice_of(end - 1, slices) == number
