"""Who watches: what they are shown, that nothing else leaks, and that a watch ends with the right to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from tests.runtime.nodes import turns
from tests.server.auth.conftest import bearer
from tests.server.auth.issuer import issuer
from tests.server.rest import RestNode, listening
from tests.server.watching import LINES, Opened, ask, opened
from topicfold.runtime.watching import watches
from topicfold.server import watch
from topicfold.server.auth import setup
from topicfold.server.auth.tokens import LEEWAY_SECONDS

TENANT = "/admin/v2/tenants/acme"
NAMESPACE = "/admin/v2/namespaces/acme/pay"
SECRET = "/admin/v2/persistent/acme/pay/secret"
SHOWN = "/admin/v2/persistent/acme/pay/shown"
QUERY = "namespace=acme/pay"
ROOT = bearer()


@pytest.fixture
async def acme(closed: RestNode) -> RestNode:
    """A node where `ann` may watch the namespace `acme/pay`, and list one of its two topics."""
    await root(closed, "PUT", TENANT, {"allowedClusters": ["standalone"]})
    await root(closed, "PUT", NAMESPACE)
    for path in (SECRET, SHOWN):
        await root(closed, "PUT", path)
        await root(closed, "POST", f"{path}/custom-labels", {"labels": {"of": path.rpartition("/")[2]}})
    await root(closed, "POST", f"{NAMESPACE}/permissions/ann", ["watch"])
    await root(closed, "POST", f"{SHOWN}/permissions/ann", ["list-topics"])
    return closed


@pytest.fixture
async def port(acme: RestNode) -> AsyncIterator[int]:
    """Where `acme` listens."""
    async with listening(acme) as number:
        yield number


async def root(node: RestNode, method: str, path: str, body: object = None) -> None:
    """Change something as who may."""
    await node.done(method, path, body, authorization=ROOT)


async def label(node: RestNode, path: str, **labels: str) -> None:
    """Label a topic as who may."""
    await root(node, "POST", f"{path}/custom-labels", {"labels": labels})


def names(stream: Opened) -> set[bytes]:
    """Return which of the two topics the bytes that came tell of."""
    return {name for name in (b"secret", b"shown") if name in stream.received}


async def test_only_topics_that_one_may_list_are_in_the_start_state_and_in_what_follows(
    acme: RestNode, port: int
) -> None:
    async with opened(port, QUERY, authorization=bearer("ann")) as stream:
        await stream.frames(2)
        await label(acme, SECRET, k="1")
        await root(acme, "DELETE", SECRET)
        await label(acme, SHOWN, k="2")
        assert (await stream.frame()).members["topic"]["labels"]["k"] == "2"
        assert names(stream) == {b"shown"}


async def test_a_topic_comes_with_its_grant_and_goes_with_it(acme: RestNode, port: int) -> None:
    async with opened(port, QUERY, authorization=bearer("ann")) as stream:
        await stream.frames(2)
        await root(acme, "POST", f"{SECRET}/permissions/ann", ["consume"])
        await label(acme, SECRET, k="1")
        await root(acme, "DELETE", f"{SECRET}/permissions/ann")
        await label(acme, SECRET, k="hidden")
        await label(acme, SHOWN, k="2")
        told = [(frame.kind, frame.members["topic"]["labels"].get("k")) for frame in await stream.frames(4)]
    assert told == [("ADDED", None), ("MODIFIED", "1"), ("DELETED", "1"), ("MODIFIED", "2")]
    assert b"hidden" not in stream.received


async def test_a_change_that_hides_a_topic_does_not_show_what_it_became(acme: RestNode, port: int) -> None:
    async with opened(port, QUERY, authorization=bearer("ann")) as stream:
        await stream.frames(2)
        body = {"labels": {"new": "hidden"}, "grants": {}}
        done = await acme.send("PUT", "/api/v1/topics/acme/pay/shown", body, authorization=ROOT)
        if done.status_code >= 300:
            await root(acme, "DELETE", f"{SHOWN}/permissions/ann")
            await label(acme, SHOWN, new="hidden")
        deleted = await stream.frame()
    assert (deleted.kind, deleted.members["topic"]["labels"]) == ("DELETED", {"of": "shown"})
    assert b"hidden" not in stream.received


async def test_the_hash_is_of_what_one_may_list(acme: RestNode, port: int) -> None:
    hashes = []
    for role in ("ann", "root"):
        async with opened(port, QUERY, authorization=bearer(role)) as stream:
            await stream.until(b'"initial":true')
            hashes.append(stream.received.rpartition(b'"hash":"')[2][:8])
    assert hashes[0] != hashes[1]


@pytest.mark.parametrize("path", [NAMESPACE, TENANT])
async def test_a_watch_ends_at_once_with_the_right_to_it(acme: RestNode, port: int, path: str) -> None:
    await root(acme, "POST", f"{TENANT}/permissions/bob", ["watch"])
    role = "ann" if path == NAMESPACE else "bob"
    async with opened(port, QUERY, authorization=bearer(role)) as stream:
        await stream.until(b'"initial":true')
        await root(acme, "DELETE", f"{path}/permissions/{role}")
        error = (await stream.rest(2))[-1]
    assert (error.kind, error.members["problem"]["code"]) == ("ERROR", "forbidden")
    assert stream.ended_politely


async def test_nothing_that_changes_after_the_right_is_gone_is_shown(acme: RestNode, port: int) -> None:
    async with opened(port, QUERY, authorization=bearer("ann")) as stream:
        await stream.frames(2)
        await root(acme, "DELETE", f"{NAMESPACE}/permissions/ann")
        await label(acme, SHOWN, k="hidden")
        await stream.rest(2)
    assert b"hidden" not in stream.received


async def test_a_watch_ends_when_more_or_less_may_be_shown_and_its_cursor_starts_anew(
    acme: RestNode, port: int
) -> None:
    async with opened(port, QUERY, authorization=bearer("ann")) as stream:
        cursor = (await stream.frames(2))[1].cursor
        await root(acme, "POST", f"{NAMESPACE}/permissions/ann", ["watch", "list-topics"])
        (error,) = await stream.rest(2)
    assert error.members["problem"]["code"] == "resync"
    async with opened(port, f"{QUERY}&since={cursor}", authorization=bearer("ann")) as anew:
        assert [frame.kind for frame in await anew.frames(4)] == ["RESET", "ADDED", "ADDED", "BOOKMARK"]
    async with opened(port, f"{QUERY}&since={cursor}", authorization=bearer("ann"), **LINES) as lines:
        assert lines.status == 410


async def test_nobody_goes_on_from_the_cursor_of_somebody_who_sees_other_topics(acme: RestNode, port: int) -> None:
    cursors = {}
    for role in ("ann", "root"):
        async with opened(port, QUERY, authorization=bearer(role)) as stream:
            await stream.until(b'"initial":true')
            cursors[role] = stream.received.rpartition(b"id: ")[2].partition(b"\n")[0].decode()
    for role, cursor in (("ann", cursors["root"]), ("root", cursors["ann"])):
        async with opened(port, f"{QUERY}&since={cursor}", authorization=bearer(role)) as stream:
            assert (await stream.frame()).kind == "RESET"
    for role, cursor in cursors.items():
        query = f"{QUERY}&since={cursor}&timeoutSeconds=1"
        async with opened(port, query, authorization=bearer(role)) as stream:
            assert await stream.rest() == []


@pytest.mark.parametrize("form", [{}, LINES], ids=["events", "lines"])
async def test_who_may_list_some_topics_goes_on_from_the_position_of_a_finding(
    acme: RestNode, port: int, form: dict[str, str]
) -> None:
    found = (await acme.send("GET", f"/api/v1/topics?{QUERY}", authorization=bearer("ann"))).json()
    await label(acme, SECRET, k="1")
    await label(acme, SHOWN, k="2")
    async with opened(port, f"{QUERY}&since={found['position']}", authorization=bearer("ann"), **form) as stream:
        assert (await stream.frame()).members["topic"]["labels"] == {"of": "shown", "k": "2"}
        assert names(stream) == {b"shown"}


@pytest.mark.parametrize("rights", [["watch", "list-topics"], ["watch"]], ids=["all", "one"])
@pytest.mark.parametrize("form", [{}, LINES], ids=["events", "lines"])
async def test_a_former_life_of_a_namespace_is_told_to_nobody_who_watches_the_present_one(
    acme: RestNode, port: int, form: dict[str, str], rights: list[str]
) -> None:
    before = (await acme.send("GET", f"/api/v1/topics?{QUERY}", authorization=ROOT)).json()["position"]
    await label(acme, SECRET, k="1")
    await root(acme, "DELETE", f"{NAMESPACE}?force=true")
    await root(acme, "PUT", NAMESPACE)
    await root(acme, "POST", f"{NAMESPACE}/permissions/ann", rights)
    query = f"{QUERY}&since={before}&timeoutSeconds=1"
    async with opened(port, query, authorization=bearer("ann"), **form) as stream:
        assert [frame.kind for frame in await stream.rest()] == ["RESET", "BOOKMARK"]
        assert names(stream) == set()
    async with opened(port, query, authorization=ROOT, **form) as stream:
        assert [frame.kind for frame in await stream.rest()] == ["MODIFIED", "RESET", "BOOKMARK"]


async def heard(port: int) -> str:
    """Return the cursor of `ann`, who has heard all there is until now."""
    async with opened(port, QUERY, authorization=bearer("ann")) as stream:
        await stream.until(b'"initial":true')
        return stream.received.rpartition(b"id: ")[2].partition(b"\n")[0].decode()


async def told_since(port: int, cursor: str) -> list[tuple[str, str | None]]:
    """Return what `ann` is told from a cursor on: each frame's kind, and its topic's label `k`."""
    query = f"{QUERY}&since={cursor}&timeoutSeconds=1"
    async with opened(port, query, authorization=bearer("ann")) as stream:
        frames = await stream.rest()
    return [(frame.kind, frame.members.get("topic", {}).get("labels", {}).get("k")) for frame in frames]


async def test_what_happened_to_a_topic_before_its_grant_was_taken_away_is_told_no_more(
    acme: RestNode, port: int
) -> None:
    cursor = await heard(port)
    await label(acme, SHOWN, k="then")
    assert await told_since(port, cursor) == [("MODIFIED", "then")]
    await root(acme, "DELETE", f"{SHOWN}/permissions/ann")
    assert await told_since(port, cursor) == [("RESET", None), ("BOOKMARK", None)]
    await root(acme, "POST", f"{SHOWN}/permissions/ann", ["consume"])
    await label(acme, SHOWN, k="now")
    assert await told_since(port, cursor) == [
        ("MODIFIED", "then"), ("DELETED", "then"), ("ADDED", "then"), ("MODIFIED", "now"),
    ]  # fmt: skip


async def test_neither_labels_nor_who_bore_them_is_learned_from_a_watch_across_a_grant_that_was_taken_away(
    acme: RestNode, port: int
) -> None:
    cursor = await heard(port)
    await label(acme, SHOWN, k="then")
    between = (await acme.send("GET", f"/api/v1/topics?{QUERY}", authorization=ROOT)).json()["position"]
    await root(acme, "DELETE", f"{SHOWN}/permissions/ann")
    for since in (cursor, between):
        for selector in ("k%3Dthen", "k%21%3Dthen", "k%3Dother"):
            told = await told_since(port, f"{since}&labelSelector={selector}")
            assert told == [("RESET", None), ("BOOKMARK", None)]


async def test_what_happened_to_a_topic_that_is_gone_is_told_unless_its_grant_went_first(
    acme: RestNode, port: int
) -> None:
    cursor = await heard(port)
    await label(acme, SHOWN, k="then")
    await root(acme, "DELETE", SHOWN)
    assert await told_since(port, cursor) == [("MODIFIED", "then"), ("DELETED", "then")]
    await root(acme, "PUT", SHOWN)
    assert await told_since(port, cursor) == [("RESET", None), ("BOOKMARK", None)]
    await root(acme, "POST", f"{SHOWN}/permissions/ann", ["list-topics"])
    later = await heard(port)
    await label(acme, SHOWN, k="later")
    await root(acme, "DELETE", f"{SHOWN}/permissions/ann")
    await root(acme, "DELETE", SHOWN)
    assert await told_since(port, later) == [("RESET", None), ("BOOKMARK", None)]


class Clock:
    """What tokens are held against; may be put forward."""

    def __init__(self) -> None:
        self.seconds = time.time()

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the nodes that are made after it."""
    made = Clock()
    monkeypatch.setattr(setup, "wall_clock_seconds", made)
    return made


