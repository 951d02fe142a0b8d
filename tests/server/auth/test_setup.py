"""What keeps a node from starting open by mistake, and what it warns of."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import structlog
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from pydantic import ValidationError

from tests.memory_log import MemoryStore
from tests.server.auth.authority import Authority
from tests.server.rest import rest_node
from topicfold.errors import BadSetting
from topicfold.server.auth.setup import authenticator_of, security_of, tls_of, warn_of_security
from topicfold.server.auth.static_tokens import read_static_tokens
from topicfold.server.run import listen
from topicfold.settings import Settings

ANYWHERE = "0.0.0.0"


@pytest.fixture
def tokens_file(tmp_path: Path) -> Path:
    """A file of static tokens."""
    file = tmp_path / "tokens"
    file.write_text("# for development\n\ns3cret admin\n  # admin\nother  some role\n")
    return file


def warnings_of(settings: Settings) -> set[str]:
    """Return the events that a node with these settings warns of at its start; each says why."""
    with structlog.testing.capture_logs() as lines:
        warn_of_security(settings)
    return {line["event"] for line in lines if line["log_level"] == "warning" and line["reason"]}


@pytest.mark.parametrize(
    "half",
    [{"auth_issuer": "https://issuer.example"}, {"auth_audience": "topicfold"}, {"auth_role_claim": "team"},
     {"superusers": "root"}, {"auth_accept_without_nbf": True},
     {"tls_key_file": "key.pem"}, {"tls_client_ca_file": "ca.pem"}],
)  # fmt: skip
def test_half_of_what_is_needed_is_refused(half: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="need"):
        Settings(**half)


@pytest.mark.parametrize(
    "url", ["http://issuer.example/keys", "ftp://localhost/keys", "https:///keys", "file:///etc/keys", "keys", ""]
)
def test_keys_from_a_url_that_anybody_could_answer_for_are_refused(url: str) -> None:
    with pytest.raises(BadSetting, match="https"):
        authenticator_of(Settings(auth_jwks_url=url))


def test_where_a_url_lacks_its_host_it_is_said_how_one_is_written() -> None:
    with pytest.raises(BadSetting, match="no https URL with a host") as caught:
        authenticator_of(Settings(auth_jwks_url="keys"))
    assert "https://issuer.example/keys" in caught.value.hint


@pytest.mark.parametrize(
    "url", ["https://issuer.example:port/keys", "https://issuer.example/keys\n", "https://[::1/keys"]
)
def test_keys_from_what_is_no_url_are_refused(url: str) -> None:
    with pytest.raises(BadSetting, match="is not a URL"):
        authenticator_of(Settings(auth_jwks_url=url))


@pytest.mark.parametrize("site", ["http://u:s3cret@issuer.example", "http://u:s3cret@[::1", "https://u:s3cret@a:b"])
def test_what_a_url_says_beside_its_site_is_not_told(site: str) -> None:
    with pytest.raises(BadSetting, match="auth_jwks_url") as caught:
        authenticator_of(Settings(auth_jwks_url=f"{site}/keys?key=s3cret"))
    assert "s3cret" not in caught.value.reason


@pytest.mark.parametrize("url", ["https://issuer.example/keys", "http://localhost:8081/keys", "http://127.0.0.1/keys"])
def test_keys_from_https_or_from_this_machine_are_taken(url: str) -> None:
    assert authenticator_of(Settings(auth_jwks_url=url)) is not None


@pytest.mark.parametrize("text", ["", "# nothing\n", "token\n", "token \n", "a b\na c\n", "\xff"])
def test_static_tokens_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadSetting, match="auth_static_tokens_file"):
        authenticator_of(Settings(auth_static_tokens_file=file))


def test_a_file_of_static_tokens_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("s3cret admin\r\n", encoding="utf-8-sig")
    assert read_static_tokens(file).keys() == {"s3cret"}


def test_of_static_tokens_the_line_that_is_none_is_named_and_blanks_around_others_say_nothing(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("# ours\n  s3cret   admin \n\nanother\n")
    with pytest.raises(BadSetting, match="line 4 is not a token and a role"):
        read_static_tokens(file)
    file.write_text("# ours\n  s3cret   admin \n")
    assert {token: each.name for token, each in read_static_tokens(file).items()} == {"s3cret": "admin"}


async def test_static_tokens_are_taken_and_nothing_like_them(store: MemoryStore, tokens_file: Path) -> None:
    async with rest_node(store, auth_static_tokens_file=tokens_file, superusers=("admin",)) as rest:
        for token, status in {"s3cret": 200, "s3cre": 401, "s3crett": 401, "other": 200, "#": 401}.items():
            answer = await rest.send("GET", "/admin/v2/tenants", authorization=f"Bearer {token}")
            assert answer.status_code == status, token


def test_tls_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    certificate, key = Authority(tmp_path).sign("localhost")
    other, _ = Authority(tmp_path, "other").sign("localhost")
    for files in ((tmp_path / "nothing", key), (certificate, tmp_path / "nothing"), (other, key), (key, None)):
        with pytest.raises(BadSetting, match=r"tls_(cert|key)_file"):
            tls_of(Settings(tls_cert_file=files[0], tls_key_file=files[1]))
    with pytest.raises(BadSetting, match=r"tls_cert_file .*: holds no certificate in PEM, but a private key"):
        tls_of(Settings(tls_cert_file=key, tls_key_file=certificate))
    garbled = tmp_path / "garbled"
    garbled.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    for file, reason in ((key, "holds no certificate in PEM, but a private key"), (garbled, r"\[.*\]")):
        with pytest.raises(BadSetting, match=f"^tls_client_ca_file {file}: {reason}"):
            tls_of(Settings(tls_cert_file=certificate, tls_key_file=key, tls_client_ca_file=file))


def test_a_private_key_with_a_password_is_refused_and_nobody_asked_for_it(tmp_path: Path) -> None:
    certificate, key = Authority(tmp_path).sign("localhost")
    locked = load_pem_private_key(key.read_bytes(), None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"s3cret")
    )
    key.write_bytes(locked)
    with pytest.raises(BadSetting, match="the key has a password"):
        tls_of(Settings(tls_cert_file=certificate, tls_key_file=key))


def test_what_cannot_work_is_refused_before_anything_is_begun(tmp_path: Path) -> None:
    certificate, key = Authority(tmp_path).sign("localhost")
    for settings in (
        Settings(auth_static_tokens_file=tmp_path / "nothing"),
        Settings(tls_cert_file=certificate, tls_key_file=key, tls_client_ca_file=key),
    ):
        with pytest.raises(BadSetting):
            security_of(settings)


def test_only_a_node_that_knows_who_asks_or_is_told_to_be_insecure_leaves_loopback(tokens_file: Path) -> None:
    with pytest.raises(BadSetting, match="no authentication") as caught:
        listen(Settings(host=ANYWHERE, port=0))
    assert "--insecure" in caught.value.hint
    for allowed in (Settings(auth_static_tokens_file=tokens_file, host=ANYWHERE, port=0),
                    Settings(insecure=True, host=ANYWHERE, port=0)):  # fmt: skip
        listen(allowed).close()


def test_what_is_fit_for_development_only_is_said_loudly(tokens_file: Path, key_file: Path, tmp_path: Path) -> None:
    assert warnings_of(Settings()) == set()
    assert warnings_of(Settings(insecure=True)) == warnings_of(Settings(host=ANYWHERE)) == set()
    assert warnings_of(Settings(insecure=True, host=ANYWHERE)) == {"insecure"}
    assert warnings_of(Settings(auth_static_tokens_file=tokens_file)) == {"static_tokens", "no_superuser"}
    told: dict[str, Any] = {"auth_jwt_key_file": key_file, "superusers": ("root",)}
    assert warnings_of(Settings(**told)) == {"any_issuer", "any_audience"}
    told |= {"auth_issuer": "https://issuer.example", "auth_audience": "topicfold"}
    assert warnings_of(Settings(**told)) == set()
    assert warnings_of(Settings(**told, auth_accept_without_nbf=True)) == {"tokens_without_nbf"}
    assert warnings_of(Settings(**told, host=ANYWHERE)) == {"tokens_in_the_clear"}
    certificate, key = Authority(tmp_path).sign("localhost")
    assert warnings_of(Settings(**told, host=ANYWHERE, tls_cert_file=certificate, tls_key_file=key)) == set()


def test_a_certificate_that_has_expired_is_said_loudly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = Authority(tmp_path).sign("localhost")
    settings = Settings(tls_cert_file=certificate, tls_key_file=key)
    assert warnings_of(settings) == set()
    monkeypatch.setattr("topicfold.server.auth.setup.wall_clock_seconds", lambda: time.time() + 2 * 86_400)
    assert warnings_of(settings) == {"certificate_expired"}


async def test_the_address_that_is_served_is_a_host_that_is_served(store: MemoryStore, key_file: Path) -> None:
    for host, asked, status in (("10.1.2.3", "10.1.2.3:8080", 200), ("10.1.2.3", "10.1.2.4", 403),
                                (ANYWHERE, ANYWHERE, 403), (ANYWHERE, "localhost", 200)):  # fmt: skip
        async with rest_node(store, host=host, auth_jwt_key_file=key_file) as rest:
            assert (await rest.send("GET", "/livez", host=asked)).status_code == status
