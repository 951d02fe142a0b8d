"""Cursors: how far somebody has heard, of which namespaces, and what they may see.

    <revision>.<namespaces>[.<viewer>]

Positions alone do not say what somebody knows: namespaces share partitions. So a cursor bears four octets of the
hash of each name and each pattern; or a `~`, which no shell expands, where somebody hears of all namespaces. A
revision by itself says only from where to go on, and is taken as such.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from topicfold.model.namespaces import ANY, Namespaces, is_pattern

MARK = "."
"""Stands between the parts; in none of them."""

_ALL = "~"
_SIZE = 4
_REMEMBERED = 4_096


class Cursor(NamedTuple):
    """The parts of a cursor, "" for what it does not say."""

    revision: str
    namespaces: str = ""
    viewer: str = ""

    def lacking(self, namespaces: Namespaces) -> str | None:
        """Return what of `namespaces` it says nothing of; None where there is nothing, or it names none."""
        if self.namespaces in ("", _ALL):
            return None
        try:
            raw = base64.urlsafe_b64decode(self.namespaces + "=" * (-len(self.namespaces) % 4))
        except (binascii.Error, ValueError):
            raw = b""
        known = {raw[start : start + _SIZE] for start in range(0, len(raw), _SIZE)}
        return next((each for each in namespaces.texts if known.isdisjoint(map(_hash, _covering(each)))), None)

    def __str__(self) -> str:
        parts = (self.revision, self.namespaces, self.viewer) if self.viewer else (self.revision, self.namespaces)
        return MARK.join(parts)


def cursor_in(text: str) -> Cursor:
    """Return the parts of `text`; nothing says that they are well-formed."""
    revision, _, rest = text.partition(MARK)
    namespaces, _, viewer = rest.partition(MARK)
    return Cursor(revision, namespaces, viewer)


def namespaces_mark(namespaces: Namespaces) -> str:
    """Return what the cursors of whoever watches `namespaces` bear."""
    return _ALL if namespaces.are_all else _mark(namespaces.texts)


@lru_cache(_REMEMBERED)
def _mark(texts: Sequence[str]) -> str:
    return base64.urlsafe_b64encode(b"".join(sorted(map(_hash, texts)))).decode().rstrip("=")


def _covering(text: str) -> Sequence[str]:
    """Return the texts that cover the namespaces that `text` means, as far as spelling tells."""
    tenant = text.partition("/")[0]
    return (text,) if is_pattern(tenant) else (text, f"{tenant}/{ANY}")


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=_SIZE).digest()
