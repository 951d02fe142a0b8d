"""What became of a change."""

from __future__ import annotations

import pytest

from tests.memory_log import MemoryStore
from tests.server.rest import LABELS, RestNode, rest_node
from topicfold.model.events import handle_of_key
from topicfold.wire.resources import OperationState

UNKNOWN = f"3-{'ab' * 16}"


async def test_an_applied_change_has_its_etag(orders: RestNode) -> None:
    written = await orders.done("POST", LABELS, {"labels": {"a": "b"}})
    state = await orders.get(f"/api/v1/operations/{written.headers['x-operation-id']}")
    OperationState.model_validate(state)
    assert (state["state"], state["etag"]) == ("applied", written.headers["etag"].strip('"'))


async def test_an_applied_change_says_whether_it_changed_anything(orders: RestNode) -> None:
    for is_changed in (True, False):
        written = await orders.done("POST", LABELS, {"labels": {"a": "b"}}, idempotency_key=str(is_changed))
        state = await orders.get(f"/api/v1/operations/{written.headers['x-operation-id']}")
        assert (state["state"], state["changed"]) == ("applied", is_changed)


async def test_a_refused_change_has_its_code(rest: RestNode) -> None:
    await rest.send("POST", LABELS, {"labels": {"a": "b"}}, idempotency_key="k")
    handle = handle_of_key("anonymous", "POST", "persistent://public/default/orders", "k").hex()
    state = await rest.get(f"/api/v1/operations/3-{handle}")
    assert (state["state"], state["code"]) == ("refused", "topic_not_found")


async def test_a_change_that_was_not_seen_is_so_as_of_a_position(rest: RestNode) -> None:
    state = await rest.get(f"/api/v1/operations/{UNKNOWN}")
    assert (state["state"], state["operation"]) == ("not_seen", UNKNOWN)
    assert state["asOf"]


@pytest.mark.parametrize("operation", ["x", "3", f"99-{'ab' * 16}", f"3-{'AB' * 16}", f"03-{'ab' * 16}", "3-%00"])
async def test_what_cannot_be_an_operation_is_404(rest: RestNode, operation: str) -> None:
    assert await rest.problem("GET", f"/api/v1/operations/{operation}") == (404, "operation_not_found")


async def test_an_unknown_outcome_names_the_operation_that_settles_it(orders: RestNode, store: MemoryStore) -> None:
    async with rest_node(store, 10**9, request_timeout_seconds=0.05) as hasty:
        hasty.node.log.fate = hasty.node.log.hold
        answer = await hasty.send("POST", LABELS, {"labels": {"a": "b"}})
        assert (answer.status_code, answer.json()["code"]) == (504, "outcome_unknown")
        path = f"/api/v1/operations/{answer.json()['operation']}"
        object.__setattr__(hasty.node.engine.options, "request_timeout_seconds", 5.0)
        assert (await hasty.get(path))["state"] == "not_seen"
        hasty.node.log.release()
        await hasty.node.caught_up()
        assert (await hasty.get(path))["state"] == "applied"
