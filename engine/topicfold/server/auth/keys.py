"""Public keys that tokens are verified with: from PEM, or from a JSON Web Key Set.

A key verifies the algorithms of its own kind and no other, so a token cannot choose how it is looked at. Symmetric
keys and RSA keys below 2048 bits are not taken. Each key has an id: the one that its set gives it, else its thumbprint.

Source: RFC 7517, RFC 7518, RFC 7638 (thumbprints), RFC 8725 (JWT best current practices), RFC 9864 (Ed25519).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from topicfold.errors import BadSetting
from topicfold.pem import PUBLIC_KEY, no_pem
from topicfold.text.json_text import read_json

MIN_RSA_BITS = 2048

_OF_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_OF_CURVE = {"secp256r1": ("ES256",), "secp384r1": ("ES384",), "secp521r1": ("ES512",)}
_OF_ED25519 = ("EdDSA", "Ed25519")
"""The former and the newer name for the same."""
_OF_THUMBPRINT = {"RSA": ("e", "kty", "n"), "EC": ("crv", "kty", "x", "y"), "OKP": ("crv", "kty", "x")}
_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----.+?-----END \1-----", re.DOTALL)

ALGORITHMS = frozenset((*_OF_RSA, "ES256", "ES384", "ES512", *_OF_ED25519))

PublicKey = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key, what it verifies, and its id, which tokens name as `kid`."""

    key: PublicKey
    algorithms: tuple[str, ...]
    id: str


def read_key_file(file: Path) -> tuple[VerificationKey, ...]:
    """Return the keys in a file: public keys in PEM, or a JSON Web Key Set.

    Raises:
        BadSetting: it cannot be read, or holds a private key, or no key that is taken.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise BadSetting(f"auth_jwt_key_file {file}: cannot be read: {error}") from None
    try:
        # Some editors begin a file with a byte order mark, which is no JSON.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise no_pem("auth_jwt_key_file", file, content, PUBLIC_KEY) from None
    entries = _entries_in(text) if text.lstrip().startswith("{") else None
    is_private_entry = any("d" in entry for entry in entries or ())
    if is_private_entry or "PRIVATE KEY-----" in text:
        how = "leave out the members d, p, q, dp, dq, qi" if is_private_entry else "openssl pkey -in PRIVATE -pubout"
        raise BadSetting(
            f"auth_jwt_key_file {file}: holds a private key", hint=f"The server needs only the public one: {how}"
        )
    keys = _keys_in_pem(text) if entries is None else _keys_of(entries)
    if not keys:
        raise BadSetting(
            f"auth_jwt_key_file {file}: contains no supported public key",
            hint=f"RSA of {MIN_RSA_BITS} bits or more, EC on P-256, P-384 or P-521, or Ed25519; as PEM or as JWKS.",
        )
    return keys


def keys_in_set(text: str | bytes) -> tuple[VerificationKey, ...]:
    """Return the keys of a JSON Web Key Set that can verify a token; others, and what is no set, are passed over."""
    return _keys_of(_entries_in(text))


def thumbprint(key: PublicKey) -> str:
    """Return the id of a key that nobody has named.

    Source: RFC 7638, with SHA-256.
    """
    match key:
        case RSAPublicKey():
            entry = RSAAlgorithm.to_jwk(key, as_dict=True)
        case EllipticCurvePublicKey():
            entry = ECAlgorithm.to_jwk(key, as_dict=True)
        case Ed25519PublicKey():
            entry = OKPAlgorithm.to_jwk(key, as_dict=True)
        case _:
            assert_never(key)
    required = {member: entry[member] for member in _OF_THUMBPRINT[entry["kty"]]}
    digest = hashlib.sha256(json.dumps(required, separators=(",", ":")).encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _entries_in(text: str | bytes) -> Sequence[Mapping[str, Any]]:
    try:
        document = read_json(text)
    except ValueError:
        return ()
    entries = document.get("keys") if isinstance(document, dict) else None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else ()


def _keys_of(entries: Sequence[Mapping[str, Any]]) -> tuple[VerificationKey, ...]:
    return tuple(key for entry in entries if (key := _key_of(entry)) is not None)


def _key_of(entry: Mapping[str, Any]) -> VerificationKey | None:
    operations = entry.get("key_ops", ["verify"])
    if entry.get("use", "sig") != "sig" or not isinstance(operations, list) or "verify" not in operations:
        return None
    try:
        # Without `alg`, the library goes by the kind of key; it does not know all algorithms that are verified here.
        parsed = jwt.PyJWK({member: value for member, value in entry.items() if member != "alg"}).key
    except Exception:  # noqa: BLE001 -- an entry may hold anything, and makes the library raise anything
        return None
    identifier = entry.get("kid")
    return _verifying(parsed, identifier if isinstance(identifier, str) else None, entry.get("alg"))


def _keys_in_pem(text: str) -> tuple[VerificationKey, ...]:
    found = []
    for block in _PEM.finditer(text):
        with suppress(ValueError, UnsupportedAlgorithm):
            found.append(_verifying(load_pem_public_key(block[0].encode())))
    return tuple(key for key in found if key is not None)


def _verifying(key: object, identifier: str | None = None, only: object = None) -> VerificationKey | None:
    """Return `key` with the algorithms of its kind, of which only `only` is kept if that is given."""
    algorithms: tuple[str, ...]
    if isinstance(key, RSAPublicKey):
        algorithms = _OF_RSA if key.key_size >= MIN_RSA_BITS else ()
    elif isinstance(key, EllipticCurvePublicKey):
        algorithms = _OF_CURVE.get(key.curve.name, ())
    elif isinstance(key, Ed25519PublicKey):
        algorithms = _OF_ED25519
    else:
        return None
    kept = tuple(each for each in algorithms if only in (None, each))
    return VerificationKey(key, kept, identifier or thumbprint(key)) if kept else None
