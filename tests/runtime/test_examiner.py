"""Who is examined, and when nobody is."""

from __future__ import annotations

from tests.runtime.nodes import Node
from topicfold.errors import LogGap
from topicfold.runtime.examiner import Conclusion, Doubt
from topicfold.state.fold import PartitionState


async def it_is(refolded: PartitionState) -> bool:
    """Find the state to be as it should."""
    return True


async def test_what_is_doubted_while_the_partition_is_examined_is_not_examined(orders: Node) -> None:
    doubt = Doubt(0, orders.engine.states[0].position, "a doubt", it_is)
    for accuser in ("one", "another"):
        orders.engine.examiner.examine(doubt._replace(accuser=accuser))
    await orders.engine.examiner.idle()
    assert orders.engine.examiner.conclusions == {Conclusion.MEMORY_RIGHT: 1}


async def test_a_defect_in_examining_stops_nothing_and_is_told(orders: Node) -> None:
    async def fails(refolded: PartitionState) -> bool:
        raise RuntimeError("a defect")

    doubt = Doubt(0, orders.engine.states[0].position, "a doubt", fails, "another")
    orders.engine.examiner.examine(doubt)
    await orders.engine.examiner.idle()
    assert orders.engine.examiner.last == {0: (doubt, Conclusion.NOT_EXAMINED)}
    assert not orders.engine.reader.faults
    orders.engine.examiner.examine(doubt._replace(is_mine=it_is))
    await orders.engine.examiner.idle()
    assert orders.engine.examiner.conclusions == {Conclusion.NOT_EXAMINED: 1, Conclusion.MEMORY_RIGHT: 1}


async def test_a_partition_that_has_stopped_is_not_examined(orders: Node) -> None:
    orders.engine.reader.stop(LogGap("records are missing"), 0)
    orders.engine.examiner.examine(Doubt(0, orders.engine.states[0].position, "a doubt", it_is))
    await orders.engine.examiner.idle()
    assert not orders.engine.examiner.conclusions
