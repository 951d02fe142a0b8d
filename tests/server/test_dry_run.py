"""`dryRun=All`: the answer that a change would have, and nothing on the log."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.rest import NATIVE, RestNode, problem_in

ROLLBACK = f"{NATIVE}/rollback"
OTHER = "/api/v1/topics/public/default/other"
DRY = "?dryRun=All"
RETENTION = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 1}
QUOTA = {"destination_storage": {"limitSize": 1 << 30, "policy": "producer_exception"}}


def local(**policies: Any) -> dict[str, Any]:
    return {"policies": {"local": policies}}


def positions(rest: RestNode) -> dict[int, int]:
    return {partition: state.position for partition, state in rest.node.engine.states.items()}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", NATIVE, {"labels": {"team": "pay"}}),
        ("PATCH", NATIVE, local(retentionPolicies=RETENTION)),
        ("PUT", OTHER, {"labels": {"team": "pay"}, "partitions": 3}),
        ("PUT", OTHER, None),
        ("PUT", f"/api/v1/topics/public/default/{'x' * 250}", {"kafkaName": "short"}),
        ("DELETE", NATIVE, None),
    ],
)
async def test_a_change_that_would_do_is_answered_with_204_and_not_done(
    orders: RestNode, method: str, path: str, body: Any
) -> None:
    before, record = positions(orders), await orders.get(NATIVE)
    answer = await orders.send(method, path + DRY, body, idempotency_key="k")
    assert (answer.status_code, answer.content) == (204, b"")
    assert positions(orders) == before
    assert await orders.get(NATIVE) == record
    assert (await orders.send("GET", OTHER)).status_code == 404
    await orders.done(method, path, body, idempotency_key="k")


async def test_a_rollback_that_would_do_is_answered_with_204_and_not_done(orders: RestNode) -> None:
    before, record = positions(orders), await orders.get(NATIVE)
    first = (await orders.get(f"{NATIVE}/history"))["items"][-1]["offset"]
    assert (await orders.send("POST", ROLLBACK + DRY, {"to": str(first)})).status_code == 204
    assert (positions(orders), await orders.get(NATIVE)) == (before, record)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", NATIVE, {"labels": {"-": "pay"}}),
        ("PATCH", NATIVE, local(nosuch=1)),
        ("PATCH", NATIVE, local(retentionPolicies=RETENTION, backLogQuotaMap=QUOTA)),
        ("PATCH", NATIVE, local(shadowTopics=["persistent://public/default/lost"])),
        ("PATCH", NATIVE, local(replicationClusters=["standalone", "nosuch"])),
        ("PATCH", OTHER, {"labels": {"team": "pay"}}),
        ("PATCH", "/api/v1/topics/no/where/other", {"labels": {"team": "pay"}}),
        ("PUT", NATIVE, {"labels": {"team": "pay"}}),
        ("PUT", OTHER, local(retentionPolicies=RETENTION, backLogQuotaMap=QUOTA)),
        ("PUT", OTHER, local(shadowTopics=["persistent://public/default/lost"])),
        ("PUT", "/api/v1/topics/no/where/other", None),
        ("PUT", f"/api/v1/topics/public/default/{'x' * 250}", None),
        ("DELETE", OTHER, None),
        ("DELETE", "/api/v1/topics/no/where/other", None),
        ("POST", ROLLBACK, {"to": "99"}),
        ("POST", ROLLBACK, {"to": "latest"}),
    ],
)
async def test_a_change_that_would_be_refused_is_refused_in_the_same_words(
    orders: RestNode, method: str, path: str, body: Any
) -> None:
    tried = (await orders.send(method, path + DRY, body)).json()
    real = (await orders.send(method, path, body)).json()
    assert tried["status"] >= 400
    assert {**tried, "requestId": ""} == {**real, "requestId": ""}


async def test_another_version_than_the_one_meant_is_refused(orders: RestNode) -> None:
    body, etag = {"labels": {"team": "pay"}}, (await orders.get(NATIVE))["etag"]
    assert (await orders.send("PATCH", NATIVE + DRY, body, if_match=f'"{etag}"')).headers["etag"] == f'"{etag}"'
    assert await orders.problem("PATCH", NATIVE + DRY, body, if_match='"old"') == (412, "precondition_failed")


async def test_anything_but_all_is_no_dry_run(orders: RestNode) -> None:
    for text in ("true", "all", "", "All&dryRun=All"):
        assert await orders.problem("PATCH", f"{NATIVE}?dryRun={text}", {"labels": {}}) == (400, "invalid_request")


@pytest.mark.parametrize(
    "parameter", ["dryRun=All", "dryrun", "dry-run=true", "x=1&dry_run=All", "DRYRUN", "%64r%79Run=All"]
)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "persistent/public/default/orders/custom-labels", {"labels": {"team": "pay"}}),
        ("DELETE", "persistent/public/default/orders", None),
        ("PUT", "namespaces/public/new", None),
        ("DELETE", "tenants/public?force=true", None),
    ],
)
async def test_what_cannot_be_tried_is_not_done_instead(
    orders: RestNode, parameter: str, method: str, path: str, body: Any
) -> None:
    before = positions(orders)
    answer = await orders.send(method, f"/admin/v2/{path}{'&' if '?' in path else '?'}{parameter}", body)
    assert problem_in(answer.status_code, answer.headers, answer.content) == (400, "invalid_request")
    assert "dryRun=All under /api/v1" in answer.json()["hint"]
    assert positions(orders) == before


async def test_a_parameter_that_only_resembles_it_keeps_no_change_from_being_made(orders: RestNode) -> None:
    await orders.done("DELETE", "/admin/v2/persistent/public/default/orders?laundry=1&dry=All&dryRuns=All")
    assert (await orders.send("GET", NATIVE)).status_code == 404


async def test_reading_takes_no_notice_of_what_would_try_a_change(orders: RestNode) -> None:
    assert (await orders.send("GET", "/admin/v2/namespaces/public?dryRun=All")).status_code == 200
