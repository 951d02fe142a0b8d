"""What is left of requests that have ended: nothing that waits for the garbage collector, which comes seldom."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests.runtime.nodes import turns
from tests.server.auth.conftest import bearer
from tests.server.rest import LABELS, ORDERS, RestNode, listening, raw
from topicfold.server.connections.exchange import Exchange

ROOT = bearer()
STRANGER = bearer("stranger")


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Have nothing collected that refers to itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    ("request_line", "token", "body", "status"),
    [
        ("GET /api/v1/topics", ROOT, "", 200),
        ("GET /api/v1/watch?timeoutSeconds=1", ROOT, "", 200),
        (f"POST {LABELS}", ROOT, '{"labels": {"team": "pay"}}', 204),
        (f"POST {LABELS}", ROOT, '{"labels": 1}', 400),
        (f"GET {ORDERS}-none/custom-labels", ROOT, "", 404),
        ("GET /nothing", ROOT, "", 404),
        ("GET /api/v1/topics", STRANGER, "", 403),
        ("GET /api/v1/topics", "Bearer nobody", "", 401),
    ],
)
@pytest.mark.usefixtures("uncollected")
async def test_an_ended_request_is_forgotten_at_once(
    closed: RestNode, request_line: str, token: str, body: str, status: int
) -> None:
    await closed.done("PUT", ORDERS, authorization=ROOT)
    head = f"{request_line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\nConnection: close\r\n"
    sent = f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    async with listening(closed) as port:
        answer = await raw(port, sent.encode(), then_wait=True)
    await turns()
    assert answer[0] == status, answer
    assert [each for each in gc.get_objects() if isinstance(each, Exchange)] == []
