"""Three policies of one topic set at once, over and over: read back together, whichever node is asked.

Source: Pulsar's `TopicPoliciesUpdateTest.testMultipleUpdates`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests import plain_http
from tests.integration.node import Node, agree, running

TOPICS = 10
ROUNDS = 10
CLUSTERS = ("standalone", "east", "west")


def policies_of(turn: int) -> dict[str, Any]:
    """Return three policies, by the last part of their path, as they are to be in one round."""
    return {
        "inactiveTopicPolicies": {
            "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
            "maxInactiveDurationSeconds": turn,
            "deleteWhileInactive": True,
        },
        "replicatorDispatchRate": {
            "dispatchThrottlingRateInMsg": turn,
            "dispatchThrottlingRateInByte": turn,
            "relativeToPublishRate": False,
            "ratePeriodInSecond": 1,
        },
        "replication": list(CLUSTERS[: 1 + turn % 3]),
    }


@pytest.mark.parametrize("partitions", [0, 3])
def test_three_policies_set_at_once_are_all_read_back(
    log_options: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partitions: int
) -> None:
    monkeypatch.setenv("TOPICFOLD_CLUSTERS", ",".join(CLUSTERS[1:]))
    monkeypatch.setenv("TOPICFOLD_ADOPT_ONLY", "true")
    with running(log_options, tmp_path, 3) as nodes:
        asyncio.run(_all_rounds(nodes, partitions))
        assert agree(nodes)


async def _all_rounds(nodes: Sequence[Node], partitions: int) -> None:
    """Set policies of this cluster on half of the topics, those of all clusters on the others."""
    async with plain_http.async_client(timeout=30) as http:
        namespace = f"{nodes[0].url}/admin/v2/namespaces/public/default/replication"
        assert (await http.post(namespace, json=list(CLUSTERS))).status_code == 204
        for number in range(TOPICS):
            path = f"/admin/v2/persistent/public/default/topic-{number}"
            made = ("/partitions", partitions) if partitions else ("", None)
            assert (await http.put(f"{nodes[0].url}{path}{made[0]}", json=made[1])).status_code == 204
            for turn in range(1, ROUNDS + 1):
                await _one_round(http, nodes, path, "?isGlobal=true" if number % 2 else "", turn)


async def _one_round(http: httpx2.AsyncClient, nodes: Sequence[Node], path: str, scope: str, turn: int) -> None:
    """Set three policies at once, each through another node, then read each from yet another."""
    wanted = policies_of(turn)
    answers = await asyncio.gather(
        *(
            http.post(f"{nodes[(turn + at) % 3].url}{path}/{policy}{scope}", json=value)
            for at, (policy, value) in enumerate(wanted.items())
        )
    )
    assert [answer.status_code for answer in answers] == [204, 204, 204], [answer.text for answer in answers]
    reads = await asyncio.gather(
        *(http.get(f"{nodes[(turn + at + 1) % 3].url}{path}/{policy}{scope}") for at, policy in enumerate(wanted))
    )
    assert [read.json() for read in reads] == list(wanted.values())
