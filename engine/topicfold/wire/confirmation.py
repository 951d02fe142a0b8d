"""How a server says which query it understood, so that a client never takes everything for what it asked for.

The server sends the text as the header `headers.QUERY`; the client compares it with its own.

Source: PIP-451, where an old broker that ignores the labels answers with every topic.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping


def query_text(
    namespaces: Iterable[str],
    selector: str = "",
    labels: Mapping[str, str] | None = None,
    patterns: Iterable[str] = (),
    regex: str = "",
    topics_pattern: str = "",
    *,
    with_system_topics: bool = False,
    at: str = "",
) -> str:
    """Return what is matched, the same text for all ways to ask for the same; ASCII, one line.

    `selector` is canonical (`str(Selector)`), `patterns` and `at` as they were sent. What was not asked for is empty,
    and `topics_pattern`, which no client of ours sends, left out, as are `includeSystemTopic` and `at`.

    >>> query_text(["public/default"], "tier=gold,team in (b,a)")
    '{"labelSelector":"tier=gold,team in (b,a)","labels":{},"match":[],"namespace":["public/default"],"regex":""}'
    """
    members: dict[str, object] = {
        "namespace": sorted(set(namespaces)),
        "labelSelector": selector,
        "labels": dict(labels or {}),
        "match": sorted(set(patterns)),
        "regex": regex,
    }
    if topics_pattern:
        members["topics_pattern"] = topics_pattern
    if with_system_topics:
        members["includeSystemTopic"] = True
    if at:
        members["at"] = at
    return json.dumps(members, sort_keys=True, separators=(",", ":"))
