"""Every error is a problem document."""

from __future__ import annotations

import errno

import pytest

from tests.server.rest import LABELS, NATIVE, ORDERS, RestNode, problem_in, raw
from topicfold.runtime.reading import Reading
from topicfold.runtime.writing.writing import Writing


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PATCH", LABELS, "DELETE, GET, HEAD, POST"),
        ("POST", NATIVE, "DELETE, GET, HEAD, PATCH, PUT"),
        ("GET", ORDERS, "DELETE, PUT"),
        ("POST", "/livez", "GET, HEAD"),
        ("OPTIONS", "/admin/v2/tenants/public", "DELETE, GET, HEAD, POST, PUT"),
    ],
)
async def test_a_wrong_method_is_405_and_says_which_are_right(
    rest: RestNode, method: str, path: str, allow: str
) -> None:
    answer = await rest.send(method, path)
    assert problem_in(answer.status_code, answer.headers, answer.content) == (405, "method_not_allowed")
    assert answer.headers["allow"] == allow


@pytest.mark.parametrize("path", ["/v1", "/admin/v2", "/admin/v2/functions", "/api/v1/topic", "/docs"])
async def test_an_unknown_route_is_404(rest: RestNode, path: str) -> None:
    answer = await rest.send("GET", path)
    assert problem_in(answer.status_code, answer.headers, answer.content) == (404, "no_route")
    assert path in answer.json()["reason"]


async def test_a_slash_at_the_end_of_a_path_is_to_be_left_out(rest: RestNode) -> None:
    unknown, ended = [await rest.send("GET", path) for path in ("/docs", "/admin/v2/tenants/")]
    listed = "GET /openapi.json lists all routes."
    assert unknown.json()["hint"] == listed
    assert (ended.status_code, ended.json()["hint"]) == (404, f"Leave out the slash at the end. {listed}")


async def test_a_problem_carries_the_id_of_its_request(rest: RestNode) -> None:
    answer = await rest.send("GET", LABELS, x_request_id="mine")
    assert answer.json()["requestId"] == answer.headers["x-request-id"] == "mine"


async def test_a_defect_is_500_without_its_trace(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(Reading, "topic", broken)
    answer = await orders.send("GET", NATIVE)
    assert problem_in(answer.status_code, answer.headers, answer.content) == (500, "error")
    assert "secret" not in answer.text
    assert "request_failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    "short",
    [MemoryError(), OSError(errno.EMFILE, "Too many open files"), RuntimeError("can't start new thread")],
)
async def test_who_asks_where_memory_or_open_files_ran_out_may_ask_again(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch, short: Exception
) -> None:
    def run_short(*_: object) -> None:
        raise short

    monkeypatch.setattr(Reading, "topic", run_short)
    answer = await orders.send("GET", NATIVE)
    assert problem_in(answer.status_code, answer.headers, answer.content) == (503, "overloaded")
    assert answer.headers["retry-after"]
    assert answer.json()["hint"].endswith("If it stays so, let this node have more, and restart it.")
    monkeypatch.setattr(Writing, "set_labels", run_short)
    assert await orders.problem("POST", LABELS, {"labels": {"team": "pay"}}) == (500, "error")


async def test_what_is_not_http_is_400(port: int) -> None:
    assert problem_in(*await raw(port, b"nonsense\r\n\r\n")) == (400, "invalid_request")
