"""Every policy of topics through REST, the cases made from the table."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.memory_log import MemoryStore
from tests.server.policy_samples import (
    IN_BODY,
    OF_ALL_CLUSTERS,
    POLICIES,
    SAMPLES,
    of_domain,
    path_of,
    setting,
    unset_answer,
)
from tests.server.rest import ORDERS, RestNode, problem_in, rest_node
from topicfold.model.names import DOMAINS, parse_topic
from topicfold.model.policy.changes import change_namespace, set_value
from topicfold.model.policy.description import Policy
from topicfold.model.policy.table import BY_NAME

NAMESPACE = "public/default"
CLUSTERS = ("standalone", "east")


def each_of(policies: list[Policy]) -> Any:
    """Return the decorator that runs a test for each policy."""
    return pytest.mark.parametrize("policy", policies, ids=lambda policy: policy.name)


@pytest.fixture
async def rest(store: MemoryStore) -> AsyncIterator[RestNode]:
    """A node with the topics `orders`, of both domains, and `shadow`, in a namespace on two clusters."""
    async with rest_node(store, clusters=CLUSTERS) as made:
        for domain in DOMAINS:
            await made.done("PUT", of_domain(domain))
        await made.done("PUT", "/admin/v2/persistent/public/default/shadow")
        await say_of_namespace(made, "replicationClusters", CLUSTERS)
        yield made


async def say_of_namespace(rest: RestNode, policy: str, value: Any) -> None:
    """Set a policy of the namespace."""
    node = rest.node
    await node.writing.change_namespace(NAMESPACE, change_namespace(NAMESPACE, set_value(policy, value)), node.asked())


async def put(rest: RestNode, policy: Policy, value: Any, query: str = "", topic: str = ORDERS) -> httpx2.Response:
    """Send the request that sets a policy."""
    path, body = setting(policy, value)
    mark = "&" if "?" in path else "?"
    return await rest.send(policy.topic.method, f"{topic}/{path}{mark}{query}", body)


async def shown(rest: RestNode, policy: Policy, query: str = "", topic: str = ORDERS) -> tuple[int, str | None, Any]:
    """Return status, content type and JSON of the answer to a GET."""
    answer = await rest.send("GET", f"{topic}/{path_of(policy, reading=True)}?{query}")
    return answer.status_code, answer.headers.get("content-type"), answer.json() if answer.content else None


def test_every_policy_of_the_table_has_a_sample() -> None:
    assert SAMPLES.keys() == BY_NAME.keys()


# Only persistent topics have shadow topics.
EVERYWHERE = [
    (policy, domain)
    for policy in POLICIES
    for domain in (*DOMAINS, "topics")
    if (policy.name, domain) != ("shadowTopics", "non-persistent")
]


@pytest.mark.parametrize(("policy", "domain"), EVERYWHERE, ids=lambda each: getattr(each, "name", each))
async def test_a_policy_is_set_read_and_removed(rest: RestNode, policy: Policy, domain: str) -> None:
    topic, sample = of_domain(domain), SAMPLES[policy.name]
    assert await shown(rest, policy, topic=topic) == unset_answer(policy)
    answer = await put(rest, policy, sample.stated, topic=topic)
    assert (answer.status_code, answer.content, "content-type" in answer.headers) == (204, b"", False)
    assert await shown(rest, policy, topic=topic) == (200, "application/json", sample.shown)
    answer = await rest.send("DELETE", f"{topic}/{path_of(policy)}")
    if policy.topic.can_remove:
        assert (answer.status_code, answer.content) == (204, b"")
        assert await shown(rest, policy, topic=topic) == unset_answer(policy, had_some=True)
    else:
        assert answer.status_code == 405


@each_of(POLICIES)
async def test_an_unset_answer_says_that_its_body_is_empty(rest: RestNode, policy: Policy) -> None:
    status, media_type, _ = unset_answer(policy)
    answer = await rest.send("GET", f"{ORDERS}/{path_of(policy, reading=True)}")
    if (status, media_type) == (200, None):
        assert (answer.headers["content-length"], answer.content) == ("0", b"")


@each_of(OF_ALL_CLUSTERS)
async def test_the_policies_of_all_clusters_are_apart_from_those_of_this_one(rest: RestNode, policy: Policy) -> None:
    sample = SAMPLES[policy.name]
    assert (await put(rest, policy, sample.stated, "isGlobal=true")).status_code == 204
    assert await shown(rest, policy) == unset_answer(policy)
    assert await shown(rest, policy, "isGlobal=true") == (200, "application/json", sample.shown)
    assert (await put(rest, policy, sample.other)).status_code == 204
    assert await shown(rest, policy, "isGlobal=true") == (200, "application/json", sample.shown)
    await rest.done("DELETE", f"{ORDERS}/{path_of(policy)}?isGlobal=true")
    assert await shown(rest, policy, "isGlobal=true") == unset_answer(policy, had_some=True)
    assert (await shown(rest, policy))[2] is not None


@each_of([policy for policy in POLICIES if not policy.topic.has_global])
async def test_where_there_is_no_scope_the_parameter_is_passed_over(rest: RestNode, policy: Policy) -> None:
    assert (await put(rest, policy, SAMPLES[policy.name].stated, "isGlobal=true")).status_code == 204
    assert (await shown(rest, policy))[2] == SAMPLES[policy.name].shown


@each_of(POLICIES)
async def test_applied_answers_the_nodes_default_where_nothing_is_set(rest: RestNode, policy: Policy) -> None:
    applied = SAMPLES[policy.name].applied
    expected = unset_answer(policy) if applied is None else (200, "application/json", applied)
    assert await shown(rest, policy, "applied=true&isGlobal=false&authoritative=false&x=y") == expected


@each_of([policy for policy in POLICIES if policy.namespace is not None and policy.topic.has_applied])
async def test_applied_answers_the_namespaces_value_below_the_topics(rest: RestNode, policy: Policy) -> None:
    sample = SAMPLES[policy.name]
    await put(rest, policy, sample.stated)
    value = rest.node.reading.topic(parse_topic("orders")).record.local[policy.name]
    await say_of_namespace(rest, policy.name, value)
    await rest.done("DELETE", f"{ORDERS}/policies")
    assert (await shown(rest, policy, "applied=true"))[2] == sample.shown
    assert await shown(rest, policy) == unset_answer(policy)
    if policy.topic.has_global:
        assert (await shown(rest, policy, "applied=true&isGlobal=true"))[2] == sample.shown


@each_of(POLICIES)
async def test_an_empty_body_does_what_pulsar_does(rest: RestNode, policy: Policy) -> None:
    sample = SAMPLES[policy.name]
    await put(rest, policy, sample.stated)
    answer = await rest.send(policy.topic.method, f"{ORDERS}/{path_of(policy)}")
    assert answer.status_code == sample.empty, answer.text
    is_kept = policy.topic.empty.name != "REMOVES" or policy.topic.source.name == "TRUE"
    assert (await shown(rest, policy))[2] == (sample.shown if is_kept else unset_answer(policy, had_some=True)[2])


@each_of(IN_BODY)
async def test_null_is_an_empty_body(rest: RestNode, policy: Policy) -> None:
    answer = await rest.send(policy.topic.method, f"{ORDERS}/{path_of(policy)}", b"null")
    assert answer.status_code == SAMPLES[policy.name].empty


@each_of(IN_BODY)
async def test_what_is_no_json_or_of_another_type_is_400_and_changes_nothing(rest: RestNode, policy: Policy) -> None:
    sample = SAMPLES[policy.name]
    await put(rest, policy, sample.stated)
    path = f"{ORDERS}/{path_of(policy)}"
    assert (await rest.problem(policy.topic.method, path, b"{]"))[0] == 400
    assert await rest.problem(policy.topic.method, path, sample.wrong_type) == (400, "invalid_policy")
    assert (await shown(rest, policy))[2] == sample.shown


REFUSED = [(policy, value, status) for policy in POLICIES for value, status in SAMPLES[policy.name].refused]


@pytest.mark.parametrize(("policy", "value", "status"), REFUSED, ids=lambda each: getattr(each, "name", str(each)))
async def test_a_value_that_cannot_be_is_refused_and_changes_nothing(
    rest: RestNode, policy: Policy, value: Any, status: int
) -> None:
    sample = SAMPLES[policy.name]
    await put(rest, policy, sample.stated)
    answer = await put(rest, policy, value)
    assert problem_in(answer.status_code, answer.headers, answer.content)[0] == status
    assert (await shown(rest, policy))[2] == sample.shown


@each_of(IN_BODY)
async def test_text_is_taken_for_json_and_a_form_is_not(rest: RestNode, policy: Policy) -> None:
    path, body = setting(policy, SAMPLES[policy.name].stated)
    for media_type, status in (
        ("text/plain", 204),
        ("application/json; charset=UTF-8", 204),
        ("application/x-www-form-urlencoded", 415),
    ):
        answer = await rest.send(policy.topic.method, f"{ORDERS}/{path}", body, content_type=media_type)
        assert answer.status_code == status, media_type


@each_of(POLICIES)
async def test_another_method_is_405_and_says_which_are_possible(rest: RestNode, policy: Policy) -> None:
    answer = await rest.send("PATCH", f"{ORDERS}/{path_of(policy)}")
    allowed = {policy.topic.method} | ({"DELETE"} if policy.topic.can_remove else set())
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == allowed | (set() if policy.topic.read_path else {"GET", "HEAD"})


@each_of(POLICIES)
async def test_a_topic_that_is_not_there_is_404_before_its_value_is_looked_at(rest: RestNode, policy: Policy) -> None:
    for value, _ in ((SAMPLES[policy.name].stated, 0), *SAMPLES[policy.name].refused):
        for place in ("public/default/nosuch", "no/such/orders"):
            topic = f"/admin/v2/persistent/{place}"
            assert (await put(rest, policy, value, topic=topic)).status_code == 404, value
    assert (await shown(rest, policy, topic="/admin/v2/persistent/public/default/nosuch"))[0] == 404
    if policy.topic.can_remove:
        assert (await rest.send("DELETE", f"/admin/v2/persistent/no/such/orders/{path_of(policy)}")).status_code == 404


@each_of(POLICIES)
async def test_the_name_of_a_partition_is_412(rest: RestNode, policy: Policy) -> None:
    topic = f"{ORDERS}-partition-0"
    answer = await put(rest, policy, SAMPLES[policy.name].stated, topic=topic)
    assert problem_in(answer.status_code, answer.headers, answer.content) == (412, "invalid_name")
    assert "Not allowed to set/get topic policy for a partition" in answer.json()["reason"]
    assert (await shown(rest, policy, topic=topic))[0] == 412
    if policy.topic.can_remove:
        assert (await rest.send("DELETE", f"{topic}/{path_of(policy)}")).status_code == 412


@each_of(POLICIES)
async def test_without_policies_of_topics_everything_is_405(store: MemoryStore, policy: Policy) -> None:
    async with rest_node(store, topic_level_policies_enabled=False) as off:
        for topic in (ORDERS, f"{ORDERS}-partition-0", "/admin/v2/persistent/no/such/orders"):
            assert (await put(off, policy, SAMPLES[policy.name].stated, topic=topic)).status_code == 405
            assert (await shown(off, policy, topic=topic))[0] == 405
            if policy.topic.can_remove:
                assert await off.problem("DELETE", f"{topic}/{path_of(policy)}") == (405, "policies_disabled")


@each_of(POLICIES)
async def test_a_removal_makes_no_policies_where_there_were_none(rest: RestNode, policy: Policy) -> None:
    if policy.topic.can_remove:
        await rest.done("DELETE", f"{ORDERS}/{path_of(policy)}")
        native = await rest.get("/api/v1/topics/public/default/orders")
        made = {} if policy.topic.removal_makes_policies else None
        assert native["policies"] == {"local": made, "global": None}


@each_of(POLICIES)
async def test_setting_a_value_twice_changes_nothing_the_second_time(rest: RestNode, policy: Policy) -> None:
    first = await put(rest, policy, SAMPLES[policy.name].stated)
    second = await put(rest, policy, SAMPLES[policy.name].stated)
    assert first.headers["etag"] == second.headers["etag"]


@each_of(POLICIES)
async def test_a_retried_set_is_one_and_the_key_with_another_value_is_422(rest: RestNode, policy: Policy) -> None:
    sample = SAMPLES[policy.name]
    path, body = setting(policy, sample.stated)
    for _ in range(2):
        await rest.done(policy.topic.method, f"{ORDERS}/{path}", body, idempotency_key="k")
    if sample.other is not None:
        path, body = setting(policy, sample.other)
        answer = await rest.send(policy.topic.method, f"{ORDERS}/{path}", body, idempotency_key="k")
        assert answer.status_code == 422
