"""The past is for those who may list all of a namespace now; its former lives for superusers."""

from __future__ import annotations

import pytest

from tests.server.auth.acme import ADMIN, FIND, done, grant, make_acme, seen
from tests.server.auth.conftest import bearer
from tests.server.rest import RestNode
from topicfold.runtime.fair_semaphore import FairSemaphore

PAST = f"{FIND}&at=0s"


@pytest.fixture
async def acme(closed: RestNode) -> RestNode:
    """A node with labelled topics in `acme/pay`."""
    await make_acme(closed)
    return closed


async def test_who_may_list_a_namespace_may_see_its_past(acme: RestNode) -> None:
    await grant(acme, "namespaces/acme/pay", "app", "list-topics")
    before = (await seen(acme, FIND, "app"))["position"]
    await done(acme, "DELETE", f"{ADMIN}/persistent/acme/pay/taxes")
    assert (await seen(acme, PAST, "app"))["counts"]["matched"] == 2
    assert (await seen(acme, f"{FIND}&at={before}", "app"))["counts"]["matched"] == 3


async def test_a_grant_on_a_topic_says_nothing_of_the_past(acme: RestNode) -> None:
    await grant(acme, "persistent/acme/pay/orders", "app", "list-topics", "read-policies")
    answer = await acme.send("GET", PAST, authorization=bearer("app"))
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert "list all of its topics" in answer.json()["detail"]
    assert await seen(acme, PAST, "stranger") == 403


async def test_policies_of_the_past_are_for_who_may_read_those_of_the_namespace(acme: RestNode) -> None:
    await grant(acme, "namespaces/acme/pay", "app", "list-topics")
    await grant(acme, "persistent/acme/pay/orders", "app", "read-policies")
    told = (await seen(acme, f"{PAST}&fields=record", "app"))["items"]
    assert [("policies" in item, "labels" in item) for item in told] == [(False, True)] * 3
    await grant(acme, "namespaces/acme/pay", "app", "list-topics", "read-policies")
    assert all("policies" in item for item in (await seen(acme, f"{PAST}&fields=record", "app"))["items"])


async def test_a_former_life_of_a_namespace_is_for_superusers(acme: RestNode) -> None:
    before = (await seen(acme, FIND, "boss"))["position"]
    await done(acme, "DELETE", f"{ADMIN}/namespaces/acme/pay?force=true")
    await done(acme, "PUT", f"{ADMIN}/namespaces/acme/pay")
    await grant(acme, "namespaces/acme/pay", "app", "list-topics")
    then = f"{FIND}&at={before}"
    assert (await seen(acme, PAST, "app"))["counts"]["matched"] == 0
    # The tenant may have been another one's then.
    for who in ("app", "boss"):
        assert await seen(acme, then, who) == 404
    assert (await seen(acme, then, "root"))["counts"]["matched"] == 3


async def test_whether_a_topic_lived_before_is_not_told_to_who_may_read_its_present_life_only(acme: RestNode) -> None:
    before = (await seen(acme, FIND, "boss"))["position"]
    path = f"{ADMIN}/persistent/acme/pay/orders"
    await done(acme, "DELETE", path)
    await done(acme, "PUT", path)
    await grant(acme, "persistent/acme/pay/orders", "app", "read-policies")
    told = []
    for at in (before, "1y"):
        answer = await acme.send("GET", f"/api/v1/topics/acme/pay/orders?at={at}", authorization=bearer("app"))
        told.append((answer.status_code, answer.json()["detail"].removesuffix(at), answer.json()["hint"]))
    assert told[0] == told[1]
    assert told[0][2].startswith("Its known history begins at 20")


async def test_turns_at_what_takes_long_are_dealt_out_among_roles(
    acme: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    askers, acquiring = list[str](), FairSemaphore.acquire

    async def acquire(turns: FairSemaphore, asker: str) -> None:
        askers.append(asker)
        await acquiring(turns, asker)

    monkeypatch.setattr(FairSemaphore, "acquire", acquire)
    await seen(acme, PAST, "root")
    await seen(acme, f"{ADMIN}/persistent/acme/pay", "boss")
    assert askers == ["root", "boss"]
