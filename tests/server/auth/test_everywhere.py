"""All namespaces at once are for superusers, those of a tenant for who has the right on all of it."""

from __future__ import annotations

import pytest

from tests.server.auth.acme import done, grant, make_acme, seen
from tests.server.auth.conftest import bearer
from tests.server.rest import RestNode, listening
from tests.server.watching import LINES, opened


@pytest.fixture
async def acme(closed: RestNode) -> RestNode:
    """A node with topics in two namespaces of the tenant that `boss` administers."""
    await make_acme(closed)
    return closed


@pytest.mark.parametrize("path", ["topics?", "topics?limit=1&", "explain?labelSelector=team&"])
@pytest.mark.parametrize("role", ["boss", "app"])
async def test_who_is_no_superuser_is_refused_whatever_else_they_may(acme: RestNode, path: str, role: str) -> None:
    # The second time it is remembered who that is.
    for _ in range(2):
        answer = await acme.send("GET", f"/api/v1/{path}namespace=*", authorization=bearer(role))
        problem = answer.json()
        assert answer.status_code == 403
    assert problem["code"] == "forbidden"
    assert problem["detail"] == f"{role} is not a superuser, and only superusers may search all tenants at once"
    assert problem["hint"] == "Name the namespaces that you may see, or a tenant of which you may see all: tenant/*."


async def test_a_superuser_finds_and_watches_everything(acme: RestNode) -> None:
    found = await seen(acme, "/api/v1/topics?namespace=*", "root")
    assert found["counts"]["namespaces"] == {"acme/hr": 1, "acme/pay": 3}
    async with listening(acme) as port:
        async with opened(port, "namespace=*", authorization=bearer("root")) as stream:
            assert [frame.kind for frame in await stream.frames(5)] == [*["ADDED"] * 4, "BOOKMARK"]
        async with opened(port, "namespace=*", authorization=bearer("boss")) as refused:
            assert (refused.status, (await refused.problem())["code"]) == (403, "forbidden")


PATHS = ["topics?", "topics?limit=1&", "explain?labelSelector=team&"]


@pytest.mark.parametrize("path", PATHS)
async def test_a_pattern_in_one_tenant_is_for_who_may_list_all_of_it(acme: RestNode, path: str) -> None:
    await grant(acme, "namespaces/acme/pay", "app", "list-topics", "watch")
    await grant(acme, "tenants/acme", "lister", "list-topics")
    for _ in range(2):
        for role, status in (("boss", 200), ("lister", 200), ("app", 403), ("stranger", 403), ("root", 200)):
            answer = await acme.send("GET", f"/api/v1/{path}namespace=acme/p*", authorization=bearer(role))
            assert (role, answer.status_code) == (role, status)
    problem = (await acme.send("GET", f"/api/v1/{path}namespace=acme/p*", authorization=bearer("app"))).json()
    assert problem["detail"] == "app lacks list-topics on tenant acme"
    assert problem["hint"] == (
        "An admin of the tenant can grant list-topics: "
        "topicfold tenants grant-permission --role app --actions list-topics acme"
    )


@pytest.mark.parametrize("place", ["*/pay", "acm*/pay", "acme/*&namespace=*/hr", "acme/*&namespace=other/*"])
async def test_the_right_on_one_tenant_is_none_on_others(acme: RestNode, place: str) -> None:
    await done(acme, "PUT", "/admin/v2/tenants/other", {"adminRoles": ["them"], "allowedClusters": ["standalone"]})
    for _ in range(2):
        answer = await acme.send("GET", f"/api/v1/topics?namespace={place}", authorization=bearer("boss"))
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


async def test_a_refusal_counts_tenants_as_what_they_are_and_says_how_each_right_is_granted(acme: RestNode) -> None:
    command = "topicfold {}s grant-permission --help"
    for place, what, kinds in (
        ("acme/*&namespace=none/*", "2 tenants", ["tenant"]),
        ("acme/pay&namespace=none/*&namespace=acme/h*", "3 namespaces and tenants", ["namespace", "tenant"]),
    ):
        answer = (await acme.send("GET", f"/api/v1/topics?namespace={place}", authorization=bearer("app"))).json()
        assert answer["detail"] == f"app lacks list-topics on at least one of the {what} asked for"
        commands = " or ".join(map(command.format, kinds))
        assert answer["hint"] == f"An admin of the {' or '.join(kinds)} can grant list-topics: {commands}"


async def test_nobody_learns_from_a_pattern_which_tenants_there_are(acme: RestNode) -> None:
    there, missing = [
        (await acme.send("GET", f"/api/v1/topics?namespace={each}/*", authorization=bearer("app"))).json()
        for each in ("acme", "none")
    ]
    assert (there["status"], there["code"]) == (missing["status"], missing["code"]) == (403, "forbidden")
    assert there["detail"].replace("acme", "none") == missing["detail"]


