"""The hash by which Pulsar's clients compare lists of topics.

Source: Pulsar's `TopicList.calculateHash`: CRC-32C, printed from its lowest byte on.
"""

from __future__ import annotations

from collections.abc import Iterable

import google_crc32c

MAX_HASHED = 10_000
"""No hash is computed for more topics than this, which takes some milliseconds."""


def topic_list_hash(names: Iterable[str]) -> str:
    """Return the hash of a set of full topic names, given in any order.

    Names are sorted like in Java, by their UTF-16 code units.

    >>> topic_list_hash([]), topic_list_hash(["persistent://public/default/b", "persistent://public/default/a"])
    ('00000000', 'c7559e98')
    """
    given = list(names)
    is_ascii = ",".join(given).isascii()
    joined = ",".join(sorted(given) if is_ascii else sorted(given, key=_utf16))
    checksum: int = google_crc32c.value(joined.encode("utf-8", "surrogatepass"))
    return checksum.to_bytes(4, "little").hex()


def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")
