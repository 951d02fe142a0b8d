"""Names in paths: whatever is sent, it is a topic that is really called so, or a clear 4xx."""

from __future__ import annotations

import pytest

from tests.server.rest import RestNode, problem_in, raw
from topicfold.model.names import parse_topic

BAD_NAMES = {
    "an encoded slash": "a%2Fd",
    "a lower-case encoded slash": "a%2fd",
    "an encoded backslash": "a%5Cd",
    "dot dot": "..",
    "encoded dot dot": "%2e%2e",
    "encoded dot dot slash": "%2e%2e%2fetc",
    "twice encoded dot": "%252e",
    "twice encoded slash": "a%252Fb",
    "NUL": "a%00b",
    "CR LF": "a%0d%0ab",
    "a trailing line feed": "a%0a",
    "a text-direction override": "a%E2%80%AEb",
    "an overlong slash": "a%C0%AFb",
    "a lone surrogate": "a%ED%A0%80",
    "no UTF-8": "a%FFb",
    "not normalised": "e%CC%81",
    "256 bytes": "x" * 256,
    "a malformed escape": "a%zz",
    "a cut escape": "a%4",
    "spaces only": "%20",
}


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
async def test_a_bad_topic_name_is_412_under_admin_and_400_under_api(port: int, name: str) -> None:
    for path, status in (
        (f"/admin/v2/persistent/public/default/{name}", 412),
        (f"/admin/v2/topics/public/default/{name}/custom-labels", 412),
        (f"/api/v1/topics/public/default/{name}", 400),
    ):
        method = "POST" if path.endswith("labels") else "PUT"
        request = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 13\r\n\r\n" + '{"labels":{}}'
        assert problem_in(*await raw(port, request.encode())) == (status, "invalid_name")


@pytest.mark.parametrize("name", ["..", "a%2Fb", "a%20b", "%252e", "a%00", "x" * 65, "%C3%A9", "a+b"])
async def test_a_bad_tenant_or_namespace_is_412(port: int, name: str) -> None:
    for path in (f"/admin/v2/tenants/{name}", f"/admin/v2/namespaces/public/{name}", f"/admin/v2/namespaces/{name}/a"):
        request = f"PUT {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert problem_in(*await raw(port, request.encode())) == (412, "invalid_name")


@pytest.mark.parametrize("name", ["a*b", "a:b", "caf%C3%A9", "__internal", "a.b-c_d", "%E4%BD%A0", "a%26b", "x" * 200])
async def test_an_odd_but_good_name_is_decoded_once(orders: RestNode, name: str) -> None:
    await orders.done("PUT", f"/api/v1/topics/public/default/{name}")
    assert (await orders.send("PUT", f"/admin/v2/persistent/public/default/{name}")).status_code == 409


async def test_an_encoded_slash_never_reaches_another_route(port: int, orders: RestNode) -> None:
    for path in ("orders%2Fcustom-labels?all=true", "orders%2Fpartitions"):
        request = f"DELETE /admin/v2/persistent/public/default/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert (await raw(port, request.encode()))[0] == 412
    assert orders.node.reading.labels(parse_topic("orders"))[0]


@pytest.mark.parametrize(
    "target",
    ["/admin/v2/../v2/tenants", "/admin/v2/other/a/b/c", "/admin/v2/persistent/a/b/", "//admin/v2/tenants", "//", "*"],
)
async def test_an_unknown_route_is_404(port: int, target: str) -> None:
    assert (await raw(port, f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()))[0] in (404, 400)


async def test_a_path_with_bytes_that_are_not_encoded_is_400(port: int) -> None:
    request = "GET /api/v1/topics/public/default/é HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert (await raw(port, request.encode()))[0] == 400


async def test_a_name_of_a_megabyte_is_413(port: int) -> None:
    request = f"PUT /admin/v2/persistent/public/default/{'x' * 1_000_000} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert problem_in(*await raw(port, request.encode())) == (413, "too_large")
