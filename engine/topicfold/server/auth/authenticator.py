"""From a request to who sent it: by its token, else by the certificate of its connection, else refused."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from starlette.types import Scope

from topicfold.errors import Unauthenticated
from topicfold.server.auth.peer import peer_of
from topicfold.server.auth.principal import Credential, Principal
from topicfold.server.guard import AUTHORIZATION, HEADERS_KEY, MAX_TOKEN_BYTES

if TYPE_CHECKING:
    from topicfold.server.auth.tokens import TokenVerifier

SCHEME = b"Bearer "
RECHECK_SECONDS = 300.0
"""For how long a token that was verified is taken without another look at its signature, if it lasts as long."""
MAX_REMEMBERED = 10_000

_NOBODY = "Need to authenticate to perform the request"
"""Pulsar's words."""
_AS_BEARER = "Send Authorization: Bearer TOKEN, with a token that this server accepts."
_AS_CERTIFIED = "Connect with a client certificate that this server accepts."
_AS_EITHER = "Send Authorization: Bearer TOKEN, or connect with a client certificate, that this server accepts."
_NAMING_SOMEBODY = (
    "Get one whose URI or DNS names, or else whose common name, are roles: 1 to 128 printable characters each."
)
_TOKEN = re.compile(rb"[A-Za-z0-9._~+/-]+=*")


class Authenticator:
    """Knows who sends a request. `verifier` None takes no JSON Web Tokens; `static_tokens` are taken as they are.

    `takes_certificates` is only told to whoever does not say who they are: certificates are looked at by connections.
    Remembers the tokens it verified by their hashes; a connection remembers the last header it has brought.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        verifier: TokenVerifier | None = None,
        static_tokens: Mapping[str, Principal] | None = None,
        *,
        takes_certificates: bool = False,
    ) -> None:
        self._clock = clock
        self._verifier = verifier
        self._verified: dict[bytes, Credential] = {}
        self._static = {
            _digest(SCHEME + token.encode()): Credential(principal)
            for token, principal in (static_tokens or {}).items()
        }
        self._takes_tokens = verifier is not None or bool(static_tokens)
        if takes_certificates:
            self._how_to_say_who = _AS_EITHER if self._takes_tokens else _AS_CERTIFIED
        else:
            self._how_to_say_who = _AS_BEARER

    async def fetch_keys(self) -> None:
        """Have the keys at hand that verify tokens, as far as they can be had now."""
        if self._verifier is not None:
            await self._verifier.fetch_keys()

    def remembered(self, scope: Scope) -> Principal | None:
        """Return who sent a request where that is known without another look at a signature, else None.

        A token that is sent must be right, whatever the certificate of the connection says.
        """
        header: bytes | None = scope[HEADERS_KEY].get(AUTHORIZATION)
        peer = peer_of(scope)
        now = self._clock()
        if header is None:
            known = peer.certified
        elif peer.credential is not None and peer.header == header and peer.credential.holds(now):
            return peer.credential.principal
        else:
            digest = _digest(_spelled_as_ours(header))
            known = self._verified.get(digest) or self._static.get(digest)
            peer.header, peer.credential = header, known
        return known.principal if known is not None and known.holds(now) else None

    async def authenticate(self, scope: Scope) -> Principal:
        """Return who sent a request.

        Raises:
            Unauthenticated: nobody can tell.
            KeysUnavailable: nobody can tell now.
        """
        known = self.remembered(scope)
        if known is not None:
            return known
        header: bytes | None = scope[HEADERS_KEY].get(AUTHORIZATION)
        if header is None:
            peer = peer_of(scope)
            if peer.certified is not None:
                raise Unauthenticated("the certificate has expired", hint="Get a new certificate.")
            if peer.is_nameless:
                raise Unauthenticated("the client certificate contains no usable name", hint=_NAMING_SOMEBODY)
            raise Unauthenticated(_NOBODY, hint=self._how_to_say_who)
        header = _spelled_as_ours(header)
        if not self._takes_tokens:
            raise Unauthenticated("this server accepts no tokens", hint=self._how_to_say_who)
        token = _token_in(header)
        if self._verifier is None:
            raise Unauthenticated("the token is not known here")
        credential = await self._verifier.verify(token)
        self._remember(_digest(header), credential)
        return credential.principal

    def _remember(self, digest: bytes, credential: Credential) -> None:
        self._verified.pop(digest, None)
        if len(self._verified) >= MAX_REMEMBERED:
            del self._verified[next(iter(self._verified))]
        now = self._clock()
        until = min(credential.until, now + RECHECK_SECONDS)
        self._verified[digest] = Credential(credential.principal, until, now)


def _digest(header: bytes) -> bytes:
    # SHA-256 is OpenSSL's, and costs twice as much where it was not called a moment ago: 3.6 µs.
    return hashlib.blake2b(header, digest_size=32).digest()


def _spelled_as_ours(header: bytes) -> bytes:
    """Return an Authorization header with its scheme as we write it: case means nothing there, nor do more blanks.

    Source: RFC 9110, 11.1 and 11.4.

    >>> _spelled_as_ours(b"bearer  abc"), _spelled_as_ours(b"Basic abc")
    (b'Bearer abc', b'Basic abc')
    """
    scheme, _, credentials = header.partition(b" ")
    return SCHEME + credentials.lstrip(b" ") if scheme.lower() == b"bearer" else header


def _token_in(header: bytes) -> str:
    """Return the token in an Authorization header that is spelled as ours.

    Raises:
        Unauthenticated: there is none, or it is not one that any issuer makes.
    """
    if not header.startswith(SCHEME):
        raise Unauthenticated("the Authorization header is not Bearer and a token")
    token = header[len(SCHEME) :]
    if len(token) > MAX_TOKEN_BYTES or not _TOKEN.fullmatch(token):
        raise Unauthenticated(f"the token is longer than {MAX_TOKEN_BYTES} bytes, or contains invalid characters")
    return token.decode()
