"""Namespaces under `/api/v1`: their records, patches, histories, older versions and rollback."""

from __future__ import annotations

from typing import Any

import pytest

from tests.memory_log import MemoryStore
from tests.server.rest import RestNode, rest_node
from topicfold.wire.history import History
from topicfold.wire.resources import NamespaceItem

SPACE = "/api/v1/namespaces/public/default"
OLD = "/admin/v2/namespaces/public/default"
HISTORY, ROLLBACK = f"{SPACE}/history", f"{SPACE}/rollback"
KEPT = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}


async def patch(rest: RestNode, body: Any, query: str = "", **headers: str) -> str:
    """Patch `public/default`; return the ETag that is answered."""
    return (await rest.done("PATCH", f"{SPACE}{query}", body, **headers)).headers["etag"].strip('"')


async def entries(rest: RestNode, path: str = HISTORY, **headers: str) -> list[dict[str, Any]]:
    """Return a whole history."""
    return (await rest.get(path, **headers))["items"]


async def test_a_namespace_is_read_with_policies_named_as_those_of_topics(rest: RestNode) -> None:
    await rest.done("POST", f"{OLD}/retention", KEPT)
    await rest.done("PUT", f"{OLD}/property/owner/ann")
    answer = await rest.send("GET", SPACE)
    item = answer.json()
    NamespaceItem.model_validate(item)
    assert item | {"etag": ""} == {
        "name": "public/default", "properties": {"owner": "ann"}, "policies": {"retentionPolicies": KEPT}, "etag": "",
    }  # fmt: skip
    assert answer.headers["etag"] == f'"{item["etag"]}"'
    unchanged = await rest.send("GET", SPACE, if_none_match=answer.headers["etag"])
    assert unchanged.status_code == 304


async def test_a_patch_is_merged_in_one_update(rest: RestNode) -> None:
    await patch(rest, {"properties": {"a": "1", "b": "2"}, "policies": {"retentionPolicies": KEPT, "publishRate": {}}})
    before = len(await entries(rest))
    etag = await patch(rest, {"properties": {"a": None}, "policies": {"retentionPolicies": {"retentionSizeInMB": 20},
                                                                      "publishRate": None}})  # fmt: skip
    item = await rest.get(SPACE)
    assert item == {
        "name": "public/default",
        "properties": {"b": "2"},
        "policies": {"retentionPolicies": KEPT | {"retentionSizeInMB": 20}},
        "etag": etag,
    }
    assert len(await entries(rest)) == before + 1
    assert (await rest.get(f"{OLD}/retention"))["retentionSizeInMB"] == 20
    await patch(rest, {"properties": None, "policies": None})
    assert (await rest.get(SPACE))["policies"] == (await rest.get(SPACE))["properties"] == {}


async def test_a_patch_that_changes_nothing_leaves_the_etag(rest: RestNode) -> None:
    etag = await patch(rest, {"policies": {"messageTTLInSeconds": 5}})
    assert await patch(rest, {"policies": {"messageTTLInSeconds": 5}, "properties": {}}) == etag
    assert await patch(rest, {}) == etag


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"policies": {"maxMessageSize": 5}}, "policies.maxMessageSize"),
        ({"policies": {"shadowTopics": ["a"]}}, "policies.shadowTopics"),
        ({"policies": {"local": {"messageTTLInSeconds": 5}}}, "policies.local"),
        ({"policies": {"messageTTLInSeconds": -1}}, "policies.messageTTLInSeconds"),
        ({"policies": {"retentionPolicies": {"retentionTimeInMinutes": "x"}}},
         "policies.retentionPolicies.retentionTimeInMinutes"),
        ({"properties": {"a": 1}}, "properties.a"),
        ({"labels": {"a": "b"}}, "labels"),
    ],
)  # fmt: skip
async def test_all_that_is_wrong_with_a_patch_is_said_and_nothing_is_changed(
    rest: RestNode, body: dict[str, Any], path: str
) -> None:
    before = await rest.get(SPACE)
    good = {"properties": {"b": "2"}} if "properties" not in body else {"policies": {"messageTTLInSeconds": 5}}
    answer = await rest.send("PATCH", SPACE, body | good)
    assert answer.status_code == 400
    assert [each["path"] for each in answer.json()["violations"]] == [path]
    assert await rest.get(SPACE) == before


