"""Files of certificates and keys that are no PEM, or not what they should be."""

from __future__ import annotations

import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.server.auth.authority import Authority
from topicfold.errors import BadSetting
from topicfold.pem import CERTIFICATE, PRIVATE_KEY, PUBLIC_KEY, require_current, require_pair, require_pem, tls_reason

Pair = tuple[Path, Path]


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Authority(tmp_path).sign("root")


def made(command: str, source: Path, target: Path) -> Path:
    """Return `target`, which OpenSSL has made of `source`."""
    subprocess.run(["openssl", *command.split(), "-in", source, "-out", target], check=True, capture_output=True)
    return target


@pytest.mark.parametrize(
    ("wanted", "to_der"),
    [
        (CERTIFICATE, "x509 -outform DER"),
        (PRIVATE_KEY, "pkey -outform DER"),
        (PUBLIC_KEY, "pkey -pubout -outform DER"),
    ],
)
def test_der_is_named_and_the_command_makes_pem_of_it(pair: Pair, tmp_path: Path, wanted: str, to_der: str) -> None:
    der = made(to_der, pair[0] if wanted == CERTIFICATE else pair[1], tmp_path / "in.der")
    with pytest.raises(BadSetting, match=rf"^file {der}: is DER, and must be PEM$") as refused:
        require_pem("file", der, wanted)
    command = refused.value.hint.removeprefix("To make PEM of it: openssl ").split(" -in ")[0]
    require_pem("file", made(command, der, tmp_path / "out.pem"), wanted)


def test_a_store_of_pkcs_12_is_named(pair: Pair, tmp_path: Path) -> None:
    store = made(f"pkcs12 -export -inkey {pair[1]} -passout pass:x", pair[0], tmp_path / "store.p12")
    with pytest.raises(BadSetting, match="is PKCS #12, and must be PEM") as refused:
        require_pem("file", store, CERTIFICATE)
    assert f"openssl pkcs12 -nodes -in {store}" in refused.value.hint


def test_what_is_neither_there_nor_there_is_said(pair: Pair, tmp_path: Path) -> None:
    certificate, key = pair
    with pytest.raises(BadSetting, match=rf"^tls_cert_file {key}: holds no certificate in PEM$"):
        require_pair("tls_", key, None)
    with pytest.raises(BadSetting, match=rf"^tls_key_file {tmp_path}/nothing: No such file or directory$"):
        require_pair("tls_", certificate, tmp_path / "nothing")
    with pytest.raises(BadSetting, match=rf"^tls_cert_file {certificate}: holds no private key$") as refused:
        require_pair("tls_", certificate, None)
    assert refused.value.hint == "Name the file that does: tls_key_file"


def test_a_key_of_another_certificate_is_said_to_be_so(pair: Pair, tmp_path: Path) -> None:
    _, other = Authority(tmp_path, "other").sign("root")
    with pytest.raises(ssl.SSLError) as refused:
        ssl.create_default_context().load_cert_chain(pair[0], other)
    assert tls_reason(refused.value) == "the private key is that of another certificate"


@pytest.mark.parametrize("days", [1, 365 * 40])
def test_a_certificate_is_current_until_it_ends(tmp_path: Path, days: int) -> None:
    certificate, _ = Authority(tmp_path).sign("root", ends=timedelta(days=days))
    end = datetime.now(UTC) + timedelta(days=days)
    require_current("file", certificate, end - timedelta(minutes=1))
    with pytest.raises(BadSetting, match=f"^file {certificate}: the certificate expired at {end:%Y-%m-%d} "):
        require_current("file", certificate, end + timedelta(minutes=1))


def test_a_certificate_with_openssl_s_own_heading_is_not_looked_into(pair: Pair, tmp_path: Path) -> None:
    certificate = made("x509 -trustout", pair[0], tmp_path / "trusted.pem")
    require_pem("file", certificate, CERTIFICATE)
    require_current("file", certificate, datetime.max.replace(tzinfo=UTC))
