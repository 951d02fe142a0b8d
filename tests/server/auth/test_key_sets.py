"""Keys from a URL: fetched when they may have changed, seldom, and kept while they cannot be had."""

from __future__ import annotations

import asyncio
import ssl
import sys
import threading
from pathlib import Path

import httpx2
import pytest
from structlog.testing import capture_logs

from tests.memory_log import MemoryStore
from tests.server.auth.authority import LOOPBACK, Authority
from tests.server.auth.issuer import Issuer, issuer, key_set, thumbprint_of
from tests.server.rest import rest_node
from topicfold.errors import KeysUnavailable, Unauthenticated
from topicfold.server.auth.key_sets import (
    MAX_AGE_SECONDS,
    MAX_SET_BYTES,
    RETRY_SECONDS,
    SELDOM_SECONDS,
    FetchedKeys,
    FixedKeys,
    fetch,
)
from topicfold.server.auth.keys import keys_in_set
from topicfold.server.auth.tokens import TokenVerifier

OLD, NEW, STRANGE = issuer("RS256", "old"), issuer("ES256", "new"), issuer("EdDSA", "strange")
FAR = 2**40


class Site:
    """Where the key set is, and the clock; `answer` None is no answer, and none comes while it is not there."""

    def __init__(self, *issuers: Issuer) -> None:
        self.answer: str | None = key_set(*issuers)
        self.fetches = 0
        self.is_asked = asyncio.Event()
        self.is_there = asyncio.Event()
        self.is_there.set()
        self.now = 1_000.0
        self.keys = FetchedKeys("https://issuer.example/keys", self.fetch, lambda: self.now)

    async def fetch(self, url: str) -> bytes:
        """Return what is there now."""
        self.fetches += 1
        self.is_asked.set()
        await asyncio.sleep(0)
        await self.is_there.wait()
        if self.answer is None:
            raise httpx2.ConnectError("nobody there")
        return self.answer.encode()

    async def takes(self, signer: Issuer) -> bool:
        """Return whether a token of `signer` is taken."""
        try:
            await TokenVerifier([self.keys], lambda: 0.0).verify(signer.token(exp=FAR))
        except Unauthenticated:
            return False
        return True


async def test_keys_are_fetched_once_for_many_tokens() -> None:
    site = Site(OLD)
    assert all(await asyncio.gather(*(site.takes(OLD) for _ in range(20))))
    assert site.fetches == 1


async def test_keys_that_were_fetched_ahead_are_there_for_the_first_token() -> None:
    site = Site(OLD)
    await TokenVerifier([site.keys], lambda: 0.0).fetch_keys()
    assert (site.fetches, await site.takes(OLD), site.fetches) == (1, True, 1)


async def test_keys_that_cannot_be_fetched_ahead_are_fetched_for_a_later_token() -> None:
    site = Site(OLD)
    said, site.answer = site.answer, None
    with capture_logs() as lines:
        await TokenVerifier([site.keys], lambda: 0.0).fetch_keys()
    assert [(line["event"], line["log_level"]) for line in lines] == [("keys_not_fetched", "warning")]
    assert all(line["site"] and line["reason"] for line in lines)
    site.answer = said
    site.now += RETRY_SECONDS
    assert await site.takes(OLD)


@pytest.mark.parametrize("fault", [TimeoutError(), FileNotFoundError("no authorities"), ValueError("status 500")])
async def test_a_fetch_that_fails_in_whatever_way_is_said_with_its_reason_and_leaves_nobody_able_to_tell(
    fault: Exception,
) -> None:
    async def failing(url: str) -> bytes:
        raise fault

    with capture_logs() as lines, pytest.raises(KeysUnavailable):
        await FetchedKeys("https://issuer.example/keys", failing).keys(None)
    assert [line["reason"] for line in lines] == [str(fault) or "TimeoutError"]


async def test_a_set_without_a_key_that_verifies_is_said_in_the_log() -> None:
    site = Site(OLD)
    site.answer = key_set()
    with capture_logs() as lines, pytest.raises(KeysUnavailable):
        await site.takes(OLD)
    assert [(line["event"], line["site"], line["reason"]) for line in lines] == [
        ("keys_not_fetched", "issuer.example", "it contains no supported key")
    ]


async def test_of_a_token_that_names_no_key_one_that_was_added_is_looked_for_as_seldom() -> None:
    site, nameless = Site(OLD), issuer("ES256", number=1)
    assert not await site.takes(nameless)
    site.answer = key_set(nameless)
    assert not await site.takes(nameless)
    assert site.fetches == 1
    site.now += SELDOM_SECONDS
    assert await site.takes(nameless)
    assert await site.takes(nameless)
    assert not await site.takes(issuer("ES256", number=2))
    assert site.fetches == 2


