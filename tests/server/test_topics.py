"""Topics under `/admin/v2`."""

from __future__ import annotations

import pytest

from tests.server.rest import LABELS, ORDERS, RestNode

LIST = "/admin/v2/persistent/public/default"
FULL = "persistent://public/default/"
LOGS = f"{LIST}/logs"


async def labelled(rest: RestNode, **topics: dict[str, str]) -> None:
    """Make topics with labels."""
    for name, labels in topics.items():
        await rest.done("PUT", f"{LIST}/{name}")
        await rest.done("POST", f"{LIST}/{name}/custom-labels", {"labels": labels})


async def test_a_topic_is_made_once(rest: RestNode) -> None:
    await rest.done("PUT", ORDERS)
    assert await rest.problem("PUT", ORDERS) == (409, "already_exists")
    assert await rest.get(LIST) == [f"{FULL}orders"]


@pytest.mark.parametrize("media_type", ["text/plain", "application/json; charset=UTF-8", "text/plain;charset=utf-8"])
async def test_properties_may_come_with_a_new_topic(rest: RestNode, media_type: str) -> None:
    await rest.done("PUT", ORDERS, b'{"owner":"a","n":5,"live":true}', content_type=media_type)
    answer = await rest.get(f"{ORDERS}/partitions")
    assert answer == {"partitions": 0, "deleted": False, "properties": {"owner": "a", "n": "5", "live": "true"}}


