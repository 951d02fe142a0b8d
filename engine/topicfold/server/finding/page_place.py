"""Where a page ended: the content of `continue`, from which any node can go on.

The text is opaque: base64url of a format byte, hashes of the query and of what follows, the page's revision and the
last full name.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from dataclasses import dataclass

from topicfold.errors import InvalidRequest
from topicfold.log.port import LogIdentity
from topicfold.model.names import TopicName, recorded_topic, split_topic
from topicfold.runtime.revision import Revision, parse_revision

_FORMAT = b"\x01"
_HEAD = struct.Struct(">8s8sH")


@dataclass(frozen=True, slots=True)
class PagePlace:
    """A page ended after the topic `last`, and was read at `revision`."""

    last: TopicName
    revision: Revision

    def text(self, query: str) -> str:
        """Return what leads to the next page of `query`."""
        revision = self.revision.token
        place = revision + str(self.last).encode()
        raw = _FORMAT + _HEAD.pack(_hash(query.encode()), _hash(place), len(revision)) + place
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def page_place(text: str, query: str, identity: LogIdentity) -> PagePlace:
    """Return the place that `text` is, of a page of the same `query`.

    Raises:
        InvalidRequest: it is none, or of a page of another query.
        Resync: of another log.
    """
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        query_hash, place_hash, length = _HEAD.unpack_from(raw, 1)
        place = raw[1 + _HEAD.size :]
        revision, last = place[:length].decode(), place[length:].decode()
    except (ValueError, struct.error):
        raw = b""
    if raw[:1] != _FORMAT or place_hash != _hash(place) or split_topic(last) is None:
        raise InvalidRequest(
            f"continue {text[:80]!r} is not valid", hint="Send `continue` exactly as the previous page returned it."
        )
    if query_hash != _hash(query.encode()):
        raise InvalidRequest(
            "continue belongs to another query",
            hint="Repeat the query of the previous page; only `limit` can differ. Or start without continue.",
        )
    return PagePlace(recorded_topic(last), parse_revision(revision, identity.incarnation, identity.partitions))


def _hash(what: bytes) -> bytes:
    return hashlib.blake2b(what, digest_size=8).digest()
