"""Where verification keys come from: a file, once; or a URL, again whenever its keys may have changed.

The URL is from the settings and from nowhere else: whatever a token says about where its key is, is not read.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import httpx2
import structlog

from topicfold.errors import KeysUnavailable
from topicfold.loopback import is_loopback
from topicfold.server.auth.keys import VerificationKey, keys_in_set

_log = structlog.get_logger(__name__)

SELDOM_SECONDS = 10.0
"""Between two fetches, whatever unknown keys tokens name, and however old the keys are.

So long at most, tokens of a key are refused that signs as soon as it is in the set. Watches end with such a refusal, so
it must be short, also where strangers have the set fetched again and again.
"""
RETRY_SECONDS = 5.0
"""Between two fetches while there are no keys at all."""
MAX_AGE_SECONDS = 600.0
"""After which keys are fetched again, so that one that was withdrawn is no longer taken."""
MAX_SET_BYTES = 256 * 1024
_FETCH_SECONDS = 5.0

_NOT_TRUSTED = "certificate verify failed"
"""OpenSSL's words."""
_NAME_AUTHORITY = "If it is the right site, name a file with the authority of its certificate in SSL_CERT_FILE."

ANOTHER = "\0"
"""The id that no key has: whoever looks for it has found none among those that are known."""

Fetch = Callable[[str], Awaitable[bytes]]


class KeySet(Protocol):
    """Keys to verify tokens with."""

    async def keys(self, key_id: str | None) -> Sequence[VerificationKey]:
        """Return all keys; `key_id` is the one that is looked for.

        Raises:
            KeysUnavailable: they cannot be had now.
        """


class FixedKeys:
    """Keys that never change."""

    def __init__(self, keys: Sequence[VerificationKey]) -> None:
        self._keys = keys

    async def keys(self, key_id: str | None) -> Sequence[VerificationKey]:
        """Return all keys."""
        return self._keys


async def fetch(url: str) -> bytes:
    """Return what is at `url`, without following it elsewhere.

    Raises:
        HTTPError: it cannot be had in time.
        ValueError: it is no 200, or larger than `MAX_SET_BYTES`, or the environment's proxy cannot be used.
        OSError: the environment's authorities cannot be read.
    """
    async with (
        asyncio.timeout(_FETCH_SECONDS),
        await asyncio.to_thread(_client, url) as client,
        client.stream("GET", url) as answer,
    ):
        if answer.status_code != httpx2.codes.OK:
            raise ValueError(f"status {answer.status_code}")
        body = b""
        async for chunk in answer.aiter_bytes():
            body += chunk
            if len(body) > MAX_SET_BYTES:
                raise ValueError(f"larger than {MAX_SET_BYTES} bytes")
        return body


def _client(url: str) -> httpx2.AsyncClient:
    """Return what asks. This machine itself is asked through no proxy: by plain HTTP, that could name any key.

    To read all authorities takes 25 ms, beside the loop: strangers' unknown keys have it done every 10 seconds.
    Authorities that the environment names are trusted either way.

    Raises:
        ValueError: the environment's proxy cannot be used.
        OSError: the environment's authorities cannot be read.
    """
    try:
        return httpx2.AsyncClient(
            timeout=_FETCH_SECONDS,
            verify=httpx2.create_ssl_context(),
            trust_env=not is_loopback(httpx2.URL(url).host),
        )
    except (ImportError, httpx2.InvalidURL) as error:
        raise ValueError(f"the environment's proxy cannot be used: {error}") from error


class FetchedKeys:
    """The key set at a URL. Old keys stay in force while it cannot be had.

    Only the site is told of the URL, which may say more than everybody is to know.
    """

    def __init__(self, url: str, fetch: Fetch = fetch, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._site = httpx2.URL(url).host
        self._fetch = fetch
        self._clock = clock
        self._keys: tuple[VerificationKey, ...] = ()
        self._asked_at = -math.inf
        self._had_at = -math.inf
        self._fetching = asyncio.Lock()

    async def keys(self, key_id: str | None) -> Sequence[VerificationKey]:
        """Return all keys, fetched anew if they are old, or if `key_id` is not among them and the last is a while ago.

        Whoever looks for a key that is known does not wait for what somebody else has made it fetch.

        Raises:
            KeysUnavailable: they could never be had.
        """
        if self._is_due(key_id) or not self._knows(key_id):
            async with self._fetching:
                if self._is_due(key_id):
                    await self._refresh()
        if not self._keys:
            raise KeysUnavailable(f"the keys that verify tokens cannot be fetched from {self._site}")
        return self._keys

    def _is_due(self, key_id: str | None) -> bool:
        now = self._clock()
        if not self._keys:
            return now - self._asked_at >= RETRY_SECONDS
        is_wanted = not self._knows(key_id) or now - self._had_at >= MAX_AGE_SECONDS
        return is_wanted and now - self._asked_at >= SELDOM_SECONDS

    def _knows(self, key_id: str | None) -> bool:
        return any(key_id in (None, key.id) for key in self._keys)

    async def _refresh(self) -> None:
        began_at = self._asked_at = self._clock()
        try:
            found = keys_in_set(await self._fetch(self._url))
        except (httpx2.HTTPError, OSError, ValueError) as error:
            reason = str(error) or type(error).__name__
            hint = {"hint": _NAME_AUTHORITY} if _NOT_TRUSTED in reason else {}
            _log.warning("keys_not_fetched", site=self._site, reason=reason, **hint)
            return
        finally:
            # A fetch takes as long as it rests before the next: each of those who waited would begin one of its own.
            self._asked_at = self._clock()
        if not found:
            _log.warning("keys_not_fetched", site=self._site, reason="it contains no supported key")
            return
        self._keys = found
        self._had_at = began_at
        _log.info("keys_fetched", site=self._site, keys=len(found))
