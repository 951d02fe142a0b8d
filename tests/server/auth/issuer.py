"""Those who sign tokens: with keys of their own, rightly and in every wrong way."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

ISSUER = "https://issuer.example"
AUDIENCE = "topicfold"


class Issuer:
    """Signs with one private key; `key_id` names it in its tokens and in its key set."""

    def __init__(self, private_key: Any, algorithm: str, key_id: str | None = None) -> None:
        self.private_key = private_key
        self.algorithm = algorithm
        self.key_id = key_id

    def claims(self, **claims: Any) -> dict[str, Any]:
        """Return what a token says that ends in an hour; a claim that is None is left out."""
        times = {"nbf": 0, "exp": int(time.time()) + 3600}
        said = {"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, **times, **claims}
        return {name: value for name, value in said.items() if value is not None}

    def token(self, algorithm: str = "", headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """Return a signed token."""
        named = {} if self.key_id is None else {"kid": self.key_id}
        return jwt.encode(
            self.claims(**claims), self.private_key, algorithm or self.algorithm, headers={**named, **(headers or {})}
        )

    def signed(self, payload: bytes) -> str:
        """Return a token rightly signed, whose claims are these bytes."""
        return jwt.api_jws.encode(payload, self.private_key, self.algorithm)

    @property
    def pem(self) -> str:
        """The public key in PEM."""
        key = self.private_key.public_key()
        return str(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode())

    @property
    def jwk(self) -> dict[str, Any]:
        """The public key as an entry of a key set."""
        kind = {"R": RSAAlgorithm, "P": RSAAlgorithm, "E": ECAlgorithm}[self.algorithm[0]]
        kind = OKPAlgorithm if self.algorithm == "EdDSA" else kind
        entry: dict[str, Any] = json.loads(kind.to_jwk(self.private_key.public_key()))
        return {**entry, "use": "sig", **({} if self.key_id is None else {"kid": self.key_id})}


def issuer(algorithm: str = "RS256", key_id: str | None = None, number: int = 0) -> Issuer:
    """Return the issuer of that kind, id and number: the same key each time."""
    return _issuer(algorithm, key_id, number)


@cache
def _issuer(algorithm: str, key_id: str | None, number: int) -> Issuer:
    match algorithm:
        case "ES256" | "ES384" | "ES512":
            curve = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}[algorithm]
            return Issuer(ec.generate_private_key(curve), algorithm, key_id)
        case "EdDSA":
            return Issuer(ed25519.Ed25519PrivateKey.generate(), algorithm, key_id)
        case _:
            return Issuer(rsa.generate_private_key(65537, 2048), algorithm, key_id)


def thumbprint_of(algorithm: str = "RS256") -> str:
    """Return the id that the issuer of that kind has where nobody has named its key.

    Source: RFC 7638, written down anew.
    """
    members = {"R": ("e", "kty", "n"), "E": ("crv", "kty", "x", "y")}.get(algorithm[0], ())
    entry = issuer(algorithm).jwk
    if entry["kty"] == "OKP":
        members = ("crv", "kty", "x")
    text = "{" + ",".join(f'"{member}":"{entry[member]}"' for member in members) + "}"
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


def key_set(*issuers: Issuer) -> str:
    """Return the key set of `issuers`."""
    return json.dumps({"keys": [each.jwk for each in issuers]})
