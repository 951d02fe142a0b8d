"""The audit: a line for each change and each denial, that says who, what and with which outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from tests.server.auth.conftest import bearer
from tests.server.rest import LABELS, ORDERS, RestNode, raw


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    """All log lines from here on."""
    with structlog.testing.capture_logs() as captured:
        yield captured


def audited(lines: list[Any]) -> list[tuple[str, str, str, str]]:
    """Return actor, operation, target and outcome of each line of the audit."""
    found = [line for line in lines if line["event"] == "audit"]
    return [(line["actor"], line["operation"], line["target"], line["outcome"]) for line in found]


async def test_a_change_is_one_line_whatever_becomes_of_it(rest: RestNode, lines: list[Any]) -> None:
    for _ in range(2):
        await rest.send("PUT", ORDERS)
    await rest.send("POST", LABELS, {"labels": {"team": 1}})
    await rest.send("POST", LABELS, b"{}", content_type="text/html")
    assert audited(lines) == [
        ("anonymous", "createTopic", ORDERS, "done"),
        ("anonymous", "createTopic", ORDERS, "already_exists"),
        ("anonymous", "setCustomLabels", LABELS, "invalid_labels"),
        ("anonymous", "setCustomLabels", LABELS, "415"),
    ]


async def test_a_change_that_was_never_answered_is_not_said_to_be_done(orders: RestNode, lines: list[Any]) -> None:
    appended = asyncio.Event()
    orders.node.log.fate = lambda *_: appended.set()
    change = asyncio.create_task(orders.send("POST", LABELS, {"labels": {"team": "x"}}))
    await appended.wait()
    # As a server does that is to end, and has waited long enough.
    change.cancel()
    await asyncio.gather(change, return_exceptions=True)
    assert audited(lines) == [("anonymous", "setCustomLabels", LABELS, "failed")]


async def test_a_line_tells_from_which_address_the_request_came_whatever_it_says_of_others(
    port: int, lines: list[Any]
) -> None:
    said = "Host: 127.0.0.1\r\nConnection: close\r\nX-Forwarded-For: 203.0.113.9\r\n"
    await raw(port, f"DELETE {ORDERS} HTTP/1.1\r\n{said}\r\n".encode())
    assert [line["client"] for line in lines if line["event"] == "audit"] == ["127.0.0.1"]


async def test_a_read_is_no_line_though_nothing_is_found_nor_is_what_changes_nothing_there_is(
    rest: RestNode, lines: list[Any]
) -> None:
    await rest.get("/admin/v2/tenants")
    for method, path in (("GET", LABELS), ("PUT", "/nothing")):
        assert (await rest.send(method, path)).status_code == 404
    assert audited(lines) == []


async def test_a_change_names_the_principal(closed: RestNode, lines: list[Any]) -> None:
    await closed.done("PUT", ORDERS, authorization=bearer("root"))
    assert audited(lines) == [("root", "createTopic", ORDERS, "done")]


async def test_a_denial_is_one_line_that_says_why(closed: RestNode, lines: list[Any]) -> None:
    await closed.send("PUT", ORDERS, authorization=bearer("mallory"))
    await closed.send("GET", LABELS, authorization=bearer("mallory"))
    await closed.send("GET", LABELS)
    await closed.send("GET", "/nothing")
    assert audited(lines) == [
        ("mallory", "createTopic", ORDERS, "forbidden"),
        ("mallory", "getCustomLabels", LABELS, "forbidden"),
        ("anonymous", "getCustomLabels", LABELS, "unauthenticated"),
        ("anonymous", "", "/nothing", "unauthenticated"),
    ]
    denials = [(line["log_level"], line["reason"]) for line in lines if line["event"] == "audit"]
    assert denials[0] == ("warning", "mallory lacks manage-topics on topic persistent://public/default/orders")
    assert denials[2] == ("warning", "Need to authenticate to perform the request")


async def test_no_line_holds_a_token_or_a_label(closed: RestNode, lines: list[Any]) -> None:
    for token in (bearer("root"), bearer("mallory"), "Bearer s3cret"):
        await closed.send("PUT", ORDERS, authorization=token)
        await closed.send("POST", LABELS, {"labels": {"team": "t0psecret"}}, authorization=token)
        await closed.send("DELETE", f"{LABELS}?keys=t0psecret", authorization=token)
        assert token.split()[1] not in repr(lines)
    assert "t0psecret" not in repr(lines)


async def test_a_target_is_on_one_line_as_it_was_sent(rest: RestNode, lines: list[Any]) -> None:
    await rest.send("PUT", f"{ORDERS}%0Ax%1B%C3%A9")
    assert [target for _, _, target, _ in audited(lines)] == [f"{ORDERS}%0Ax%1B%C3%A9"]


async def test_the_principal_is_in_the_history_of_the_topic(closed: RestNode) -> None:
    await closed.done("PUT", ORDERS, authorization=bearer("root"))
    history = await closed.get("/api/v1/topics/public/default/orders/history", authorization=bearer("root"))
    assert [made["actor"] for entry in history["items"] for made in entry["madeBy"]] == ["root"]


async def test_whatever_is_refused_is_a_line_wherever_it_is_refused(closed: RestNode, lines: list[Any]) -> None:
    header = (b"authorization", bearer("root").encode())
    await closed.client.get(LABELS, headers=[header, header])
    await closed.send("GET", LABELS, host="evil.example")
    await closed.send("GET", "/admin/v2/namespaces/public", authorization=bearer("mallory"))
    assert audited(lines) == [
        ("anonymous", "", LABELS, "unauthenticated"),
        ("anonymous", "", LABELS, "forbidden"),
        ("mallory", "listNamespaces", "/admin/v2/namespaces/public", "forbidden"),
    ]


async def test_a_change_that_the_server_fails_at_is_a_line(
    rest: RestNode, lines: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(rest.node.engine), "partition", lambda self, name: 1 / 0)
    assert (await rest.send("PUT", ORDERS)).status_code == 500
    assert audited(lines) == [("anonymous", "createTopic", ORDERS, "failed")]


async def test_a_dry_run_is_a_line_that_says_so(rest: RestNode, lines: list[Any]) -> None:
    native = "/api/v1/topics/public/default/orders"
    await rest.send("PUT", f"{native}?dryRun=All", {})
    await rest.send("PUT", native, {})
    await rest.send("PUT", f"{native}?dryRun=All", {})
    await rest.send("PATCH", f"{native}?dryRun=All", {"labels": {"team": "pay"}})
    assert audited(lines) == [
        ("anonymous", "createTopicRecord", native, "tried"),
        ("anonymous", "createTopicRecord", native, "done"),
        ("anonymous", "createTopicRecord", native, "already_exists"),
        ("anonymous", "changeTopicRecord", native, "tried"),
    ]