@pytest.mark.parametrize("media_type", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
async def test_a_form_is_415(rest: RestNode, media_type: str) -> None:
    assert await rest.problem("PUT", ORDERS, b"a=b", content_type=media_type) == (415, "unsupported_media_type")


@pytest.mark.parametrize("body", [[1], "text", 5, {"n": None}, {"n": {"m": 1}}])
async def test_properties_that_are_no_texts_are_400(rest: RestNode, body: object) -> None:
    assert await rest.problem("PUT", ORDERS, body) == (400, "invalid_request")


async def test_a_deleted_topic_is_gone_with_its_labels(orders: RestNode) -> None:
    await orders.done("DELETE", f"{ORDERS}?force=true")
    assert await orders.problem("DELETE", ORDERS) == (404, "topic_not_found")
    await orders.done("PUT", ORDERS)
    assert await orders.get(LABELS) == {}


@pytest.mark.parametrize("body", [b"3", b'"3"', b'{"partitions":3,"properties":{}}'])
async def test_a_partitioned_topic_is_listed_as_its_partitions(rest: RestNode, body: bytes) -> None:
    await rest.done("PUT", f"{LOGS}/partitions", body)
    assert await rest.get(f"{LOGS}/partitions") == {"partitions": 3, "deleted": False}
    assert await rest.get(LIST) == [f"{FULL}logs-partition-{number}" for number in range(3)]
    assert await rest.get(f"{LIST}/partitioned") == [f"{FULL}logs"]


async def test_pulsars_media_type_for_partitions_is_taken(rest: RestNode) -> None:
    media_type = "application/vnd.partitioned-topic-metadata+json"
    await rest.done("PUT", f"{LOGS}/partitions", b'{"partitions":2,"properties":{"a":"b"}}', content_type=media_type)
    assert (await rest.get(f"{LOGS}/partitions"))["properties"] == {"a": "b"}


@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize("number", [0, -1, "-3", 10_001])
async def test_a_number_of_partitions_that_cannot_be_is_406(rest: RestNode, method: str, number: object) -> None:
    assert await rest.problem(method, f"{LOGS}/partitions", number) == (406, "not_acceptable")


async def test_the_reason_for_zero_partitions_is_pulsars(rest: RestNode) -> None:
    answer = await rest.send("PUT", f"{LOGS}/partitions", 0)
    assert answer.json()["reason"] == "Number of partitions should be more than 0"


@pytest.mark.parametrize("body", [None, 1.9, True, "two", [], {}, b"99999999999999999999"])
async def test_partitions_that_are_no_number_are_400(rest: RestNode, body: object) -> None:
    assert await rest.problem("PUT", f"{LOGS}/partitions", body) == (400, "invalid_request")


async def test_a_number_of_partitions_with_a_fraction_is_told(rest: RestNode) -> None:
    answer = await rest.send("PUT", f"{LOGS}/partitions", 2.5)
    assert answer.json()["reason"] == "the body must be a whole number of partitions, not 2.5"


@pytest.mark.parametrize("body", [3, "3", 3.0])
async def test_a_whole_number_of_partitions_is_one_however_it_is_written(rest: RestNode, body: object) -> None:
    await rest.done("PUT", f"{LOGS}/partitions", body)
    assert (await rest.get(f"{LOGS}/partitions"))["partitions"] == 3


async def test_partitions_only_grow(rest: RestNode) -> None:
    await rest.done("PUT", f"{LOGS}/partitions", 2)
    await rest.done("POST", f"{LOGS}/partitions", 4)
    assert await rest.problem("POST", f"{LOGS}/partitions", 3) == (422, "fewer_partitions")
    assert (await rest.get(f"{LOGS}/partitions"))["partitions"] == 4


async def test_only_a_partitioned_topic_grows(orders: RestNode) -> None:
    assert await orders.problem("POST", f"{ORDERS}/partitions", 3) == (409, "wrong_kind")
    assert await orders.problem("POST", f"{LOGS}/partitions", 3) == (409, "wrong_kind")


async def test_partitions_of_a_plain_topic_are_none_and_of_a_missing_one_404(orders: RestNode) -> None:
    assert await orders.get(f"{ORDERS}/partitions") == {"partitions": 0, "deleted": False}
    assert await orders.problem("GET", f"{LOGS}/partitions") == (404, "topic_not_found")


async def test_each_kind_is_deleted_by_its_own_route(orders: RestNode) -> None:
    await orders.done("PUT", f"{LOGS}/partitions", 2)
    assert await orders.problem("DELETE", LOGS) == (409, "wrong_kind")
    assert await orders.problem("DELETE", f"{ORDERS}/partitions") == (409, "wrong_kind")
    await orders.done("DELETE", f"{LOGS}/partitions")
    assert await orders.problem("DELETE", f"{LOGS}/partitions") == (404, "topic_not_found")


async def test_a_partitions_name_is_no_name_for_a_topic(rest: RestNode) -> None:
    await rest.done("PUT", f"{LOGS}/partitions", 2)
    assert await rest.problem("PUT", f"{LOGS}-partition-1") == (409, "already_exists")
    assert await rest.problem("PUT", f"{LOGS}-partition-2") == (412, "invalid_name")
    assert await rest.problem("PUT", f"{ORDERS}-partition-0") == (412, "invalid_name")
    assert await rest.problem("PUT", f"{ORDERS}-partition-0/partitions", 2) == (412, "invalid_name")
    assert await rest.problem("DELETE", f"{LOGS}-partition-0") == (412, "invalid_name")


@pytest.mark.parametrize(
    "query",
    [
        "custome-labels=team:pay,tier:gold",
        "custom-labels=team:pay,tier:gold",
        "custom-labels=team=pay,tier=gold",
        "customLabels=team:pay&customLabels=tier=gold",
        "custom-labels=team%3Apay%2Ctier%3Agold&properties=a=b&bundle=x",
    ],
)
async def test_topics_are_listed_by_label_in_every_spelling(rest: RestNode, query: str) -> None:
    await labelled(rest, a={"team": "pay", "tier": "gold"}, b={"team": "pay"}, c={"tier": "gold"})
    assert await rest.get(f"{LIST}?{query}") == [f"{FULL}a"]
    assert await rest.get(f"/admin/v2/topics/public/default?{query}") == [f"{FULL}a"]
    assert await rest.get(f"/admin/v2/namespaces/public/default/topics?{query}") == [f"{FULL}a"]


async def test_a_value_with_commas_and_colons_is_found_by_repeated_parameters(rest: RestNode) -> None:
    await labelled(rest, a={"note": "x,y:z", "team": "pay"}, b={"team": "pay"})
    assert await rest.get(f"{LIST}?custom-labels=note:x,y:z&custom-labels=team:pay") == [f"{FULL}a"]


async def test_partitioned_topics_are_listed_by_label(rest: RestNode) -> None:
    await rest.done("PUT", f"{LOGS}/partitions", 2)
    await rest.done("POST", f"{LOGS}/custom-labels", {"labels": {"team": "pay"}})
    assert await rest.get(f"{LIST}/partitioned?custom-labels=team:pay") == [f"{FULL}logs"]
    assert await rest.get(f"{LIST}/partitioned?custom-labels=team:none") == []


@pytest.mark.parametrize("query", ["custom-labels=team", "custom-labels=a:1,a:2", "custom-labels=%ff", "x&" * 201])
async def test_a_malformed_filter_is_400(rest: RestNode, query: str) -> None:
    assert await rest.problem("GET", f"{LIST}?{query}") == (400, "invalid_request")


async def test_topics_of_a_missing_namespace_are_404(rest: RestNode) -> None:
    assert await rest.problem("GET", "/admin/v2/persistent/no/such") == (404, "namespace_not_found")


async def test_a_plus_in_a_topics_name_is_a_space(rest: RestNode) -> None:
    await rest.done("PUT", f"{LIST}/a+c")
    assert await rest.problem("PUT", f"{LIST}/a%20c") == (409, "already_exists")
    assert await rest.get(LIST) == [f"{FULL}a c"]
    await rest.done("PUT", f"{LIST}/a%2Bc")
    assert await rest.get(LIST) == [f"{FULL}a c", f"{FULL}a+c"]


async def test_a_topic_may_be_called_partitioned(rest: RestNode) -> None:
    await rest.done("PUT", f"{LIST}/partitioned")
    assert await rest.get(LIST) == [f"{FULL}partitioned"]


async def test_a_misspelt_label_filter_is_refused_rather_than_passed_over(rest: RestNode) -> None:
    assert await rest.problem("GET", f"{LIST}?custom_labels=team:pay") == (400, "invalid_request")


async def test_a_partitioned_topic_is_not_called_like_a_partition(rest: RestNode) -> None:
    odd = f"{LIST}/x-partition-y"
    for method, body in (("PUT", 2), ("POST", 3), ("DELETE", None)):
        assert await rest.problem(method, f"{odd}/partitions", body) == (412, "invalid_name")
    await rest.done("PUT", odd)
    await rest.done("DELETE", odd)


async def test_a_client_that_may_make_a_topic_is_told_that_it_would_be_plain_and_nothing_is_made(
    rest: RestNode,
) -> None:
    path = f"{LOGS}/partitions?checkAllowAutoCreation=true&authoritative=false"
    assert await rest.get(path) == {"partitions": 0, "deleted": False}
    assert await rest.get(LIST) == []
    await rest.done("PUT", f"{LOGS}/partitions", 2)
    assert (await rest.get(path))["partitions"] == 2
    missing = "/admin/v2/persistent/no/such/logs/partitions?checkAllowAutoCreation=true"
    assert await rest.problem("GET", missing) == (404, "namespace_not_found")


async def test_a_partition_has_no_partitions(rest: RestNode) -> None:
    await rest.done("PUT", f"{LOGS}/partitions", 2)
    assert await rest.get(f"{LOGS}-partition-1/partitions") == {"partitions": 0, "deleted": False}
    assert await rest.problem("GET", f"{LOGS}-partition-2/partitions") == (404, "topic_not_found")
    await rest.done("DELETE", f"{LOGS}/partitions")
    assert await rest.problem("GET", f"{LOGS}-partition-1/partitions") == (404, "topic_not_found")