async def test_an_admin_of_a_tenant_hears_of_its_later_namespaces_until_the_right_is_gone(acme: RestNode) -> None:
    async with listening(acme) as port, opened(port, "namespace=acme/*", authorization=bearer("boss")) as stream:
        assert [frame.kind for frame in await stream.frames(5)] == [*["ADDED"] * 4, "BOOKMARK"]
        await done(acme, "PUT", "/admin/v2/namespaces/acme/later")
        await done(acme, "PUT", "/api/v1/topics/acme/later/a", {})
        assert (await stream.frame()).name == "persistent://acme/later/a"
        body = {"adminRoles": ["other"], "allowedClusters": ["standalone"]}
        await done(acme, "POST", "/admin/v2/tenants/acme", body)
        await done(acme, "PUT", "/api/v1/topics/acme/later/b", {})
        assert [frame.kind for frame in await stream.rest()] == ["ERROR"]


async def test_who_may_watch_a_tenant_and_not_list_it_hears_of_topics_that_say_so(acme: RestNode) -> None:
    await grant(acme, "tenants/acme", "app", "watch")
    await grant(acme, "persistent/acme/pay/orders", "app", "consume")
    async with listening(acme) as port, opened(port, "namespace=acme/*", authorization=bearer("app")) as stream:
        first = await stream.frames(2)
        assert [frame.kind for frame in first] == ["ADDED", "BOOKMARK"]
        assert first[0].name == "persistent://acme/pay/orders"


@pytest.mark.parametrize("form", [{}, LINES], ids=["events", "lines"])
async def test_an_admin_of_a_tenant_is_told_nothing_of_former_lives(acme: RestNode, form: dict[str, str]) -> None:
    before = (await seen(acme, "/api/v1/topics?namespace=acme/*", "boss"))["position"]
    await done(acme, "POST", "/admin/v2/persistent/acme/pay/orders/custom-labels", {"labels": {"k": "1"}})
    await done(acme, "DELETE", "/admin/v2/namespaces/acme/pay?force=true")
    query = f"namespace=acme/*&since={before}&timeoutSeconds=1"
    async with listening(acme) as port:
        async with opened(port, query, authorization=bearer("boss"), **form) as stream:
            assert [frame.kind for frame in await stream.rest()] == ["RESET", "ADDED", "BOOKMARK"]
        async with opened(port, query, authorization=bearer("root"), **form) as stream:
            assert [frame.kind for frame in await stream.rest()] == ["MODIFIED", "RESET", "ADDED", "BOOKMARK"]


async def test_a_tenant_that_may_be_listed_is_shown_beside_one_that_may_only_be_watched(acme: RestNode) -> None:
    await done(acme, "PUT", "/admin/v2/tenants/other", {"adminRoles": ["them"], "allowedClusters": ["standalone"]})
    await done(acme, "PUT", "/admin/v2/namespaces/other/space")
    await done(acme, "PUT", "/api/v1/topics/other/space/secret", {})
    await grant(acme, "tenants/acme", "app", "list-topics", "watch")
    await grant(acme, "tenants/other", "app", "watch")
    query = "namespace=acme/*&namespace=other/*"
    async with listening(acme) as port, opened(port, query, authorization=bearer("app")) as stream:
        first = await stream.frames(5)
        assert {frame.name.split("/")[2] for frame in first[:4]} == {"acme"}
        assert first[4].kind == "BOOKMARK"
        await done(acme, "PUT", "/api/v1/topics/other/space/more", {})
        await done(acme, "PUT", "/api/v1/topics/acme/pay/more", {})
        assert (await stream.frame()).name == "persistent://acme/pay/more"


async def test_an_admin_of_a_tenant_does_not_learn_what_its_namespaces_were_called_before(acme: RestNode) -> None:
    await done(acme, "PUT", "/admin/v2/tenants/mine", {"adminRoles": ["new"], "allowedClusters": ["standalone"]})
    before = (await seen(acme, "/api/v1/topics?namespace=mine/*", "new"))["position"]
    await done(acme, "DELETE", "/admin/v2/tenants/acme?force=true")
    await done(acme, "PUT", "/admin/v2/tenants/acme", {"adminRoles": ["new"], "allowedClusters": ["standalone"]})
    for place, told in (("acme/*", "a namespace that matched has ended"), ("acme/pay", "namespace acme/pay has ended")):
        query = f"namespace={place}&since={before}&timeoutSeconds=1"
        async with listening(acme) as port, opened(port, query, authorization=bearer("new")) as stream:
            first = await stream.frame()
            assert (first.kind, first.members["reason"]) == ("RESET", told)


async def test_the_right_to_list_one_namespace_counts_beside_a_pattern_where_it_is_named(acme: RestNode) -> None:
    await grant(acme, "tenants/acme", "app", "watch")
    await grant(acme, "namespaces/acme/pay", "app", "list-topics")
    async with listening(acme) as port:
        for place, shown in (("acme/*", 0), ("acme/*&namespace=acme/pay", 3)):
            async with opened(port, f"namespace={place}", authorization=bearer("app")) as stream:
                assert [frame.kind for frame in await stream.frames(shown + 1)] == [*["ADDED"] * shown, "BOOKMARK"]
