"""HEAD: what GET answers, without the body; health checks and link checkers ask so."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from tests.server.rest import LABELS, NATIVE, ORDERS, RestNode

CHANGING = {"date", "x-request-id", "x-log-age"}


async def answered(port: int, method: str, path: str) -> tuple[bytes, dict[str, str], bytes]:
    """Return the status, what else the head says that stays the same, and the body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    async with asyncio.timeout(60):
        head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
    writer.close()
    status, *lines = head.split(b"\r\n")
    said = dict(line.decode().split(": ", 1) for line in lines)
    return status, {name: value for name, value in said.items() if name not in CHANGING}, body


@pytest.mark.parametrize(
    "path",
    ["/livez", "/readyz?verbose", "/metrics", LABELS, NATIVE, "/api/v1/topics", f"{ORDERS}-not-there/custom-labels",
     "/nowhere"],
)  # fmt: skip
async def test_head_is_answered_as_get_is_without_a_body(port: int, path: str) -> None:
    status, said, body = await answered(port, "GET", path)
    assert body
    without = await answered(port, "HEAD", path)
    # These differ from one moment to the next.
    if path in ("/readyz?verbose", "/metrics"):
        said.pop("content-length")
        without[1].pop("content-length")
    assert without == (status, said, b"")


async def test_head_is_not_possible_where_get_is_not(orders: RestNode) -> None:
    answer = await orders.send("HEAD", f"{ORDERS}/policies")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE")


async def test_head_is_no_change_in_the_audit_and_the_metrics(orders: RestNode) -> None:
    async def writes() -> str:
        text = (await orders.send("GET", "/metrics")).text
        return next(line for line in text.splitlines() if line.startswith("topicfold_write_visible_seconds_count"))

    before = await writes()
    with capture_logs() as lines:
        assert (await orders.send("HEAD", LABELS, origin="http://evil.example")).status_code == 200
    assert [line for line in lines if line["event"] == "audit"] == []
    assert await writes() == before


async def test_a_head_that_is_refused_is_told_of_as_a_head(orders: RestNode) -> None:
    with capture_logs() as lines:
        assert (await orders.send("HEAD", LABELS, host="evil.example")).status_code == 403
    assert [line["method"] for line in lines if line["event"] == "audit"] == ["HEAD"]
