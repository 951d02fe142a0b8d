"""What somebody with some rights sees, and that a refusal tells a stranger nothing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import combinations_with_replacement
from pathlib import Path

import httpx2
import pytest
from starlette.requests import Request

from tests.memory_log import MemoryStore
from tests.runtime.nodes import WilfulLog, turns
from tests.server.auth.acme import ADMIN, FIND, done, grant, make_acme, seen
from tests.server.auth.conftest import bearer
from tests.server.rest import RestNode, rest_node
from topicfold.errors import StateDiverged
from topicfold.model.namespaces import parse_namespaces
from topicfold.model.permissions import Permission
from topicfold.runtime import slices
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.server.app import create_app
from topicfold.server.auth.principal import Principal, note_principal
from topicfold.server.auth.remedy import remedy_on
from topicfold.server.auth.rights import Rights
from topicfold.server.auth.viewer import Viewer
from topicfold.settings import Settings

PLACES = ("tenants/acme", "namespaces/acme/pay", "persistent/acme/pay/orders")
OF_TOPIC, APP = "persistent://acme/pay/", "grant-permission --role app --actions"


@pytest.fixture
async def acme(closed: RestNode) -> RestNode:
    """A node with three labelled topics in `acme/pay`, one of them partitioned, and one in `acme/hr`."""
    await make_acme(closed)
    return closed


async def test_listings_hold_just_the_topics_that_the_role_may_list(acme: RestNode) -> None:
    await grant(acme, "persistent/acme/pay/orders", "app", "consume")
    await grant(acme, "persistent/acme/pay/bills", "app", "list-topics")
    await grant(acme, "persistent/acme/pay/taxes", "app", "read-policies", "update-policies", "watch")
    orders, bill = "persistent://acme/pay/orders", "persistent://acme/pay/bills"
    listed = sorted([orders, f"{bill}-partition-0", f"{bill}-partition-1"])
    assert await seen(acme, f"{ADMIN}/persistent/acme/pay", "app") == listed
    assert await seen(acme, f"{ADMIN}/topics/acme/pay", "app") == listed
    assert await seen(acme, f"{ADMIN}/namespaces/acme/pay/topics?mode=ALL", "app") == listed
    assert await seen(acme, f"{ADMIN}/persistent/acme/pay/partitioned", "app") == [bill]
    assert await seen(acme, f"{ADMIN}/persistent/acme/pay?custom-labels=team:tax", "app") == []
    assert await seen(acme, f"{ADMIN}/non-persistent/acme/pay", "app") == []
    assert [item["name"] for item in (await seen(acme, FIND, "app"))["items"]] == [bill, orders]


async def test_all_labels_are_those_of_topics_that_the_role_may_list(acme: RestNode) -> None:
    await done(acme, "POST", f"{ADMIN}/persistent/acme/pay/taxes/custom-labels", {"labels": {"secret": "yes"}})
    await grant(acme, "persistent/acme/pay/orders", "app", "produce")
    path = f"{ADMIN}/namespaces/acme/pay/topicCustomLabels"
    assert await seen(acme, path, "app") == {"team": ["pay"]}
    assert await seen(acme, path, "boss") == {"secret": ["yes"], "team": ["pay", "tax"]}


@pytest.mark.parametrize("place", ["tenants/acme", "namespaces/acme/pay"])
async def test_whoever_may_list_a_namespace_sees_all_of_it(acme: RestNode, place: str) -> None:
    await grant(acme, place, "lister", "list-topics")
    assert len((await seen(acme, FIND, "lister"))["items"]) == 3


@pytest.mark.parametrize(
    "path", [f"{ADMIN}/persistent/acme/pay", f"{ADMIN}/namespaces/acme/pay/topics", FIND,
             f"{ADMIN}/namespaces/acme/pay/topicCustomLabels", f"{ADMIN}/namespaces/acme"]
)  # fmt: skip
async def test_whoever_may_list_nothing_is_403(acme: RestNode, path: str) -> None:
    await grant(acme, "namespaces/acme/hr", "hr", "read-policies")
    assert await seen(acme, path, "stranger") == 403
    assert await seen(acme, path, "hr") == (["acme/hr"] if path.endswith("acme") else 403)


@pytest.mark.parametrize("tenant", ["acme", "nobodys"])
async def test_whoever_has_no_rights_in_a_tenant_is_told_who_can_grant_some_and_not_whether_there_is_one(
    acme: RestNode, tenant: str
) -> None:
    refused = await acme.send("GET", f"{ADMIN}/namespaces/{tenant}", authorization=bearer("stranger"))
    command = f"topicfold tenants grant-permission --role stranger --actions list-topics {tenant}"
    assert (refused.status_code, refused.json()["hint"].partition(": ")[2]) == (403, command)


async def test_policies_are_found_by_those_who_may_read_them(acme: RestNode) -> None:
    await grant(acme, "namespaces/acme/pay", "app", "list-topics")
    await grant(acme, "persistent/acme/pay/orders", "app", "read-policies")
    records = f"{FIND}&fields=record"
    for role, may_read_all in (("app", False), ("boss", True)):
        items = (await seen(acme, records, role))["items"]
        assert {item["name"].rpartition("/")[2]: "policies" in item for item in items} == {
            "bills": may_read_all, "orders": True, "taxes": may_read_all,
        }  # fmt: skip


async def test_who_may_list_a_tenant_is_not_shown_all_that_a_pattern_of_several_means(acme: RestNode) -> None:
    authorizer, request = acme.app.node.authorizer, Request({"type": "http"})
    assert authorizer is not None
    note_principal(request.scope, Principal("boss", frozenset({"boss"})))
    assert authorizer.viewer(request, parse_namespaces(["acme/*", "acme/pay"])) is None
    for patterns, whole in ((["*"], set()), (["acme/*", "*/pay"], {"acme"})):
        assert authorizer.viewer(request, parse_namespaces(patterns)) == Viewer(frozenset({"boss"}), frozenset(whole))


async def test_one_namespace_denied_is_all_denied_and_not_said_which(acme: RestNode) -> None:
    await grant(acme, "namespaces/acme/pay", "app", "list-topics")
    for namespaces in ("acme/pay&namespace=acme/hr", "acme/hr&namespace=acme/pay", "acme/pay&namespace=no/where"):
        answer = await acme.send("GET", f"/api/v1/topics?namespace={namespaces}", authorization=bearer("app"))
        assert answer.status_code == 403
        assert answer.json()["reason"] == "app lacks list-topics on at least one of the 2 namespaces asked for"
        assert not re.search("acme|pay|hr|where", answer.json()["hint"])


async def test_a_tenant_without_namespaces_is_known_to_whoever_has_a_right_in_it_and_to_no_other(
    acme: RestNode,
) -> None:
    await done(acme, "PUT", f"{ADMIN}/tenants/new", {"adminRoles": ["chief"], "allowedClusters": ["standalone"]})
    await grant(acme, "tenants/new", "app", "consume")
    for role in ("chief", "app"):
        assert await seen(acme, f"{ADMIN}/tenants", role) == ["new"]
        assert await seen(acme, f"{ADMIN}/namespaces/new", role) == []
    assert await seen(acme, f"{ADMIN}/tenants", "boss") == ["acme"]
    assert await seen(acme, f"{ADMIN}/namespaces/new", "boss") == 403


async def test_one_of_several_roles_is_enough_to_know_of_a_namespace(acme: RestNode) -> None:
    await grant(acme, "persistent/acme/pay/orders", "app", "consume")
    rights = Rights(acme.node.engine)
    for others in (("app", "stranger", "guest"), ("boss", "stranger", "guest")):
        assert rights.touch_namespace(frozenset(others), "acme/pay")
    assert not rights.touch_namespace(frozenset({"stranger", "guest"}), "acme/pay")


@pytest.mark.parametrize("place", ["tenants/acme", "namespaces/acme/pay"])
async def test_a_yes_is_remembered_as_long_as_the_record_stands_that_says_it(
    acme: RestNode, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    await grant(acme, place, "app", "list-topics")
    rights, asked = Rights(acme.node.engine), (frozenset({"app"}), Permission.LIST_TOPICS, "acme/pay")
    assert rights.on_namespace(*asked)
    with monkeypatch.context() as unread:
        for decode in ("decode_namespace", "decode_tenant"):
            unread.delattr(f"topicfold.server.auth.rights.{decode}")
        assert rights.on_namespace(*asked)
    await done(acme, "DELETE", f"{ADMIN}/{place}/permissions/app")
    assert not rights.on_namespace(*asked)


async def test_no_more_than_so_many_yeses_are_remembered(acme: RestNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.server.auth.rights.MAX_REMEMBERED", 2)
    rights, remembered = Rights(acme.node.engine), list[int]()
    for role in ("ann", "bob", "eve", "joe"):
        assert rights.on_namespace(frozenset({"boss", role}), Permission.LIST_TOPICS, "acme/pay")
        remembered.append(len(rights._grounds))
    assert remembered == [1, 2, 1, 2]


async def test_what_is_not_there_or_cannot_be_read_gives_nobody_a_right(acme: RestNode) -> None:
    engine, boss = acme.node.engine, frozenset({"boss"})
    rights, tenants = Rights(engine), engine.states[engine.partition("acme")].tenants
    assert rights.touch_namespace(boss, "acme/nothing")
    assert not rights.touch_namespace(boss, "no/where")
    kept = tenants["acme"]
    tenants["acme"] = kept._replace(payload=b"\xff")
    assert not rights.touch_tenant(boss, "acme")
    assert not rights.on_tenant(boss, Permission.ADMIN, "acme")
    tenants["acme"] = kept


async def test_tenants_and_namespaces_are_listed_to_those_with_some_right_in_them(acme: RestNode) -> None:
    await grant(acme, "persistent/acme/pay/orders", "app", "consume")
    await grant(acme, "namespaces/acme/hr", "hr", "watch")
    expected = {"root": ["acme", "public"], "boss": ["acme"], "app": ["acme"], "hr": ["acme"], "stranger": []}
    assert {role: await seen(acme, f"{ADMIN}/tenants", role) for role in expected} == expected
    both = ["acme/hr", "acme/pay"]
    expected = {"root": both, "boss": both, "app": ["acme/pay"], "hr": ["acme/hr"]}
    assert {role: await seen(acme, f"{ADMIN}/namespaces/acme", role) for role in expected} == expected


@pytest.mark.parametrize("path", ["tenants", "namespaces/acme"])
async def test_others_have_their_turn_while_it_is_looked_in_which_of_many_namespaces_a_role_has_a_right(
    acme: RestNode, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        await done(acme, "PUT", f"{ADMIN}/namespaces/acme/n{number}")
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    taken, asking = 0, asyncio.create_task(seen(acme, f"{ADMIN}/{path}", "stranger"))
    while not asking.done():
        await turns(1)
        taken += 1
    assert asking.result() in ([], 403)
    assert taken > 100


@pytest.mark.parametrize(
    ("method", "there", "not_there"),
    [
        ("GET", "persistent/acme/pay/orders/custom-labels", "persistent/acme/pay/nothing/custom-labels"),
        ("GET", "persistent/acme/pay/orders/retention", "persistent/no/where/orders/retention"),
        ("DELETE", "persistent/acme/pay/orders", "persistent/acme/pay/nothing"),
        ("PUT", "persistent/acme/pay/orders", "persistent/acme/pay/nothing"),
        ("GET", "namespaces/acme/pay", "namespaces/acme/nothing"),
        ("GET", "namespaces/acme", "namespaces/nothing"),
        ("GET", "tenants/acme", "tenants/nothing"),
        ("GET", "persistent/acme/pay", "persistent/acme/nothing"),
    ],
)
async def test_a_refusal_does_not_tell_whether_the_thing_exists(
    acme: RestNode, method: str, there: str, not_there: str
) -> None:
    said = []
    for path in (there, not_there):
        answer = await acme.send(method, f"{ADMIN}/{path}", authorization=bearer("stranger"))
        problem = answer.json()
        for name in ("acme", "pay", "orders", "nothing", "no/where", "where"):
            problem["reason"] = problem["reason"].replace(name, "*").replace("*/*", "*").replace("*/*", "*")
        said.append((answer.status_code, problem["reason"], sorted(problem), sorted(answer.headers)))
    assert said[0] == said[1]
    assert said[0][0] == 403


async def test_a_refusal_about_a_policy_is_in_pulsars_words(acme: RestNode) -> None:
    for method, path, words in (
        ("GET", "persistent/acme/pay/orders/retention", "TopicPolicyOperation for operation [READ] on topic "
         "[persistent://acme/pay/orders] on policy [RETENTION]"),
        ("POST", "topics/acme/pay/orders/messageTTL?messageTTL=1&isGlobal=true", "TopicPolicyOperation for operation "
         "[WRITE] on topic [persistent://acme/pay/orders] on policy [TTL]"),
        ("POST", "namespaces/acme/pay/messageTTL", "NamespacePolicyOperation for operation [WRITE] on namespace "
         "[acme/pay] on policy [TTL]"),
    ):  # fmt: skip
        answer = await acme.send(method, f"{ADMIN}/{path}", authorization=bearer("stranger"))
        assert (answer.status_code, answer.json()["reason"]) == (403, f"Unauthorized to validate{words}")


async def test_who_asks_comes_before_what_they_may_and_that_before_what_they_sent(acme: RestNode) -> None:
    path = f"{ADMIN}/persistent/acme/pay/nothing/custom-labels?x=%FF"
    assert (await acme.send("POST", path, b"{")).status_code == 401
    assert (await acme.send("POST", path, b"{", authorization=bearer("stranger"))).status_code == 403
    assert (await acme.send("POST", path, b"{", authorization=bearer("root"))).status_code == 400
    broken = f"{ADMIN}/persistent/acme/pay/%FF/custom-labels"
    assert (await acme.send("POST", broken, b"{", authorization=bearer("stranger"))).status_code == 412


@pytest.mark.parametrize("place", ["persistent/acme/pay/orders", "namespaces/acme/pay", "tenants/acme"])
async def test_a_right_that_is_taken_away_is_gone_at_once(acme: RestNode, place: str) -> None:
    path = f"{ADMIN}/persistent/acme/pay/orders/custom-labels"
    for _ in range(2):
        await grant(acme, place, "app", "read-policies")
        assert [await seen(acme, path, "app") for _ in range(2)] == [{"team": "pay"}] * 2
        await done(acme, "DELETE", f"{ADMIN}/{place}/permissions/app")
        assert await seen(acme, path, "app") == 403


async def test_rights_in_a_namespace_end_with_it(acme: RestNode) -> None:
    await grant(acme, "namespaces/acme/hr", "app", "admin")
    path = f"{ADMIN}/namespaces/acme/hr"
    assert (await acme.send("GET", path, authorization=bearer("app"))).status_code == 200
    await done(acme, "DELETE", f"{path}?force=true")
    assert await seen(acme, path, "app") == 403
    await done(acme, "PUT", path)
    assert await seen(acme, path, "app") == 403


async def test_an_admin_who_is_no_longer_named_is_none(acme: RestNode) -> None:
    path = f"{ADMIN}/persistent/acme/pay/orders/custom-labels"
    assert await seen(acme, path, "boss") == {"team": "pay"}
    await done(acme, "POST", f"{ADMIN}/tenants/acme", {"adminRoles": ["other"], "allowedClusters": ["standalone"]})
    assert await seen(acme, path, "boss") == 403


async def test_rights_on_a_topic_end_with_it(acme: RestNode) -> None:
    path = f"{ADMIN}/persistent/acme/pay/orders"
    await grant(acme, "persistent/acme/pay/orders", "app", "admin")
    await done(acme, "DELETE", path, role="app")
    await done(acme, "PUT", path)
    assert await seen(acme, f"{path}/custom-labels", "app") == 403


async def test_a_partition_is_under_its_topics_grants(acme: RestNode) -> None:
    await grant(acme, "persistent/acme/pay/bills", "app", "consume")
    path = f"{ADMIN}/persistent/acme/pay/bills-partition-1"
    assert (await seen(acme, f"{path}/partitions", "app"))["partitions"] == 0
    assert await seen(acme, f"{path}/custom-labels", "app") == 403
    assert await seen(acme, f"{ADMIN}/persistent/acme/pay/orders-partition-1/partitions", "app") == 403


async def test_who_may_only_list_sees_names_labels_partitions_and_the_kafka_topic(acme: RestNode) -> None:
    made = {"kafkaName": "legacy", "properties": {"secret": "x"}, "labels": {"team": "pay"}}
    await done(acme, "PUT", "/api/v1/topics/acme/pay/legacy", made)
    partitions = f"{ADMIN}/persistent/acme/pay/legacy/partitions"
    await grant(acme, "persistent/acme/pay/legacy", "app", "list-topics")
    [item] = (await seen(acme, f"{FIND}&fields=record", "app"))["items"]
    assert item.keys() == {"name", "labels", "partitions", "version", "position", "etag", "kafkaName"}
    assert "properties" not in await seen(acme, partitions, "app")
    await grant(acme, "persistent/acme/pay/legacy", "app", "list-topics", "read-policies")
    assert (await seen(acme, partitions, "app"))["properties"] == {"secret": "x"}


async def test_making_a_topic_with_labels_needs_the_right_to_change_them(acme: RestNode) -> None:
    await grant(acme, "namespaces/acme/pay", "maker", "manage-topics")
    path = "/api/v1/topics/acme/pay/new"
    for body in ({"labels": {"team": "pay"}}, {"policies": {"local": {"maxConsumerPerTopic": 1}}}):
        assert (await acme.send("PUT", path, body, authorization=bearer("maker"))).status_code == 403
    assert (await acme.send("PUT", path, {}, authorization=bearer("maker"))).status_code == 201


async def test_policies_of_all_clusters_need_an_admin_wherever_they_are_named(acme: RestNode) -> None:
    await grant(acme, "namespaces/acme/pay", "editor", "manage-topics", "read-policies", "update-policies")
    body = {"policies": {"global": {"maxConsumerPerTopic": 1}}}
    for named in (body | {"x": 1}, {"policies": {"global": None}}, {"policies": None}):
        answer = await acme.send("PATCH", "/api/v1/topics/acme/pay/orders", named, authorization=bearer("editor"))
        assert answer.status_code == 403
    for method, topic in (("PATCH", "orders"), ("PUT", "new")):
        answer = await acme.send(method, f"/api/v1/topics/acme/pay/{topic}", body, authorization=bearer("editor"))
        assert answer.status_code == 403
    await done(acme, "POST", f"{ADMIN}/persistent/acme/pay/orders/maxConsumers", 7, role="editor")
    body = {"policies": {"local": {"maxConsumerPerTopic": 1}}, "labels": {}}
    answer = await acme.send("PATCH", "/api/v1/topics/acme/pay/orders", body, authorization=bearer("editor"))
    assert (answer.status_code, answer.content) == (204, b"")


async def test_the_same_idempotency_key_of_two_principals_is_two_operations(acme: RestNode) -> None:
    path = f"{ADMIN}/persistent/acme/pay/orders/custom-labels"
    made = [
        await acme.done("POST", path, {"labels": {"by": role}}, authorization=bearer(role), idempotency_key="1")
        for role in ("root", "boss")
    ]
    assert len({answer.headers["x-operation-id"] for answer in made}) == 2
    assert (await seen(acme, path, "root"))["by"] == "boss"


@pytest.fixture
async def two(store: MemoryStore, key_file: Path) -> AsyncIterator[list[RestNode]]:
    """Two nodes on one log."""
    told = {"auth_jwt_key_file": key_file, "superusers": ("root",)}
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(rest_node(store, number * 10**9, **told)) for number in (1, 2)]


@pytest.mark.parametrize(("place", "below"), [*combinations_with_replacement(PLACES, 2)])
async def test_a_right_granted_on_one_node_holds_on_another_at_once_there_and_below(
    two: list[RestNode], place: str, below: str
) -> None:
    await make_acme(two[0])
    await two[1].node.caught_up()
    two[1].node.log.pause()
    await grant(two[0], place, "app", "admin")
    asking = asyncio.create_task(seen(two[1], f"{ADMIN}/{below}/permissions", "app"))
    await turns()
    two[1].node.log.resume()
    assert await asking != 403


async def test_a_node_that_has_not_folded_the_grants_yet_says_so_and_refuses_nobody(key_file: Path) -> None:
    store = MemoryStore(8)
    async with rest_node(store, auth_jwt_key_file=key_file, superusers=("root",)) as first:
        await make_acme(first)
        await grant(first, "namespaces/acme/pay", "app", "list-topics")
    log = WilfulLog(store)
    log.pause()
    engine = await Engine.start(log, EngineOptions(ready_timeout_seconds=0))
    transport = httpx2.ASGITransport(create_app(engine, Settings(auth_jwt_key_file=key_file)))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answer = await client.get(FIND, headers={"authorization": bearer("app")})
    await engine.stop()
    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")


async def test_nobody_is_let_in_by_what_a_node_has_found_to_be_wrong_in_its_memory(acme: RestNode) -> None:
    path, engine = f"{ADMIN}/namespaces/acme/pay", acme.node.engine
    assert engine.partition("acme") != engine.partition("acme/pay")
    assert (await acme.send("GET", path, authorization=bearer("boss"))).status_code == 200
    engine.readiness.close(engine.partition("acme"))
    engine.reader.stop(StateDiverged("a bit has flipped"), engine.partition("acme"))
    assert await acme.problem("GET", path, authorization=bearer("boss")) == (503, "not_ready")


@pytest.mark.parametrize(
    ("place", "asked", "command"),
    [
        ("persistent/acme/pay/orders", "/maxProducers", f"topics {APP} update-policies,read-policies {OF_TOPIC}orders"),
        ("namespaces/acme/pay", "/retention", f"namespaces {APP} update-policies,read-policies acme/pay"),
        ("tenants/acme", "", f"tenants {APP} update-policies,admin acme"),
    ],
)
async def test_what_a_refusal_tells_an_admin_to_type_keeps_what_the_role_has_there(
    acme: RestNode, place: str, asked: str, command: str
) -> None:
    await grant(acme, place, "app", "update-policies")
    refused = (await acme.send("GET", f"{ADMIN}/{place}{asked}", authorization=bearer("app"))).json()
    assert (refused["code"], refused["hint"].partition(": ")[2]) == ("forbidden", f"topicfold {command}")


@pytest.mark.parametrize(
    ("method", "asked", "place", "command"),
    [
        ("PUT", "orders/properties", "persistent/acme/pay/orders", f"topics {APP} update-policies {OF_TOPIC}orders"),
        ("PUT", "orders/shadowTopics", "persistent/acme/pay/orders", f"topics {APP} update-policies {OF_TOPIC}orders"),
        (
            "GET",
            "bills-partition-1/partitions",
            "persistent/acme/pay/bills",
            f"topics {APP} list-topics {OF_TOPIC}bills",
        ),
        ("PUT", "new", "namespaces/acme/pay", f"namespaces {APP} manage-topics acme/pay"),
        ("DELETE", "orders", "persistent/acme/pay/orders", f"topics {APP} manage-topics {OF_TOPIC}orders"),
    ],
)
async def test_what_a_refusal_tells_an_admin_to_type_is_about_no_more_than_what_was_asked_for_and_helps(
    acme: RestNode, method: str, asked: str, place: str, command: str
) -> None:
    path = f"{ADMIN}/persistent/acme/pay/{asked}"
    hint = (await acme.send(method, path, authorization=bearer("app"))).json()["hint"]
    assert hint.partition(": ")[2] == f"topicfold {command}"
    await grant(acme, place, "app", command.split()[-2])
    assert (await acme.send(method, path, authorization=bearer("app"))).status_code != 403


def test_what_an_admin_is_told_to_type_names_no_role_of_whoever_is_called_otherwise() -> None:
    named, unnamed = (Principal(name, frozenset({"ops team"})) for name in ("ops team", "ann"))
    hints = [remedy_on("tenant", "acme", each, Permission.ADMIN, ("list-topics",)) for each in (named, unnamed)]
    assert hints == [
        "An admin of the tenant can grant admin: topicfold tenants grant-permission --role 'ops team' "
        "--actions list-topics,admin acme",
        "An admin of the tenant can grant admin (it replaces what was granted there): "
        "topicfold tenants grant-permission --role ROLE --actions admin acme",
    ]


def test_a_name_that_begins_like_an_option_is_none_in_what_an_admin_is_told_to_type() -> None:
    hint = remedy_on("tenant", "-acme", Principal("ann", frozenset({"ann"})), Permission.ADMIN, ())
    assert hint.endswith("topicfold tenants grant-permission --role ann --actions admin -- -acme")
