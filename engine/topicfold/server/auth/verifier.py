"""What verifies JSON Web Tokens, as the settings say. What that takes is imported by nodes that take some, only."""

from __future__ import annotations

from collections.abc import Callable

import httpx2

from topicfold.errors import BadSetting
from topicfold.loopback import is_loopback
from topicfold.server.auth.key_sets import FetchedKeys, FixedKeys, KeySet
from topicfold.server.auth.keys import read_key_file
from topicfold.server.auth.tokens import TokenVerifier
from topicfold.settings import Settings


def verifier_of(settings: Settings, clock: Callable[[], float]) -> TokenVerifier:
    """Return what verifies tokens with the keys that `settings` name, by `clock`.

    Raises:
        BadSetting: the file of keys cannot be read or holds something else, or their URL cannot be trusted.
    """
    key_sets: list[KeySet] = []
    if settings.auth_jwt_key_file is not None:
        key_sets.append(FixedKeys(read_key_file(settings.auth_jwt_key_file)))
    if settings.auth_jwks_url is not None:
        key_sets.append(FetchedKeys(_trustworthy(settings.auth_jwks_url)))
    return TokenVerifier(
        key_sets,
        clock,
        issuer=settings.auth_issuer,
        audience=settings.auth_audience,
        role_claim=settings.auth_role_claim,
        takes_no_beginning=settings.auth_accept_without_nbf,
    )


def _trustworthy(url: str) -> str:
    """Return `url` if what is fetched from it can be trusted. No more of it is told than its scheme and host.

    Raises:
        BadSetting: it is no URL, or not https, nor on this machine.
    """
    try:
        parts = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise BadSetting(f"auth_jwks_url is not a URL: {error}") from None
    if not (parts.scheme and parts.host):
        raise BadSetting("auth_jwks_url is no https URL with a host", hint="Write it like https://issuer.example/keys.")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.host)):
        raise BadSetting(
            f"auth_jwks_url {f'{parts.scheme}://{parts.host}'!r} is neither an https URL nor on this machine",
            hint="Otherwise anyone who can answer in its place could sign any token.",
        )
    return url
