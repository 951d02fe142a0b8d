"""Limits of offloading, of a namespace: members of its offload policies with paths of their own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.rest import RestNode

PAY = "/admin/v2/namespaces/public/pay"
DRIVEN = {"managedLedgerOffloadDriver": "aws-s3", "managedLedgerOffloadBucket": "attic"}
LIMITS = [
    ("offloadThreshold", "managedLedgerOffloadThresholdInBytes"),
    ("offloadThresholdInSeconds", "managedLedgerOffloadThresholdInSeconds"),
    ("offloadDeletionLagMs", "managedLedgerOffloadDeletionLagInMillis"),
]


@pytest.mark.parametrize(("path", "member"), LIMITS)
async def test_a_limit_is_a_member_of_the_offload_policies(rest: RestNode, path: str, member: str) -> None:
    await rest.done("PUT", PAY)
    await rest.done("POST", f"{PAY}/offloadPolicies", DRIVEN)
    await rest.done("PUT", f"{PAY}/{path}", 5)
    assert await rest.get(f"{PAY}/{path}") == 5
    policies = await rest.get(f"{PAY}/offloadPolicies")
    assert policies[member] == 5
    assert policies.items() >= DRIVEN.items()
    await rest.done("POST", f"{PAY}/offloadPolicies", DRIVEN | {member: 7})
    assert await rest.get(f"{PAY}/{path}") == 7


async def test_a_limit_that_is_not_set_is_minus_one_or_none(rest: RestNode) -> None:
    await rest.done("PUT", PAY)
    assert [await rest.get(f"{PAY}/{path}") for path, _ in LIMITS[:2]] == [-1, -1]
    assert (await rest.send("GET", f"{PAY}/offloadDeletionLagMs")).status_code == 204


async def test_the_delay_is_removed_and_the_policies_with_their_last_member(rest: RestNode) -> None:
    await rest.done("PUT", PAY)
    fresh = await rest.get(PAY)
    await rest.done("PUT", f"{PAY}/offloadDeletionLagMs", 5)
    await rest.done("DELETE", f"{PAY}/offloadDeletionLagMs")
    assert await rest.get(PAY) == fresh
    await rest.done("DELETE", f"{PAY}/offloadDeletionLagMs")


@pytest.mark.parametrize(("path", "member"), LIMITS)
async def test_a_document_with_nothing_but_limits_makes_the_same_namespace_again(
    rest: RestNode, path: str, member: str
) -> None:
    await rest.done("PUT", PAY)
    await rest.done("PUT", f"{PAY}/{path}", 5)
    document = await rest.get(PAY)
    await rest.done("PUT", f"{PAY}2", document)
    assert await rest.get(f"{PAY}2") == document
    document["offload_policies"]["managedLedgerOffloadDriver"] = "tape"
    assert await rest.problem("PUT", f"{PAY}3", document) == (412, "policy_unmet")
    assert await rest.problem("POST", f"{PAY}/offloadPolicies", {member: 5}) == (412, "policy_unmet")


@pytest.mark.parametrize("value", [None, "much", 1.5, 2**63])
async def test_a_limit_is_a_whole_number(rest: RestNode, value: Any) -> None:
    await rest.done("PUT", PAY)
    assert await rest.problem("PUT", f"{PAY}/offloadThreshold", value) == (400, "invalid_policy")


async def test_a_namespace_that_does_not_exist_has_no_limits(rest: RestNode) -> None:
    nowhere = "/admin/v2/namespaces/public/nowhere/offloadThreshold"
    assert await rest.problem("GET", nowhere) == (404, "namespace_not_found")
    assert await rest.problem("PUT", nowhere, 5) == (404, "namespace_not_found")


@pytest.mark.parametrize("said", [{"managedLedgerOffloadDriver": None}, {"offloaders": 3}])
async def test_a_document_whose_offload_policies_hold_nothing_sets_none(rest: RestNode, said: dict[str, Any]) -> None:
    await rest.done("PUT", "/admin/v2/namespaces/public/bare", {"offload_policies": said})
    document = await rest.get("/admin/v2/namespaces/public/bare")
    assert "offload_policies" not in document
