"""The OpenAPI document says where there has to be a body, and what is done without one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.document import DOCUMENT
from tests.server.rest import ORDERS, RestNode

SAID: dict[str, Any] = json.loads(DOCUMENT.read_text())
WITH_BODY = {
    operation["operationId"]: (method, path, operation["requestBody"])
    for path, methods in SAID["paths"].items()
    for method, operation in methods.items()
    if "requestBody" in operation
}
THERE = {"domain": "persistent", "tenant": "public", "namespace": "default", "topic": "orders", "role": "ann",
         "subName": "mine", "cluster": "east"}  # fmt: skip
NEW = {"createTopic": "topic", "createPartitionedTopic": "topic", "createTopicRecord": "topic",
       "createTenant": "tenant", "createNamespace": "namespace", "createCluster": "cluster"}  # fmt: skip


@pytest.mark.parametrize("name", WITH_BODY)
async def test_a_body_that_has_to_be_there_is_missed_and_no_other(orders: RestNode, name: str) -> None:
    await orders.done("PUT", "/admin/v2/clusters/east", {"serviceUrl": "http://east.example:8080"})
    named = THERE | ({NEW[name]: "other"} if name in NEW else {})
    if name == "growPartitions":
        await orders.done("PUT", f"{ORDERS}2/partitions", 2)
        named |= {"topic": "orders2"}
    method, path, body = WITH_BODY[name]
    answer = await orders.send(method.upper(), path.format(**named))
    assert (answer.status_code >= 400) == body.get("required", False), answer.text
    assert answer.status_code < 400 or answer.status_code in (400, 412)
    assert body.get("required") or body["description"].startswith("Without a body, ")
