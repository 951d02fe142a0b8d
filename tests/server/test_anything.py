"""Whatever is sent, the answer is no 5xx, and every error is a problem document."""

from __future__ import annotations

import asyncio
from urllib.parse import quote_from_bytes

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory_log import MemoryStore
from tests.server.rest import ORDERS, RestNode, problem_in, rest_node
from topicfold.model.policy.table import POLICIES

segments = st.one_of(
    st.sampled_from(["admin", "v2", "api", "v1", "persistent", "topics", "tenants", "namespaces", "public", "default",
                     "orders", "custom-labels", "partitions", "partitioned", "operations", "..", "%2e%2e", "%2F", ""]),
    st.binary(max_size=12).map(quote_from_bytes),
)  # fmt: skip
routes = st.sampled_from([
    f"{ORDERS}/custom-labels", f"{ORDERS}/partitions", ORDERS, "/admin/v2/tenants/public", "/api/v1/topics",
    "/admin/v2/namespaces/public/default", "/api/v1/topics/public/default/orders", "/api/v1/operations/3-00",
    "/admin/v2/namespaces/public/default/topics", "/readyz", f"{ORDERS}/properties", f"{ORDERS}/sub/dispatchRate",
    "/api/v1/topics/public/default/orders/effective", *(f"{ORDERS}/{policy.topic.path}" for policy in POLICIES),
])  # fmt: skip
paths = st.one_of(routes, st.lists(segments, max_size=8).map(lambda parts: "/" + "/".join(parts).lstrip("/")))
names = st.sampled_from(
    ["custom-labels", "keys", "all", "force", "mode", "namespace", "label", "domain", "verbose", "isGlobal", "applied",
     "messageTTL", "backlogQuotaType", "key"]
)  # fmt: skip
queries = st.lists(st.tuples(names, st.binary(max_size=12).map(quote_from_bytes)), max_size=3).map(
    lambda pairs: "&".join(f"{name}={value}" for name, value in pairs)
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
known = st.sampled_from(
    ["labels", "partitions", "properties", "kafkaName", "adminRoles", "team", "policies", "retentionTimeInMinutes",
     "retentionSizeInMB", "limitSize", "policy"]
)  # fmt: skip
policies = st.none() | st.dictionaries(st.sampled_from([policy.name for policy in POLICIES]), json_values, max_size=3)
bodies = st.one_of(
    st.none(),
    st.binary(max_size=40),
    st.dictionaries(known, json_values, max_size=3),
    st.sampled_from([b"", b"null", b"[[[[", b"NaN", b'{"labels":{"a":"\\ud800"}}', b"3", b"-1", b'"FULL"', b'["a"]']),
    st.fixed_dictionaries({"policies": st.dictionaries(st.sampled_from(["local", "global"]), policies)}),
)
header_names = st.sampled_from(
    ["if_match", "idempotency_key", "x_min_position", "x_change_reason", "x_consistency", "x_request_id", "origin",
     "content_type", "host", "sec_fetch_site"]
)  # fmt: skip
headers = st.dictionaries(
    header_names, st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=20), max_size=2
)
methods = st.sampled_from(["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW"])


async def checked(rest: RestNode, method: str, target: str, body: object, sent: dict[str, str]) -> None:
    """Send one request and look at its answer."""
    answer = await rest.send(method, target, body, **sent)
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400 and method != "HEAD":
        problem_in(answer.status_code, answer.headers, answer.content)


@settings(max_examples=60)
@given(st.lists(st.tuples(methods, paths, queries, bodies, headers), min_size=20, max_size=20))
def test_no_request_makes_the_server_fail(
    requests: list[tuple[str, str, str, object, dict[str, str]]],
) -> None:
    async def all_of_them() -> None:
        async with rest_node(MemoryStore(partitions=4)) as rest:
            await rest.done("PUT", ORDERS)
            for method, path, query, body, sent in requests:
                await checked(rest, method, f"{path}?{query}" if query else path, body, sent)

    asyncio.run(all_of_them())
