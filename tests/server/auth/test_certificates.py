"""Mutual TLS, with real certificates over real sockets: who a client is, its connection says, and nothing else."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
from cryptography import x509

from tests.memory_log import MemoryStore
from tests.server.auth.authority import DAY, LOOPBACK, Authority
from tests.server.auth.issuer import issuer
from tests.server.rest import listening, rest_node
from topicfold.server.auth.certificates import credential_of_certificate

TENANTS = "/admin/v2/tenants"
SPIFFE = x509.UniformResourceIdentifier("spiffe://acme/orders")
ORDERS = x509.DNSName("orders.acme.example")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@asynccontextmanager
async def served(authority: Authority, **settings: object) -> AsyncIterator[str]:
    """Run a node that speaks TLS and knows clients by the certificates of `authority`; gives its URL."""
    certificate, key = authority.sign("localhost", LOOPBACK)
    told = {"tls_cert_file": certificate, "tls_key_file": key, "tls_client_ca_file": authority.file, **settings}
    async with rest_node(MemoryStore(8), **told) as rest, listening(rest) as port:
        yield f"https://127.0.0.1:{port}"


async def ask(url: str, context: ssl.SSLContext, path: str = TENANTS, **headers: str) -> httpx2.Response:
    """Send one request over a connection of its own."""
    async with httpx2.AsyncClient(verify=context, base_url=url) as client:
        return await client.get(path, headers=headers)


@pytest.mark.parametrize(
    ("common_name", "names", "role"),
    [("root", (), "root"), ("", (SPIFFE,), "spiffe://acme/orders"), ("", (ORDERS,), "orders.acme.example"),
     ("ignored", (ORDERS, SPIFFE), "spiffe://acme/orders"), ("ignored", (SPIFFE, ORDERS), "orders.acme.example")],
)  # fmt: skip
async def test_a_client_has_the_roles_that_its_certificate_names(
    authority: Authority, common_name: str, names: tuple[x509.GeneralName, ...], role: str
) -> None:
    async with served(authority, superusers=(role,)) as url:
        answer = await ask(url, authority.trusting(authority.sign(common_name, names)))
    assert (answer.status_code, answer.json()) == (200, ["public"])


async def test_a_common_name_beside_other_names_is_no_role(authority: Authority) -> None:
    async with served(authority, superusers=("root",)) as url:
        answer = await ask(url, authority.trusting(authority.sign("root", (ORDERS,))), f"{TENANTS}/public")
    assert (answer.status_code, answer.json()["reason"]) == (403, "orders.acme.example lacks admin on tenant public")


async def test_a_client_without_a_certificate_is_401_unless_it_has_a_token(
    authority: Authority, key_file: Path
) -> None:
    async with served(authority, superusers=("root",), auth_jwt_key_file=key_file) as url:
        context = authority.trusting()
        assert (await ask(url, context)).status_code == 401
        assert (await ask(url, context, authorization=f"Bearer {issuer().token(sub='root')}")).status_code == 200


async def test_who_says_nothing_is_told_of_what_the_server_takes(authority: Authority, key_file: Path) -> None:
    async with served(authority) as url:
        for headers in ({}, {"authorization": "Bearer garbage"}):
            hint = (await ask(url, authority.trusting(), **headers)).json()["hint"]
            assert hint == "Connect with a client certificate that this server accepts."
    async with served(authority, auth_jwt_key_file=key_file) as url:
        hint = (await ask(url, authority.trusting())).json()["hint"]
        assert "Bearer TOKEN" in hint
        assert "certificate" in hint


async def test_a_wrong_token_is_401_whatever_the_certificate_says(authority: Authority, key_file: Path) -> None:
    async with served(authority, superusers=("root",), auth_jwt_key_file=key_file) as url:
        context = authority.trusting(authority.sign("root"))
        assert (await ask(url, context, authorization="Bearer garbage")).status_code == 401


async def test_a_certificate_of_another_authority_is_not_spoken_with(authority: Authority, tmp_path: Path) -> None:
    stranger = Authority(tmp_path, "stranger").sign("root")
    async with served(authority, superusers=("root",)) as url:
        with pytest.raises(httpx2.TransportError):
            await ask(url, authority.trusting(stranger))


async def test_a_certificate_that_has_ended_is_not_spoken_with(authority: Authority) -> None:
    async with served(authority, superusers=("root",)) as url:
        with pytest.raises(httpx2.TransportError):
            await ask(url, authority.trusting(authority.sign("root", ends=-DAY)))


async def test_a_certificate_that_ends_while_the_connection_lasts_is_401(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.server.auth.setup.wall_clock_seconds", lambda: 2**40)
    async with served(authority, superusers=("root",)) as url:
        answer = await ask(url, authority.trusting(authority.sign("root", ends=timedelta(hours=1))))
    assert (answer.status_code, answer.json()["reason"]) == (401, "the certificate has expired")


async def test_a_certificate_that_names_nobody_is_401_and_told_so(authority: Authority) -> None:
    async with served(authority) as url:
        answer = await ask(url, authority.trusting(authority.sign("")))
    assert (answer.status_code, answer.json()["reason"]) == (401, "the client certificate contains no usable name")
    assert "common name" in answer.json()["hint"]


@pytest.mark.parametrize(
    "header", ["X-Client-Cert", "X-SSL-Client-S-DN", "X-Forwarded-Client-Cert", "X-Forwarded-User", "X-Role", "From"]
)
async def test_no_header_makes_a_role(authority: Authority, header: str) -> None:
    async with served(authority, superusers=("root",)) as url:
        assert (await ask(url, authority.trusting(), **{header: "CN=root"})).status_code == 401


async def test_plain_http_is_not_answered(authority: Authority) -> None:
    async with served(authority) as url:
        with pytest.raises(httpx2.TransportError):
            await ask(url.replace("https", "http"), authority.trusting())


def test_a_certificate_that_holds_a_name_that_no_grant_could_have_names_nobody() -> None:
    ends = "Jan  1 00:00:00 2040 GMT"
    assert credential_of_certificate({"subjectAltName": (("DNS", "a\nb"),), "notAfter": ends}) is None


def test_addresses_and_mailboxes_are_no_roles() -> None:
    certificate = {
        "subject": ((("organizationName", "acme"),), (("commonName", "root"),)),
        "subjectAltName": (("IP Address", "10.1.2.3"), ("email", "root@acme.example")),
        "notAfter": "Jan  1 00:00:00 2040 GMT",
    }
    credential = credential_of_certificate(certificate)
    assert credential is not None
    assert credential.principal.roles == {"root"}
