"""Topics under `/api/v1`."""

from __future__ import annotations

import pytest

from tests.builders import TOPIC, topic_put
from tests.memory_log import MemoryStore
from tests.server.rest import LABELS, NATIVE, RestNode
from topicfold.log.codec import encode_event
from topicfold.model.events import AggregateKind
from topicfold.wire.resources import TopicItem


async def test_a_topic_is_made_whole_and_read_back(rest: RestNode) -> None:
    body = {"partitions": 3, "kafkaName": "Orders.v1", "properties": {"a": "b"}, "labels": {"team": "pay"}}
    answer = await rest.done("PUT", NATIVE, body)
    item = answer.json()
    assert answer.status_code == 201
    assert item == {
        "name": "persistent://public/default/orders",
        "etag": answer.headers["etag"].strip('"'),
        "policies": {"local": None, "global": None},
        **body,
    }
    assert await rest.get(NATIVE) == item
    TopicItem.model_validate(item)
    assert await rest.problem("PUT", NATIVE, body) == (409, "already_exists")


async def test_no_body_makes_a_plain_topic(rest: RestNode) -> None:
    item = (await rest.done("PUT", NATIVE)).json()
    assert (item["partitions"], item["kafkaName"], item["labels"]) == (0, None, {})


async def test_a_whole_number_of_partitions_may_be_written_with_a_fraction_of_zero(rest: RestNode) -> None:
    assert (await rest.done("PUT", NATIVE, {"partitions": 2.0})).json()["partitions"] == 2


async def test_either_kind_is_deleted_alike(rest: RestNode) -> None:
    for partitions in (0, 2):
        await rest.done("PUT", NATIVE, {"partitions": partitions})
        await rest.done("DELETE", NATIVE)
    assert await rest.problem("GET", NATIVE) == (404, "topic_not_found")
    assert await rest.problem("DELETE", NATIVE) == (404, "topic_not_found")


@pytest.mark.parametrize(
    ("body", "place"), [(5, "the body"), ({"labels": 5}, "labels"), ({"policies": []}, "policies")]
)
async def test_what_is_no_object_is_told_so_in_words_of_json(rest: RestNode, body: object, place: str) -> None:
    for method in ("PUT", "PATCH"):
        answer = await rest.send(method, NATIVE, body)
        assert (answer.status_code, answer.json()["reason"]) == (400, f"{place}: must be an object")


async def test_the_domain_is_a_parameter(rest: RestNode) -> None:
    item = (await rest.done("PUT", f"{NATIVE}?domain=non-persistent")).json()
    assert item["name"] == "non-persistent://public/default/orders"
    assert await rest.problem("GET", NATIVE) == (404, "topic_not_found")
    assert await rest.problem("GET", f"{NATIVE}?domain=topics") == (400, "invalid_request")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"partitons": 1}, "partitons"),
        ({"partitions": -1}, "partitions"),
        ({"partitions": True}, "partitions"),
        ({"partitions": "3"}, "partitions"),
        ({"partitions": 2.5}, "partitions"),
        ({"partitions": 10_001}, "partitions"),
        ({"kafkaName": "a b"}, "kafkaName"),
        ({"kafkaName": 5}, "kafkaName"),
        ({"kafka_name": "Orders.v1"}, "kafka_name"),
        ({"policies": {"global_": {}}}, "policies.global_"),
        ({"labels": {"a": 1}}, "labels.a"),
        ({"properties": {"a": None}}, "properties.a"),
        ({"properties": []}, "properties"),
    ],
)
async def test_each_thing_wrong_with_a_record_is_named_by_its_path(rest: RestNode, body: object, path: str) -> None:
    answer = await rest.send("PUT", NATIVE, body)
    assert answer.status_code == 400
    assert [violation["path"] for violation in answer.json()["violations"]] == [path]


async def test_all_that_is_wrong_with_a_record_is_said_at_once(rest: RestNode) -> None:
    answer = await rest.send("PUT", NATIVE, {"partitons": 1, "partitions": -1, "labels": {"a": 1, "b": None}})
    paths = [violation["path"] for violation in answer.json()["violations"]]
    assert sorted(paths) == ["labels.a", "labels.b", "partitions", "partitons"]
    assert "did you mean partitions?" in answer.json()["reason"]


async def test_labels_of_a_new_topic_keep_the_rules(rest: RestNode) -> None:
    assert await rest.problem("PUT", NATIVE, {"labels": {"-a": "x"}}) == (400, "invalid_labels")


async def test_a_partitions_name_is_400(rest: RestNode) -> None:
    assert await rest.problem("PUT", f"{NATIVE}-partition-0") == (400, "invalid_name")


async def test_a_topic_whose_record_cannot_be_read_is_listed_as_such(orders: RestNode, store: MemoryStore) -> None:
    state = orders.node.engine.states[3]
    current = state.current(AggregateKind.TOPIC, TOPIC)
    namespace_id = state.namespaces["public/default"].incarnation
    store.append(3, encode_event(topic_put(7, namespace_id, current.version, payload=b"\xff")))
    await orders.node.caught_up()
    item = await orders.get(NATIVE)
    assert (item["undecodable"], item["labels"]) == (True, {})
    assert (await orders.get("/api/v1/topics?label=team=pay"))["items"] == []
    assert await orders.problem("POST", LABELS, {"labels": {"a": "b"}}) == (409, "undecodable")
    await orders.done("DELETE", NATIVE)
