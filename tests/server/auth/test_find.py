"""Finding with some rights: what may not be listed is neither shown nor counted, nor hinted at."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from tests.server.auth.acme import FIND, done, grant, make_acme, seen
from tests.server.auth.conftest import bearer
from tests.server.rest import RestNode

ORDERS = "persistent://acme/pay/orders"


@pytest.fixture
async def acme(closed: RestNode) -> RestNode:
    """A node with labelled topics in `acme/pay`, of which `app` may list one."""
    await make_acme(closed)
    await grant(closed, "persistent/acme/pay/orders", "app", "list-topics")
    return closed


@pytest.mark.parametrize("condition", ["", "&labelSelector=team", "&regex=.*", "&match=*", "&limit=1"])
async def test_what_may_not_be_listed_is_neither_shown_nor_counted(acme: RestNode, condition: str) -> None:
    answer = await seen(acme, FIND + condition, "app")
    assert [item["name"] for item in answer["items"]] == [ORDERS]
    assert answer["counts"] == {"matched": 1, "namespaces": {"acme/pay": 1}}
    assert "continue" not in answer


async def test_the_hash_is_that_of_what_one_may_list(acme: RestNode) -> None:
    path = f"{FIND}&topics_hash="
    assert (await seen(acme, path, "app"))["hash"] != (await seen(acme, path, "boss"))["hash"]


async def test_an_explanation_knows_only_of_what_one_may_list(acme: RestNode) -> None:
    path = "/api/v1/explain?namespace=acme/pay&labelSelector=team!=taxx"
    answer = await seen(acme, path, "app")
    assert (answer["topics"], answer["matched"], answer["requirements"][0]["misses"][0]["near"]) == (1, 1, [])
    assert (await seen(acme, path, "boss"))["requirements"][0]["misses"][0]["near"] == ["tax"]


async def test_an_explanation_knows_no_more_where_the_namespace_has_topics_of_the_system(acme: RestNode) -> None:
    await done(acme, "PUT", "/admin/v2/persistent/acme/pay/__change_events")
    answer = await seen(acme, "/api/v1/explain?namespace=acme/pay&labelSelector=team", "app")
    assert (answer["topics"], answer["matched"]) == (1, 1)


async def test_the_kafka_topic_is_told_to_whoever_may_list_the_topic(acme: RestNode) -> None:
    await done(acme, "PUT", "/api/v1/topics/acme/pay/legacy", {"kafkaName": "legacy"})
    await grant(acme, "persistent/acme/pay/legacy", "app", "list-topics")
    for query in (f"{FIND}&match=legacy", f"{FIND}&match=legacy&fields=record"):
        for who in ("app", "boss"):
            assert [each["kafkaName"] for each in (await seen(acme, query, who))["items"]] == ["legacy"]


async def test_one_principal_has_so_many_long_answers_at_once_and_no_more(
    acme: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.server.finding.find.MAX_PAGE", 2)
    monkeypatch.setattr("topicfold.server.connections.long_answer.MAX_LONG_ANSWERS_OF_ONE", 1)
    meanwhile: list[object] = []

    async def ask_meanwhile(request: object) -> bool:
        if next(first, False):
            meanwhile.extend([await seen(acme, FIND, who) for who in ("boss", "root")])
        return False

    first = iter([True])
    monkeypatch.setattr(Request, "is_disconnected", ask_meanwhile)
    answer = await seen(acme, FIND, "boss")
    assert meanwhile == [503, answer]
    assert await seen(acme, FIND, "boss") == answer


async def test_the_metric_tells_of_the_topics_that_the_role_may_list(acme: RestNode) -> None:
    await grant(acme, "persistent/acme/pay/orders", "app", "consume")
    path = "/api/v1/metrics/labels?key=team&namespace="

    async def told(place: str, role: str) -> set[str] | int:
        answer = await acme.send("GET", path + place, authorization=bearer(role))
        lines = answer.text.splitlines()[2:]
        return {each.split('"')[1] for each in lines} if answer.status_code == 200 else answer.status_code

    for _ in range(2):
        assert await told("acme/pay", "app") == {"acme..pay..orders"}
        assert await told("acme/*", "app") == await told("*", "boss") == 403
        assert await told("acme/hr", "boss") == {"acme..hr..people"}
        assert len(await told("*", "root")) == 4