async def test_retention_and_backlog_quota_must_not_contradict_each_other(rest: RestNode) -> None:
    await patch(rest, {"policies": {"retentionPolicies": KEPT}})
    quota = {"backLogQuotaMap": {"destination_storage": {"limitSize": 10 << 20, "policy": "producer_exception"}}}
    assert await rest.problem("PATCH", SPACE, {"policies": quota}) == (400, "policy_unmet")
    await patch(rest, {"policies": {**quota, "retentionPolicies": KEPT | {"retentionSizeInMB": 11}}})


async def test_a_dry_run_of_a_patch_and_of_a_rollback_answers_as_they_would_and_changes_nothing(rest: RestNode) -> None:
    etag = await patch(rest, {"policies": {"retentionPolicies": KEPT}})
    await patch(rest, {"policies": None})
    before = await rest.get(SPACE)
    for method, path, good, bad in (
        ("PATCH", SPACE, {"policies": {"messageTTLInSeconds": 5}}, {"policies": {"replicationClusters": ["nosuch"]}}),
        ("POST", ROLLBACK, {"to": etag}, {"to": "f" * 32}),
    ):
        assert (await rest.done(method, f"{path}?dryRun=All", good)).headers["etag"] == f'"{before["etag"]}"'
        refused = await rest.problem(method, path, bad)
        assert await rest.problem(method, f"{path}?dryRun=All", bad) == refused
        stale = await rest.problem(method, f"{path}?dryRun=All", good, if_match=f'"{etag}"')
        assert stale == (412, "precondition_failed")
    assert await rest.get(SPACE) == before


async def test_a_history_says_who_changed_what_of_a_namespace_when_and_why(rest: RestNode) -> None:
    etag = await patch(rest, {"policies": {"messageTTLInSeconds": 5}}, x_change_reason="cheaper", x_request_id="r-1")
    await rest.done("PUT", "/api/v1/topics/public/default/orders")
    history = await rest.get(HISTORY)
    History.model_validate(history)
    assert (history["name"], history["before"], history["gap"]) == ("public/default", None, None)
    newest, oldest = history["items"]
    assert (newest["etag"], newest["kind"], oldest["kind"]) == (etag, "changed", "created")
    assert newest["madeBy"] == [{"actor": "anonymous", "reason": "cheaper", "requestId": "r-1"}]
    assert newest["changes"] == [{"path": ["policies", "messageTTLInSeconds"], "old": None, "new": 5}]


async def test_a_history_is_read_in_pages_and_by_its_own_parameters_only(rest: RestNode) -> None:
    for number in range(5):
        await patch(rest, {"policies": {"messageTTLInSeconds": number}})
    page = await rest.get(f"{HISTORY}?limit=4")
    rest_of_it = await rest.get(f"{HISTORY}?before={page['before']}")
    assert page["items"] + rest_of_it["items"] == await entries(rest)
    for query in ("limit=0", "domain=persistent", "before=x"):
        assert await rest.problem("GET", f"{HISTORY}?{query}") == (400, "invalid_request")
    assert await rest.problem("GET", "/api/v1/namespaces/public/none/history") == (404, "namespace_not_found")


async def test_a_namespace_is_read_as_it_was(rest: RestNode) -> None:
    etag = await patch(rest, {"policies": {"messageTTLInSeconds": 5}})
    await patch(rest, {"policies": {"messageTTLInSeconds": 6}})
    newest, older, _ = await entries(rest)
    for at in (older["offset"], older["position"]):
        item = await rest.get(f"{SPACE}?at={at}")
        assert (item["policies"], item["etag"]) == ({"messageTTLInSeconds": 5}, etag)
    assert await rest.get(f"{SPACE}?at={newest['offset']}") == await rest.get(f"{SPACE}?at=0s") == await rest.get(SPACE)
    assert await rest.problem("GET", f"{SPACE}?at=x") == (400, "invalid_request")
    assert await rest.problem("GET", f"{SPACE}?at=1y") == (404, "namespace_not_found")


