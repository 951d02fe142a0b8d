"""Files of certificates and keys that are no PEM, or not what they should be."""

from __future__ import annotations

import os
import ssl
import subprocess
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

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
    with pytest.raises(BadSetting, match=rf"^tls_cert_file {key}: holds no certificate in PEM, but a private key$"):
        require_pair("tls_", key, None)
    with pytest.raises(BadSetting, match=rf"^tls_key_file {tmp_path}/nothing: No such file or directory$"):
        require_pair("tls_", certificate, tmp_path / "nothing")
    with pytest.raises(BadSetting, match=rf"^tls_cert_file {certificate}: holds no private key$") as refused:
        require_pair("tls_", certificate, None)
    assert refused.value.hint == "Name the file that does: tls_key_file"


def test_a_key_of_another_certificate_is_said_to_be_so(pair: Pair, tmp_path: Path) -> None:
    _, other = Authority(tmp_path, "other").sign("root")
    other_kind = tmp_path / "rsa.pem"
    other_kind.write_bytes(
        generate_private_key(65_537, 2_048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    for key in (other, other_kind):
        with pytest.raises(ssl.SSLError) as refused:
            ssl.create_default_context().load_cert_chain(pair[0], key)
        assert tls_reason(refused.value) == "the private key is that of another certificate"


@pytest.mark.parametrize("days", [1, 365 * 40])
def test_a_certificate_is_current_until_it_ends(tmp_path: Path, days: int) -> None:
    certificate, _ = Authority(tmp_path).sign("root", ends=timedelta(days=days))
    end = datetime.now(UTC) + timedelta(days=days)
    require_current("file", certificate, end - timedelta(minutes=1))
    with pytest.raises(BadSetting, match=f"^file {certificate}: the certificate expired at {end:%Y-%m-%d} "):
        require_current("file", certificate, end + timedelta(minutes=1))


@pytest.mark.parametrize(
    "head",
    [
        "# below is a -----BEGIN CERTIFICATE----- of ours\n",
        "-----END CERTIFICATE-----\n",
        "  -----BEGIN CERTIFICATE-----\n",
    ],
)
def test_the_end_of_a_certificate_is_found_behind_whatever_openssl_passes_over(pair: Pair, head: str) -> None:
    certificate, key = pair
    certificate.write_text(head + certificate.read_text())
    ssl.create_default_context().load_cert_chain(certificate, key)
    require_current("file", certificate, datetime.now(UTC))
    with pytest.raises(BadSetting, match="expired"):
        require_current("file", certificate, datetime.max.replace(tzinfo=UTC))


def test_a_certificate_with_openssl_s_own_heading_ends_too(pair: Pair, tmp_path: Path) -> None:
    certificate = made("x509 -trustout", pair[0], tmp_path / "trusted.pem")
    require_pem("file", certificate, CERTIFICATE)
    with pytest.raises(BadSetting, match="expired"):
        require_current("file", certificate, datetime.max.replace(tzinfo=UTC))


def test_a_certificate_whose_end_cannot_be_read_is_not_judged(tmp_path: Path) -> None:
    file = tmp_path / "odd.pem"
    file.write_text("-----BEGIN CERTIFICATE-----\nMDAwMA==\n-----END CERTIFICATE-----\n")
    require_current("file", file, datetime.max.replace(tzinfo=UTC))


def test_text_that_begins_as_der_does_is_not_called_so(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("0123 is my number")
    with pytest.raises(BadSetting, match="holds no certificate in PEM"):
        require_pem("file", file, CERTIFICATE)


def test_a_path_that_none_can_be_is_refused() -> None:
    with pytest.raises(BadSetting, match="null"):
        require_pem("file", "a\0b", CERTIFICATE)


def test_what_can_be_read_but_once_is_left_to_who_reads_it(pair: Pair, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=lambda: pipe.write_bytes(pair[0].read_bytes()))
    writing.start()
    require_pem("file", pipe, CERTIFICATE)
    require_current("file", pipe, datetime.max.replace(tzinfo=UTC))
    context = ssl.create_default_context(cafile=pipe)
    writing.join()
    assert context.cert_store_stats()["x509"] >= 1
