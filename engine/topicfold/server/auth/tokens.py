"""JSON Web Tokens: what one must be to prove who asks.

Only asymmetric signatures by a key from the settings. Whatever is wrong with a token ends in `Unauthenticated`: a
token is a stranger's bytes, and libraries raise anything for some of them.

Source: RFC 7519, RFC 8725, RFC 9864 (Ed25519); Pulsar's `AuthenticationProviderToken`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import jwt
from jwt.algorithms import OKPAlgorithm

from topicfold.errors import KeysUnavailable, Unauthenticated
from topicfold.server.auth.key_sets import ANOTHER, KeySet
from topicfold.server.auth.keys import ALGORITHMS, VerificationKey
from topicfold.server.auth.principal import Credential, Principal, principal_with
from topicfold.text.json_text import read_json

LEEWAY_SECONDS = 10.0
"""By how much clocks may differ."""

_signatures = jwt.PyJWS()
"""What verifies signatures; all else that a token says is checked here, by our own clock and settings."""
with suppress(ValueError):  # the library has come to know it
    _signatures.register_algorithm("Ed25519", OKPAlgorithm())


class TokenVerifier:
    """Verifies tokens signed by one of some keys, of which those that may be out of reach come last.

    A token that names a key is held against that key only. `issuer` and `audience` "" take any; `role_claim` holds the
    role, or a list of roles. A token must say when it ends and, but with `takes_no_beginning`, from when it is valid.
    """

    def __init__(
        self,
        key_sets: Sequence[KeySet],
        clock: Callable[[], float],
        *,
        issuer: str = "",
        audience: str = "",
        role_claim: str = "sub",
        takes_no_beginning: bool = False,
    ) -> None:
        self._key_sets = key_sets
        self._clock = clock
        self._issuer = issuer
        self._audience = audience
        self._role_claim = role_claim
        self._takes_no_beginning = takes_no_beginning

    async def fetch_keys(self) -> None:
        """Have the keys at hand that can be had now, before the first token comes."""
        for key_set in self._key_sets:
            with suppress(KeysUnavailable):
                await key_set.keys(None)

    async def verify(self, token: str) -> Credential:
        """Return who `token` proves its bearer to be.

        Raises:
            Unauthenticated: it proves nothing; says why.
            KeysUnavailable: that cannot be told now.
        """
        algorithm, key_id = _header(token)
        claims = await self._signed_claims(token, algorithm, key_id)
        until = self._check_times(claims)
        self._check_meant_for_us(claims)
        return Credential(self._principal(claims), until)

    async def _signed_claims(self, token: str, algorithm: str, key_id: str | None) -> dict[str, Any]:
        """Return what `token` claims, signed by a key of the first set that has it: no other needs to be had for that.

        Raises:
            Unauthenticated: no key has signed it.
            KeysUnavailable: a set cannot be had, and none before it has the key.
        """
        is_known = False
        for key_set in self._key_sets:
            found = await key_set.keys(key_id)
            keys = [key for key in found if key_id in (None, key.id)]
            is_known = is_known or bool(keys)
            claims = _claims_signed_by(keys, token, algorithm)
            if claims is None and key_id is None and (renewed := await key_set.keys(ANOTHER)) is not found:
                claims = _claims_signed_by(renewed, token, algorithm)
            if claims is not None:
                return claims
        if key_id is not None and not is_known:
            raise Unauthenticated(f"the token names a key (kid {key_id[:80]!r}) that is not known here")
        raise Unauthenticated("the token is not signed by a key that is known here")

    def _check_times(self, claims: dict[str, Any]) -> float:
        """Return when the token ends, by the latest clock that it may be held against."""
        now = self._clock()
        ends, begins = _time_in(claims, "exp"), _time_in(claims, "nbf")
        if ends is None:
            raise Unauthenticated("the token does not say when it expires (claim exp)")
        if begins is None and not self._takes_no_beginning:
            raise Unauthenticated(
                "the token does not say from when it is valid (claim nbf)",
                hint="Have it say so, or ask whoever runs the server for --auth-accept-without-nbf.",
            )
        if not now < ends + LEEWAY_SECONDS:
            raise Unauthenticated(
                f"the token has expired, {now - ends:,.0f} seconds ago by this server's clock",
                hint="Get a new token. If it is new, check the clocks.",
            )
        if begins is not None and not begins - LEEWAY_SECONDS <= now:
            raise Unauthenticated(
                f"the token is not valid yet, for another {begins - now:,.0f} seconds by this server's clock",
                hint="Wait until it is, or check the clocks.",
            )
        return ends + LEEWAY_SECONDS

    def _check_meant_for_us(self, claims: dict[str, Any]) -> None:
        issuer, audience = claims.get("iss"), claims.get("aud")
        if self._issuer and issuer != self._issuer:
            reason = "does not say who issued it (claim iss)" if issuer is None else "is from another issuer"
            raise Unauthenticated(f"the token {reason}")
        if self._audience and self._audience not in (audience if isinstance(audience, list) else [audience]):
            reason = "does not name its audience (claim aud)" if audience is None else "is meant for another audience"
            raise Unauthenticated(f"the token {reason}")

    def _principal(self, claims: dict[str, Any]) -> Principal:
        found = claims.get(self._role_claim)
        named = found if isinstance(found, list) else [found]
        roles = [role for role in named if isinstance(role, str)]
        subject = claims.get("sub")
        if len(roles) != len(named):
            raise Unauthenticated(f"the token names no role (claim {self._role_claim})")
        return principal_with(roles, subject if isinstance(subject, str) else "")


def _header(token: str) -> tuple[str, str | None]:
    """Return which algorithm and which key a token says it is signed with; neither is believed yet."""
    try:
        header = jwt.get_unverified_header(token)
    except Exception:  # noqa: BLE001 -- nested deeply enough, it is a RecursionError; other bytes raise other things
        raise Unauthenticated("the token is malformed") from None
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise Unauthenticated(f"the token's algorithm is not one of {', '.join(sorted(ALGORITHMS))}")
    if "crit" in header:
        raise Unauthenticated("the token's header asks for what is not known here")
    return algorithm, key_id


def _claims_signed_by(keys: Sequence[VerificationKey], token: str, algorithm: str) -> dict[str, Any] | None:
    """Return what a token claims if one of `keys` has signed it."""
    for key in keys:
        if algorithm not in key.algorithms:
            continue
        try:
            claims = read_json(_signatures.decode(token, key.key, algorithms=[algorithm]))
        except jwt.InvalidSignatureError:
            continue
        except Exception:  # noqa: BLE001 -- as above: some bytes make the library raise anything
            raise Unauthenticated("the token is malformed") from None
        if not isinstance(claims, dict):
            raise Unauthenticated("the token is malformed")
        return claims
    return None


def _time_in(claims: dict[str, Any], name: str) -> float | None:
    found = claims.get(name)
    if found is None:
        return None
    # Only NaN is not equal to itself; `math.isnan` takes no integer beyond all floats.
    if isinstance(found, bool) or not isinstance(found, int | float) or found != found:
        raise Unauthenticated(f"the token's claim {name} is not a time")
    return min(max(found, 0), 2**53)