async def test_a_key_that_was_added_is_taken_after_a_minute_at_the_latest() -> None:
    site = Site(OLD)
    await site.takes(OLD)
    site.answer = key_set(OLD, NEW)
    assert not await site.takes(NEW)
    site.now += SELDOM_SECONDS
    assert await site.takes(NEW)
    assert site.fetches == 2


async def test_a_fetch_for_an_unknown_key_does_not_hold_up_tokens_with_known_ones() -> None:
    site = Site(OLD)
    await site.takes(OLD)
    site.now += SELDOM_SECONDS
    site.is_there.clear()
    site.is_asked.clear()
    unknown = asyncio.create_task(site.takes(STRANGE))
    await site.is_asked.wait()
    async with asyncio.timeout(60):
        assert await site.takes(OLD)
    site.is_there.set()
    assert not await unknown


async def test_unknown_keys_make_it_fetch_once_a_minute_however_many_they_are() -> None:
    site = Site(OLD)
    for _ in range(3):
        assert not any(await asyncio.gather(*(site.takes(each) for each in (NEW, STRANGE) * 20)))
        site.now += SELDOM_SECONDS
    assert site.fetches == 3


async def test_a_key_that_was_withdrawn_is_taken_no_longer_than_ten_minutes() -> None:
    site = Site(OLD, NEW)
    assert await site.takes(OLD)
    site.answer = key_set(NEW)
    site.now += MAX_AGE_SECONDS - 1
    assert await site.takes(OLD)
    site.now += 1
    assert not await site.takes(OLD)


async def test_keys_that_could_not_be_had_once_are_asked_for_a_minute_later() -> None:
    site = Site(OLD, NEW)
    await site.takes(OLD)
    site.answer = None
    site.now += MAX_AGE_SECONDS
    assert await site.takes(OLD)
    site.answer = key_set(NEW)
    site.now += SELDOM_SECONDS
    assert not await site.takes(OLD)
    assert site.fetches == 3


@pytest.mark.parametrize("answer", [None, "", '{"keys": []}', "<html>"])
async def test_old_keys_stay_while_new_ones_cannot_be_had(answer: str | None) -> None:
    site = Site(OLD)
    await site.takes(OLD)
    site.answer = answer
    site.now += MAX_AGE_SECONDS
    assert await site.takes(OLD)
    assert site.fetches == 2


async def test_without_any_keys_nobody_can_tell_and_it_is_tried_again_soon() -> None:
    site = Site(OLD)
    site.answer = None
    for _ in range(3):
        with pytest.raises(KeysUnavailable, match=r"issuer\.example"):
            await site.takes(OLD)
    assert site.fetches == 1
    site.answer, site.now = key_set(OLD), site.now + 5
    assert await site.takes(OLD)


async def test_all_who_wait_for_a_set_that_does_not_come_wait_for_one_fetch() -> None:
    site = Site(OLD)
    site.answer = None
    site.is_there.clear()
    waiting = [asyncio.create_task(site.takes(OLD)) for _ in range(3)]
    await site.is_asked.wait()
    site.now += RETRY_SECONDS
    site.is_there.set()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in answers] == [KeysUnavailable] * 3
    assert site.fetches == 1


async def test_neither_callers_nor_the_log_are_told_more_of_the_url_than_its_site() -> None:
    async def fail(url: str) -> bytes:
        raise httpx2.ConnectError("nobody there")

    keys = FetchedKeys("https://me:secret@issuer.example/private/keys?code=secret", fail)
    with capture_logs() as logged, pytest.raises(KeysUnavailable) as caught:
        await keys.keys(None)
    assert str(caught.value) == "the keys that verify tokens cannot be fetched from issuer.example"
    assert [each["site"] for each in logged] == ["issuer.example"]
    assert "secret" not in str(logged)


async def test_a_token_that_names_no_key_is_tried_with_all_of_them() -> None:
    assert await Site(STRANGE, OLD, NEW).takes(Issuer(OLD.private_key, OLD.algorithm))


async def test_a_key_without_an_id_is_not_tried_for_tokens_that_name_another() -> None:
    site = Site(issuer("RS256"))
    private_key = issuer("RS256").private_key
    assert await site.takes(Issuer(private_key, "RS256", thumbprint_of("RS256")))
    assert not await site.takes(Issuer(private_key, "RS256", "named"))


@pytest.mark.parametrize("named", [True, False], ids=["named", "not-named"])
async def test_a_token_of_a_key_from_a_file_needs_no_url(named: bool) -> None:
    site = Site()
    site.answer = None
    verifier = TokenVerifier([FixedKeys(keys_in_set(key_set(OLD))), site.keys], lambda: 0.0)
    signer = OLD if named else Issuer(OLD.private_key, OLD.algorithm)
    assert (await verifier.verify(signer.token(exp=FAR))).principal.name == "alice"
    assert site.fetches == 0


