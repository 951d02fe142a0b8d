"""Who the client says it is, and which servers it believes: tokens, authorities, certificates of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.x509 import UniformResourceIdentifier

from tests.client.served import serving
from tests.server.auth.authority import LOOPBACK, Authority
from tests.server.auth.issuer import issuer
from topicfold.client import Added, AsyncClient, Client, ServerUnreachable, Watch
from topicfold.client.transport import tls
from topicfold.errors import BadSetting, Forbidden, InvalidRequest, Unauthenticated
from topicfold.runtime.watching import watches
from topicfold.server.auth import setup

_HOUR = timedelta(hours=1)


class Clock:
    """What credentials are held against; may be put forward."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> float:
        return time.time() + self.ahead.total_seconds()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of clients, and of the nodes that are made after it, which look at it all the time."""
    made = Clock()
    monkeypatch.setattr(setup, "wall_clock_seconds", made)
    monkeypatch.setattr(tls, "datetime", SimpleNamespace(now=lambda zone: datetime.fromtimestamp(made(), zone)))
    monkeypatch.setattr(watches, "BEAT_SECONDS", 0.05)
    return made


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def closed_url(tmp_path: Path, authority: Authority) -> Iterator[str]:
    """The URL of a server that speaks TLS and asks everybody who they are."""
    tokens = tmp_path / "tokens"
    tokens.write_text("s3cret root\nother somebody\n")
    certificate, key = authority.sign("localhost", LOOPBACK)
    with serving(
        tls_cert_file=certificate, tls_key_file=key, tls_client_ca_file=authority.file,
        auth_static_tokens_file=tokens, superusers=("root",),
    ) as (url,):  # fmt: skip
        yield url


def test_a_token_says_who_asks(closed_url: str, authority: Authority) -> None:
    with Client(closed_url, tls_ca_file=authority.file, token="s3cret") as client:
        client.create_topic("orders")
        assert client.list_tenants() == ("public",)


def test_a_function_is_asked_for_the_token_of_each_request(closed_url: str, authority: Authority) -> None:
    token = "s3cret"
    with Client(closed_url, tls_ca_file=authority.file, token=lambda: token) as client:
        client.create_topic("orders")
        for token, error in (("other", Forbidden), ("", Unauthenticated), ("a\nb", InvalidRequest)):  # noqa: B007
            with pytest.raises(error):
                client.create_topic("refunds")


def test_a_function_that_fails_to_return_a_token_is_named(closed_url: str, authority: Authority) -> None:
    with (
        Client(closed_url, tls_ca_file=authority.file, token=lambda: {}["token"]) as client,
        pytest.raises(BadSetting, match="the token cannot be obtained: KeyError"),
    ):
        client.list_tenants()


def test_a_function_that_returns_no_token_is_told_so(closed_url: str, authority: Authority) -> None:
    for token, said in ((lambda: None, "returned NoneType, not text"), (lambda: "a\n", "no header can carry")):
        client = Client(closed_url, tls_ca_file=authority.file, token=token)  # type: ignore[arg-type, return-value]
        with client, pytest.raises((BadSetting, InvalidRequest), match=said):
            client.list_tenants()


@pytest.fixture
def signed_url(tmp_path: Path) -> Iterator[str]:
    """The URL of a server that wants tokens which expire."""
    key_file = tmp_path / "key.pem"
    key_file.write_text(issuer().pem)
    with serving(auth_jwt_key_file=key_file, superusers=("root",)) as (url,):
        yield url


def test_a_watch_outlives_a_token_that_is_renewed_and_no_other(clock: Clock, signed_url: str) -> None:
    def token() -> str:
        return issuer().token(sub="root", exp=int(clock() + _HOUR.total_seconds()))

    with Client(signed_url, token=token) as renewing, Client(signed_url, token=token()) as fixed:
        outliving, ending = renewing.watch("team=pay"), fixed.watch("team=pay")
        for watch in (outliving, ending):
            next(watch)
        clock.ahead = 2 * _HOUR
        with pytest.raises(Unauthenticated):
            list(ending)
        renewing.create_topic("orders", labels={"team": "pay"})
        told = next(frame for frame in outliving if isinstance(frame, Added))
        assert told.topic.name == "persistent://public/default/orders"


def test_a_certificate_says_who_asks(closed_url: str, authority: Authority) -> None:
    certificate, key = authority.sign("root")
    with Client(
        closed_url, tls_ca_file=str(authority.file), client_cert_file=certificate, client_key_file=key
    ) as client:
        client.create_topic("orders")


def test_a_watch_outlives_a_certificate_that_is_renewed_and_no_other(
    clock: Clock, closed_url: str, authority: Authority
) -> None:
    renewed, fixed = (
        authority.sign("root", ends=_HOUR),
        authority.sign("spiffe", [UniformResourceIdentifier("root")], _HOUR),
    )
    with watching_as(closed_url, authority, renewed) as outliving, watching_as(closed_url, authority, fixed) as ending:
        for watch in (outliving, ending):
            next(watch)
        authority.sign("root")
        clock.ahead = 2 * _HOUR
        with pytest.raises(BadSetting, match=f"^client_cert_file {fixed[0]}: the certificate expired at"):
            list(ending)
        with Client(closed_url, tls_ca_file=authority.file, token="s3cret") as client:
            client.create_topic("orders", labels={"team": "pay"})
        told = next(frame for frame in outliving if isinstance(frame, Added))
        assert told.topic.name == "persistent://public/default/orders"


@contextmanager
def watching_as(url: str, authority: Authority, shown: tuple[Path, Path]) -> Iterator[Watch]:
    certificate, key = shown
    with Client(url, tls_ca_file=authority.file, client_cert_file=certificate, client_key_file=key) as client:
        yield client.watch("team=pay")


def test_calls_end_the_connections_of_a_certificate_that_was_replaced(closed_url: str, authority: Authority) -> None:
    certificate, key = authority.sign("root")
    with Client(closed_url, tls_ca_file=authority.file, client_cert_file=certificate, client_key_file=key) as client:
        client.create_topic("orders")
        for replaced in zip((certificate, key), authority.sign("other"), strict=True):
            replaced[0].write_bytes(replaced[1].read_bytes())
            client.namespace_labels("public/default")  # as the former: with the new certificate alone, and once more
        with pytest.raises(Forbidden):
            client.create_topic("refunds")


async def test_an_async_client_goes_by_an_authority_that_was_replaced(closed_url: str, tmp_path: Path) -> None:
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(Authority(tmp_path, "former").file.read_bytes())
    async with AsyncClient(closed_url, tls_ca_file=trusted, token="s3cret") as client:
        with pytest.raises(ServerUnreachable, match="certificate verify failed"):
            await client.list_tenants()
        trusted.write_bytes((tmp_path / "authority.pem").read_bytes())
        assert await client.list_tenants() == ("public",)


def test_whoever_does_not_say_and_whoever_may_not_get_different_errors(closed_url: str, authority: Authority) -> None:
    for token, error in ((None, Unauthenticated), ("wrong", Unauthenticated), ("other", Forbidden)):
        with Client(closed_url, tls_ca_file=authority.file, token=token) as client, pytest.raises(error) as caught:
            client.create_topic("orders")
        assert caught.value.hint


def test_a_server_that_nobody_vouches_for_is_not_spoken_to(closed_url: str, tmp_path: Path) -> None:
    for authority in (None, Authority(tmp_path, "stranger").file):
        with Client(closed_url, tls_ca_file=authority) as client, pytest.raises(ServerUnreachable) as refused:
            client.list_tenants()
        assert "certificate verify failed" in refused.value.reason
        assert refused.value.hint.endswith("name the CA of its certificate: tls_ca_file")


def test_a_server_whose_certificate_has_expired_is_said_to_need_a_new_one(authority: Authority) -> None:
    certificate, key = authority.sign("localhost", LOOPBACK, ends=timedelta(hours=-1))
    with serving(tls_cert_file=certificate, tls_key_file=key) as (url,):
        with Client(url, tls_ca_file=authority.file) as client, pytest.raises(ServerUnreachable) as refused:
            client.list_tenants()
        assert refused.value.hint == "The server needs a new certificate."


def test_a_certificate_of_other_names_is_told_from_one_that_nobody_vouches_for(authority: Authority) -> None:
    certificate, key = authority.sign("elsewhere")
    with serving(tls_cert_file=certificate, tls_key_file=key) as (url,):
        with Client(url, tls_ca_file=authority.file) as client, pytest.raises(ServerUnreachable) as refused:
            client.list_tenants()
        assert refused.value.hint.startswith("Use a name that the certificate has")


def test_files_that_cannot_be_used_are_named(tmp_path: Path, authority: Authority) -> None:
    certificate, key = authority.sign("root")
    for name, files in {
        "tls_ca_file": {"tls_ca_file": tmp_path / "nothing"},
        "client_cert_file": {"client_cert_file": key, "client_key_file": key},
        "client_key_file": {"client_cert_file": certificate, "client_key_file": authority.file},
        "client_key_file needs": {"client_key_file": key},
    }.items():
        for url in ("https://localhost", "http://localhost"):
            with pytest.raises(BadSetting, match=name):
                Client(url, **files)


def test_an_authority_also_vouches_for_a_node_that_one_on_this_machine_sends_on_to(
    closed_url: str, authority: Authority
) -> None:
    identity = {"tls_ca_file": authority.file, "token": "s3cret"}
    with (
        serving(owners={"public/default": closed_url}, advertised_url="http://127.0.0.1:1") as (url,),
        Client(url, **identity) as client,
    ):
        assert client.namespace_labels("public/default") == {}


def test_a_certificate_that_has_expired_is_not_shown(authority: Authority) -> None:
    certificate, key = authority.sign("root", ends=timedelta(hours=-1))
    with pytest.raises(
        BadSetting, match=rf"^client_cert_file {certificate}: the certificate expired at \d{{4}}-"
    ) as old:
        Client("https://localhost", client_cert_file=certificate, client_key_file=key)
    assert old.value.hint == "Have a new one signed."
