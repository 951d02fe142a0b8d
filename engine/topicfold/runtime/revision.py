"""Revisions: opaque tokens that say how far a reader has seen.

A revision names the log and one position (next offset to read) for each partition it depends on, so it means the
same on every node and across restarts. Text: base64url of a format byte, the log's incarnation and pairs of
(partition u16, position u64).

Source: session guarantees, Terry et al. 1994; Kubernetes KEP-1904 shows what one number per server costs.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from topicfold.errors import InvalidRequest, Resync

_FORMAT = b"\x01"
_PAIR = struct.Struct(">HQ")
_POSITION = struct.Struct(">Q")
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class Revision(NamedTuple):
    """Positions in the log called `incarnation`."""

    incarnation: bytes
    positions: Mapping[int, int]

    def merged(self, other: Revision | None) -> Revision:
        """Return the component-wise maximum of both."""
        if other is None:
            return self
        positions = dict(other.positions)
        for partition, position in self.positions.items():
            positions[partition] = max(position, positions.get(partition, 0))
        return Revision(self.incarnation, positions)

    @property
    def token(self) -> bytes:
        """Its text in ASCII."""
        return token_of(self.incarnation, self.positions)

    def __str__(self) -> str:
        return self.token.decode()


def token_of(incarnation: bytes, positions: Mapping[int, int]) -> bytes:
    """Return the text of a revision in ASCII."""
    if len(positions) == 1:
        ((partition, position),) = positions.items()
        return _token_at(incarnation, partition, position)
    pairs = b"".join([_PAIR.pack(*pair) for pair in sorted(positions.items())])
    return base64.urlsafe_b64encode(_FORMAT + incarnation + pairs).rstrip(b"=")


def partition_tokens(incarnation: bytes, partition: int) -> Callable[[int], bytes]:
    """Return what makes the token, in ASCII, of a position in one partition, which has no padding."""
    raw = _FORMAT + incarnation + _PAIR.pack(partition, 0)
    fixed = len(raw) - _POSITION.size - 1
    # Three octets are four characters, so what is before them is the same in all.
    head, last = base64.urlsafe_b64encode(raw[:fixed]), raw[fixed : fixed + 1]

    def token(position: int) -> bytes:
        tail = binascii.b2a_base64(last + _POSITION.pack(position), newline=False)
        return head + tail.translate(_URL_SAFE)

    return token


_tokens_of = lru_cache(maxsize=1024)(partition_tokens)


@lru_cache(maxsize=1024)
def _token_at(incarnation: bytes, partition: int, position: int) -> bytes:
    """Return the token of one position: reads between two changes all name the same."""
    return _tokens_of(incarnation, partition)(position)


def parse_revision(text: str, incarnation: bytes, partitions: int) -> Revision:
    """Return the revision that `text` is, of the log called `incarnation`.

    Raises:
        InvalidRequest: not a revision at all.
        Resync: a revision of another log; carries it.
    """
    revision = decode_revision(text)
    if revision.incarnation != incarnation:
        raise Resync("the position belongs to another log", position=text)
    if any(partition >= partitions for partition in revision.positions):
        raise InvalidRequest(f"position {text[:80]!r} names a partition that this log does not have")
    return revision


def decode_revision(text: str) -> Revision:
    """Return the revision that `text` is, of whatever log.

    Raises:
        InvalidRequest: not a revision at all.
    """
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    body = raw[17:]
    if raw[:1] != _FORMAT or len(raw) < 17 or len(body) % _PAIR.size:
        raise InvalidRequest(
            f"position {text[:80]!r} is not valid", hint="Send back X-Log-Position as it was received."
        )
    return Revision(raw[1:17], dict(_PAIR.iter_unpack(body)))