async def test_a_watch_ends_with_the_token(clock: Clock, acme: RestNode, port: int) -> None:
    end = int(clock.seconds) + 60
    token = f"Bearer {issuer().token(sub='ann', exp=end - LEEWAY_SECONDS)}"
    async with opened(port, QUERY, authorization=token) as stream:
        await stream.frames(2)
        clock.seconds = end
        acme.node.engine.watches.recheck()
        (error,) = await stream.rest(2)
    assert (error.kind, error.members["problem"]["code"]) == ("ERROR", "unauthenticated")


async def test_the_beat_looks_at_rights_within_ten_seconds() -> None:
    assert watches.BEAT_SECONDS <= 10


async def test_one_principal_has_so_many_watches_and_no_more(
    acme: RestNode, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "MAX_WATCHES_OF_ONE", 3)
    mine = await asyncio.gather(*(ask(port, QUERY, authorization=bearer("ann")) for _ in range(6)))
    assert sorted(stream.status for stream in mine) == [200] * 3 + [503] * 3
    async with opened(port, QUERY, authorization=bearer()) as other:
        assert other.status == 200
    for stream in mine:
        stream.cut()
    async with asyncio.timeout(60):
        while acme.node.engine.watches.watchers:
            await turns(1)
    async with opened(port, QUERY, authorization=bearer("ann")) as again:
        assert again.status == 200


async def test_a_watch_that_is_ended_for_want_of_rights_is_written_down(acme: RestNode, port: int) -> None:
    with capture_logs() as said:
        async with opened(port, QUERY, authorization=bearer("ann")) as stream:
            await stream.frames(2)
            await root(acme, "DELETE", f"{NAMESPACE}/permissions/ann")
            await stream.rest(2)
        await turns(20)
    ended = [(each["outcome"], each["actor"]) for each in said if each.get("operation") == "watchTopics"]
    assert ended == [("forbidden", "ann")]


async def test_one_namespace_that_may_not_be_watched_refuses_all_of_them(acme: RestNode, port: int) -> None:
    query = f"{QUERY}&namespace=public/default"
    async with opened(port, query, authorization=bearer("ann")) as stream:
        assert (stream.status, (await stream.problem())["code"]) == (403, "forbidden")


async def test_without_a_token_nothing_is_watched(port: int) -> None:
    async with opened(port, QUERY) as stream:
        assert stream.status == 401
