"""A namespace's properties under `/admin/v2`: together, and one by one."""

from __future__ import annotations

import asyncio

import pytest

from tests.server.rest import RestNode

PAY = "/admin/v2/namespaces/public/pay"


async def test_properties_are_set_kept_and_cleared(rest: RestNode) -> None:
    await rest.done("PUT", PAY)
    await rest.done("POST", f"{PAY}/messageTTL", 5)
    await rest.done("PUT", f"{PAY}/properties", {"a": "1", "b": 2})
    await rest.done("PUT", f"{PAY}/properties", {"b": "3"})
    assert await rest.get(f"{PAY}/properties") == {"a": "1", "b": "3"}
    await rest.done("DELETE", f"{PAY}/properties")
    assert await rest.get(f"{PAY}/properties") == {}
    assert await rest.get(f"{PAY}/messageTTL") == 5


async def test_one_property_is_plain_text_as_pulsar_has_it(rest: RestNode) -> None:
    await rest.done("PUT", PAY)
    await rest.done("PUT", f"{PAY}/property/o%2Fwner/a%20%22b%22")
    answer = await rest.send("GET", f"{PAY}/property/o%2Fwner")
    assert (answer.status_code, answer.text) == (200, 'a "b"')
    assert await rest.get(f"{PAY}/properties") == {"o/wner": 'a "b"'}
    answer = await rest.send("DELETE", f"{PAY}/property/o%2Fwner")
    assert (answer.status_code, answer.text) == (200, 'a "b"')
    assert "etag" in answer.headers
    assert (await rest.send("DELETE", f"{PAY}/property/o%2Fwner")).status_code == 204
    answer = await rest.send("GET", f"{PAY}/property/o%2Fwner")
    assert (answer.status_code, answer.content, "content-type" in answer.headers) == (200, b"", False)


async def test_a_removal_on_another_node_answers_what_was_set_a_moment_before(nodes: list[RestNode]) -> None:
    one, other, _ = nodes
    other.node.log.pause()
    await one.done("PUT", PAY)
    await one.done("PUT", f"{PAY}/property/owner/ann")
    removing = asyncio.ensure_future(other.send("DELETE", f"{PAY}/property/owner"))
    await asyncio.sleep(0.02)
    other.node.log.resume()
    answer = await removing
    assert (answer.status_code, answer.text) == (200, "ann")


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_removal_that_is_sent_again_tells_of_no_value_that_still_stands(rest: RestNode, is_there: bool) -> None:
    await rest.done("PUT", PAY)
    if is_there:
        await rest.done("PUT", f"{PAY}/property/owner/ann")
    first = await rest.send("DELETE", f"{PAY}/property/owner", idempotency_key="k")
    await rest.done("PUT", f"{PAY}/property/owner/bob")
    again = await rest.send("DELETE", f"{PAY}/property/owner", idempotency_key="k")
    assert [(each.status_code, each.text) for each in (first, again)] == [
        (200, "ann") if is_there else (204, ""),
        (204, ""),
    ]
    assert await rest.get(f"{PAY}/properties") == {"owner": "bob"}


async def test_a_namespace_that_is_not_there_has_no_properties(rest: RestNode) -> None:
    for method, path, body in (
        ("GET", "properties", None),
        ("PUT", "properties", {"a": "b"}),
        ("DELETE", "properties", None),
        ("GET", "property/a", None),
        ("PUT", "property/a/b", None),
        ("DELETE", "property/a", None),
    ):
        answer = await rest.send(method, f"{PAY}/{path}", body)
        assert (answer.status_code, answer.json()["reason"]) == (404, "Namespace does not exist: public/pay")


async def test_properties_are_texts(rest: RestNode) -> None:
    await rest.done("PUT", PAY)
    assert await rest.problem("PUT", f"{PAY}/properties", {"a": None}) == (400, "invalid_request")
    assert await rest.problem("PUT", f"{PAY}/properties", ["a"]) == (400, "invalid_request")
    assert await rest.problem("PUT", f"{PAY}/property/a/%FF") == (412, "invalid_name")
