"""Keys that verify tokens: which are taken from PEM and from a key set, and what each verifies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tests.server.auth.issuer import Issuer, issuer, key_set, thumbprint_of
from topicfold.errors import BadSetting
from topicfold.server.auth.keys import keys_in_set, read_key_file, thumbprint

RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")


def written(directory: Path, text: str) -> Path:
    """Return a file that holds `text`."""
    file = directory / "keys"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("kind", "algorithms"),
    [
        ("RS256", RSA_ALGORITHMS),
        ("ES256", ("ES256",)),
        ("ES384", ("ES384",)),
        ("ES512", ("ES512",)),
        ("EdDSA", ("EdDSA", "Ed25519")),
    ],
)
def test_a_key_verifies_the_algorithms_of_its_kind_only(tmp_path: Path, kind: str, algorithms: tuple[str, ...]) -> None:
    for text in (issuer(kind).pem, key_set(issuer(kind))):
        assert [key.algorithms for key in read_key_file(written(tmp_path, text))] == [algorithms]


def test_several_keys_in_one_file_are_all_taken(tmp_path: Path) -> None:
    text = f"# ours\n{issuer().pem}\n{issuer('EdDSA').pem}"
    assert len(read_key_file(written(tmp_path, text))) == 2


def test_an_entry_that_names_an_algorithm_verifies_no_other() -> None:
    entry = issuer().jwk | {"alg": "RS512", "kid": "a", "key_ops": ["sign", "verify"]}
    (key,) = keys_in_set(json.dumps({"keys": [entry]}))
    assert (key.algorithms, key.id) == (("RS512",), "a")


def test_an_entry_may_name_its_algorithm_as_it_was_called_before_or_as_it_is_now() -> None:
    for name in ("EdDSA", "Ed25519"):
        (key,) = keys_in_set(json.dumps({"keys": [issuer("EdDSA").jwk | {"alg": name}]}))
        assert key.algorithms == (name,)


def test_a_key_that_nobody_has_named_is_known_by_its_thumbprint(tmp_path: Path) -> None:
    for kind in ("RS256", "ES256", "ES384", "ES512", "EdDSA"):
        for text in (issuer(kind).pem, key_set(issuer(kind))):
            assert [key.id for key in read_key_file(written(tmp_path, text))] == [thumbprint_of(kind)]


def test_a_key_set_may_begin_with_a_byte_order_mark_or_an_empty_line_and_an_id_that_is_no_text_is_none(
    tmp_path: Path,
) -> None:
    text = json.dumps({"keys": [issuer().jwk | {"kid": 7}]})
    for start in ("\ufeff", "\n ", "\ufeff\n "):
        assert [key.id for key in read_key_file(written(tmp_path, f"{start}{text}"))] == [thumbprint_of()]


def test_a_thumbprint_is_that_of_the_standard() -> None:
    """RFC 7638, 3.1."""
    modulus = (
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3okn"
        "jhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qM"
        "QvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJz"
        "KnqDKgw"
    )
    (key,) = keys_in_set(json.dumps({"keys": [{"kty": "RSA", "n": modulus, "e": "AQAB"}]}))
    assert key.id == thumbprint(key.key) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


@pytest.mark.parametrize(
    "change",
    [{"use": "enc"}, {"key_ops": ["wrapKey"]}, {"key_ops": "verify"}, {"key_ops": None},
     {"kty": "oct", "k": "c2VjcmV0"}, {"alg": "HS256"}, {"alg": "none"}, {"alg": "ES256"}, {"kty": "?"},
     {"n": "!"}, {"n": None}, {"d": "AQAB"}],
)  # fmt: skip
def test_an_entry_that_verifies_nothing_of_ours_is_passed_over(change: dict[str, Any]) -> None:
    text = json.dumps({"keys": [issuer().jwk | change, issuer("ES256").jwk]})
    assert [key.algorithms for key in keys_in_set(text)] == [("ES256",)]


@pytest.mark.parametrize("kind", ["RS256", "ES256", "EdDSA"])
def test_a_private_key_in_a_set_is_passed_over(kind: str) -> None:
    entry = jwt.get_algorithm_by_name(kind).to_jwk(issuer(kind).private_key, as_dict=True)
    assert "d" in entry
    assert keys_in_set(json.dumps({"keys": [entry]})) == ()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"keys": {}}', '{"keys": [1, null]}', "[" * 100_000, "\x00"])
def test_what_is_no_key_set_holds_no_keys(text: str) -> None:
    assert keys_in_set(text) == ()


WEAK = Issuer(rsa.generate_private_key(65537, 1024), "RS256")
FOREIGN = Issuer(ec.generate_private_key(ec.SECP256K1()), "ES256")
UNKNOWN_CURVE = """-----BEGIN PUBLIC KEY-----
MDIwEAYHKoZIzj0CAQYFK4EEAAYDHgAEgwoqFWqLyKmKIkbAEqCT/n2Pgp8TaKRo
QmYmaQ==
-----END PUBLIC KEY-----
"""
"""Of secp112r1, which `cryptography` does not know."""


def test_a_key_on_a_curve_that_is_not_known_is_passed_over(tmp_path: Path) -> None:
    assert [key.id for key in read_key_file(written(tmp_path, f"{UNKNOWN_CURVE}{issuer().pem}"))] == [thumbprint_of()]


@pytest.mark.parametrize(
    "text",
    ["", "a text", WEAK.pem, FOREIGN.pem, UNKNOWN_CURVE, "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
     "{}"],
)  # fmt: skip
def test_a_file_without_a_key_that_is_taken_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadSetting, match="contains no supported public key"):
        read_key_file(written(tmp_path, text))


def test_a_private_key_is_refused(tmp_path: Path) -> None:
    key = issuer().private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(BadSetting, match="holds a private key") as caught:
        read_key_file(written(tmp_path, key.decode()))
    assert "openssl pkey" in caught.value.hint


@pytest.mark.parametrize("kind", ["RS256", "ES256", "EdDSA"])
def test_a_private_key_among_public_ones_of_a_set_is_refused(tmp_path: Path, kind: str) -> None:
    private = jwt.get_algorithm_by_name(kind).to_jwk(issuer(kind).private_key, as_dict=True)
    with pytest.raises(BadSetting, match="holds a private key") as caught:
        read_key_file(written(tmp_path, json.dumps({"keys": [issuer().jwk, private]})))
    assert "members d" in caught.value.hint


def test_a_key_that_is_no_text_is_refused_and_the_setting_named(tmp_path: Path) -> None:
    file = tmp_path / "key.der"
    file.write_bytes(issuer().private_key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(BadSetting, match=f"^auth_jwt_key_file {file}: is DER, and must be PEM$"):
        read_key_file(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="cannot be read"):
        read_key_file(tmp_path / "nothing")