async def test_a_rollback_restores_policies_and_properties_and_leaves_grants_and_topics(rest: RestNode) -> None:
    await patch(rest, {"properties": {"owner": "ann"}, "policies": {"retentionPolicies": KEPT}})
    await rest.done("PUT", "/api/v1/topics/public/default/orders", {"labels": {"a": "b"}})
    await rest.done("POST", f"{OLD}/permissions/bob", ["produce"])
    wanted = (await entries(rest))[1]
    await patch(rest, {"properties": None, "policies": {"retentionPolicies": None, "messageTTLInSeconds": 5}})
    answer = await rest.done("POST", ROLLBACK, {"to": str(wanted["offset"])})
    item = await rest.get(SPACE)
    assert (item["properties"], item["policies"]) == ({"owner": "ann"}, {"retentionPolicies": KEPT})
    assert answer.headers["etag"] == f'"{item["etag"]}"'
    assert (await rest.get(OLD))["auth_policies"]["namespace_auth"] == {"bob": ["produce"]}
    assert (await entries(rest))[0]["madeBy"][0]["reason"] == f"rollback to version {wanted['offset']}"
    again = await rest.done("POST", ROLLBACK, {"to": wanted["etag"]})
    assert again.headers["etag"] == answer.headers["etag"]


async def test_a_rollback_keeps_its_condition_and_its_key(rest: RestNode) -> None:
    first = await patch(rest, {"policies": {"messageTTLInSeconds": 5}})
    await patch(rest, {"policies": {"messageTTLInSeconds": 6}})
    assert await rest.problem("POST", ROLLBACK, {"to": first}, if_match=f'"{first}"') == (412, "precondition_failed")
    done = await rest.done("POST", ROLLBACK, {"to": first}, idempotency_key="k")
    await patch(rest, {"policies": {"messageTTLInSeconds": 7}})
    again = await rest.done("POST", ROLLBACK, {"to": first}, idempotency_key="k")
    assert again.headers["x-operation-id"] == done.headers["x-operation-id"]
    assert (await rest.get(SPACE))["policies"] == {"messageTTLInSeconds": 7}
    assert await rest.problem("POST", ROLLBACK, {"to": "1"}, idempotency_key="k") == (422, "idempotency_key_reused")


async def test_what_could_not_be_set_now_is_not_gone_back_to(rest: RestNode) -> None:
    await rest.done("PUT", "/admin/v2/clusters/east", {"serviceUrl": "http://east:8080"})
    with_east = await patch(rest, {"policies": {"replicationClusters": ["standalone", "east"]}})
    await patch(rest, {"policies": None})
    await rest.done("DELETE", "/admin/v2/clusters/east")
    assert (await rest.send("POST", ROLLBACK, {"to": with_east})).status_code in (400, 403)
    assert (await rest.get(SPACE))["policies"] == {}


async def test_a_namespace_that_was_deleted_by_force_gets_its_policies_back(rest: RestNode) -> None:
    await rest.done("PUT", "/admin/v2/namespaces/public/pay")
    pay = "/api/v1/namespaces/public/pay"
    etag = (await rest.done("PATCH", pay, {"policies": {"retentionPolicies": KEPT}})).headers["etag"].strip('"')
    await rest.done("DELETE", "/admin/v2/namespaces/public/pay?force=true")
    deleted, changed, _ = await entries(rest, f"{pay}/history")
    assert (deleted["kind"], changed["etag"]) == ("deleted", etag)
    assert (await rest.get(f"{pay}?at={changed['offset']}"))["policies"] == {"retentionPolicies": KEPT}
    for to in (etag, str(deleted["offset"])):
        refused = await rest.send("POST", f"{pay}/rollback", {"to": to})
        assert refused.status_code in (400, 404)
    assert "delete the namespace" in refused.json()["hint"]
    await rest.done("PUT", "/admin/v2/namespaces/public/pay")
    await rest.done("POST", f"{pay}/rollback", {"to": etag})
    assert (await rest.get(pay))["policies"] == {"retentionPolicies": KEPT}


async def test_a_node_without_policies_of_topics_still_keeps_those_of_namespaces(store: MemoryStore) -> None:
    async with rest_node(store, topic_level_policies_enabled=False) as off:
        etag = await patch(off, {"policies": {"messageTTLInSeconds": 5}})
        await patch(off, {"policies": None})
        await off.done("POST", ROLLBACK, {"to": etag})
        assert (await off.get(SPACE))["policies"] == {"messageTTLInSeconds": 5}