@pytest.mark.parametrize(
    ("signer", "is_taken"),
    [(Issuer(OLD.private_key, OLD.algorithm), True), (Issuer(NEW.private_key, "ES256", "old"), False)],
    ids=["names no key", "forged"],
)
async def test_no_token_that_known_keys_decide_about_has_others_fetched(signer: Issuer, is_taken: bool) -> None:
    site = Site(OLD)
    for _ in range(2):
        assert await site.takes(signer) is is_taken
        site.now += SELDOM_SECONDS
    assert site.fetches == 1


async def test_a_token_forged_in_the_name_of_a_key_in_the_file_is_not_said_to_name_an_unknown_one() -> None:
    verifier = TokenVerifier([FixedKeys(keys_in_set(key_set(OLD))), Site(STRANGE).keys], lambda: 0.0)
    with pytest.raises(Unauthenticated, match="not signed by a key that is known here"):
        await verifier.verify(Issuer(NEW.private_key, "ES256", "old").token(exp=FAR))


@pytest.mark.parametrize("signer", [NEW, Issuer(NEW.private_key, "ES256", "old")], ids=["new-id", "id-in-file"])
async def test_a_token_of_no_key_in_the_file_may_be_of_one_at_the_url(signer: Issuer) -> None:
    site = Site(signer)
    verifier = TokenVerifier([FixedKeys(keys_in_set(key_set(OLD))), site.keys], lambda: 0.0)
    said, site.answer = site.answer, None
    with pytest.raises(KeysUnavailable):
        await verifier.verify(signer.token(exp=FAR))
    site.answer = said
    site.now += SELDOM_SECONDS
    assert (await verifier.verify(signer.token(exp=FAR))).principal.name == "alice"


async def test_a_node_without_its_keys_answers_503(store: MemoryStore) -> None:
    async with rest_node(store, auth_jwks_url="http://127.0.0.1:1/keys") as rest:
        header = f"Bearer {OLD.token()}"
        assert await rest.problem("GET", "/admin/v2/tenants", authorization=header) == (503, "keys_unavailable")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "status 302"),
        ("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", "status 500"),
        (f"HTTP/1.1 200 OK\r\nContent-Length: {MAX_SET_BYTES + 1}\r\n\r\n" + "x" * (MAX_SET_BYTES + 1), "larger than"),
    ],
)
async def test_whatever_is_no_plain_answer_of_modest_size_is_not_read(answer: str, reason: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer.encode())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ValueError, match=reason):
            await fetch(f"http://127.0.0.1:{port}/keys")


async def test_keys_are_read_over_http(store: MemoryStore) -> None:
    body = key_set(OLD)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/keys"
        async with rest_node(store, auth_jwks_url=url, superusers=("alice",)) as rest:
            assert await rest.get("/admin/v2/tenants", authorization=f"Bearer {OLD.token()}") == ["public"]


async def test_no_proxy_is_asked_for_keys_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        writer.close()

    async with await asyncio.start_server(pass_on, "127.0.0.1", 0) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert await fetch("http://issuer.invalid/keys") == b"evil"
        with pytest.raises(httpx2.ConnectError):
            await fetch("http://127.0.0.1:1/keys")


async def test_keys_on_this_machine_are_asked_for_by_tls_that_an_authority_of_the_environment_vouches_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nkeys")
        writer.close()

    authority = Authority(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*authority.sign("issuer", LOOPBACK))
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as server:
        port = server.sockets[0].getsockname()[1]
        assert await fetch(f"https://localhost:{port}/keys") == b"keys"
        monkeypatch.setenv("SSL_CERT_FILE", str(Authority(tmp_path, "stranger").file))
        with capture_logs() as lines, pytest.raises(KeysUnavailable):
            await FetchedKeys(f"https://localhost:{port}/keys").keys(None)
    assert [line["hint"] for line in lines if "SSL_CERT_FILE" in line["hint"]]


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "http://[zz]:1", "ftp://127.0.0.1"])
async def test_a_proxy_that_cannot_be_used_is_told_as_keys_that_cannot_be_had(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("all_proxy", proxy)
    with capture_logs() as lines, pytest.raises(KeysUnavailable):
        await FetchedKeys("https://issuer.invalid/keys").keys(None)
    assert [line["event"] for line in lines] == ["keys_not_fetched"]


async def test_authorities_are_read_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = list[int]()
    trust = httpx2.create_ssl_context

    def noted() -> ssl.SSLContext:
        readers.append(threading.get_ident())
        return trust()

    monkeypatch.setattr(httpx2, "create_ssl_context", noted)
    with pytest.raises(httpx2.ConnectError):
        await fetch("http://127.0.0.1:1/keys")
    assert readers
    assert threading.get_ident() not in readers
