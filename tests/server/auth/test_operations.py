"""What became of a change is told to whoever asked for it, and tells nobody else that there was one."""

from __future__ import annotations

import pytest

from tests.server.auth.conftest import bearer
from tests.server.rest import ORDERS, RestNode
from topicfold.model.events import handle_of_key, operation_of

TOPIC = "persistent://public/default/orders"
GUESSED = handle_of_key("root", "PUT", TOPIC, "1")
"""Of a key that is easily guessed; so are the rest."""


async def state_of(node: RestNode, handle: str, role: str) -> str:
    """Return what `role` is told of an operation."""
    answer = await node.get(f"/api/v1/operations/{handle}", authorization=bearer(role))
    assert answer.keys() <= {"operation", "state", "asOf"} or role == "root"
    return str(answer["state"])


@pytest.mark.parametrize("key", [{"idempotency_key": "1"}, {}], ids=["with a key", "without"])
async def test_an_operation_is_shown_to_who_made_it_and_is_nothing_to_others(
    closed: RestNode, key: dict[str, str]
) -> None:
    made = await closed.done("PUT", ORDERS, authorization=bearer("root"), **key)
    handle = made.headers["x-operation-id"]
    assert {role: await state_of(closed, handle, role) for role in ("root", "mallory", "anonymous")} == {
        "root": "applied", "mallory": "not_seen", "anonymous": "not_seen",
    }  # fmt: skip


@pytest.mark.parametrize(
    "guess", [GUESSED, operation_of("root", GUESSED), operation_of("mallory", GUESSED)], ids=["handle", "id", "own id"]
)
async def test_who_guesses_a_key_learns_nothing(closed: RestNode, guess: bytes) -> None:
    made = await closed.done("PUT", ORDERS, authorization=bearer("root"), idempotency_key="1")
    partition, _, handle = made.headers["x-operation-id"].partition("-")
    assert handle == GUESSED.hex()
    assert await state_of(closed, f"{partition}-{guess.hex()}", "mallory") == "not_seen"


async def test_an_operation_is_nobodys_without_a_token(closed: RestNode) -> None:
    made = await closed.done("PUT", ORDERS, authorization=bearer("root"))
    path = f"/api/v1/operations/{made.headers['x-operation-id']}"
    assert await closed.problem("GET", path) == (401, "unauthenticated")
