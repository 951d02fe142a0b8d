"""How a server confirms what it understood, so that a client never takes everything for what it asked for.

The server sends the texts as the headers `headers.QUERY` and, for listings, `headers.PROPERTIES`; the client compares
them with its own.

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


def properties_text(properties: Mapping[str, str]) -> str:
    """Return the properties that a listing goes by, the same text in whatever order they were sent; ASCII, one line.

    >>> properties_text({"team": "pay", "env": "é"})
    '{"env":"\\\\u00e9","team":"pay"}'
    """
    return json.dumps(dict(properties), sort_keys=True, separators=(",", ":"))
