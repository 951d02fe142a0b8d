"""PIP-451's way to ask for topics: `labels=k:v,k2=v2`, or else `topics_pattern`, and `topics_hash` of what one has.

Where labels are given the pattern is passed over. It is matched, as Pulsar's brokers do, against the whole name
without its domain, `tenant/namespace/topic`.

Source: PIP-451; Pulsar's `TopicList.filterTopics` and `subscriptionPatternMaxLength`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from topicfold.errors import InvalidRegex, InvalidRequest
from topicfold.model.finding.regex import Regex, parse_regex
from topicfold.model.labels import parse_pairs
from topicfold.model.namespaces import Namespaces
from topicfold.server.queries import Query, one

LABELS, PATTERN, HASH = "labels", "topics_pattern", "topics_hash"

PARAMETERS = {
    f"{LABELS}*": "`k1:v1,k2=v2`: topics that have all of these labels; `topics_pattern` is then ignored.",
    PATTERN: "A regular expression (RE2) that must match the whole name without `domain://`; for one namespace only.",
    HASH: "The hash of the names that the client knows; topics are listed only if the hash has changed.",
}

_DOMAIN = re.compile(r"^(\^?)(?:non-)?persistent://")
_HASH = re.compile(r"[0-9a-fA-F]{8}|")


@dataclass(frozen=True, slots=True)
class TopicListForm:
    """What was asked for in this way. `known_hash` None: nothing was said of what one has. `pattern` is as it came."""

    labels: Mapping[str, str]
    regex: Regex | None
    pattern: str
    known_hash: str | None
    is_used: bool


def topic_list_form(query: Query, namespaces: Namespaces, max_pattern_length: int) -> TopicListForm:
    """Return what a request asks for in PIP-451's way; nothing where it does not.

    Raises:
        InvalidRequest: the labels are no pairs; a hash that is none; a pattern for several namespaces.
        InvalidRegex: the pattern is too long, or none.
    """
    texts = query.get(LABELS)
    known_hash = one(query, HASH)
    if known_hash is not None and not _HASH.fullmatch(known_hash):
        raise InvalidRequest(
            f"{HASH} {known_hash[:80]!r} is not a hash", hint="It is 8 hexadecimal digits, as `hash` was received."
        )
    if texts is not None:
        return TopicListForm(parse_pairs(texts, LABELS), None, "", known_hash, is_used=True)
    pattern = one(query, PATTERN)
    if pattern is None:
        return TopicListForm({}, None, "", known_hash, is_used=known_hash is not None)
    if namespaces.patterns or len(namespaces.names) != 1:
        raise InvalidRequest(
            f"{PATTERN} is for one namespace, not for {' and '.join(namespaces.texts)[:80]}",
            hint="Ask for each namespace by itself, or with regex.",
        )
    if len(pattern) > max_pattern_length:
        raise InvalidRegex(
            f"{PATTERN} has {len(pattern)} characters, at most {max_pattern_length} are allowed",
            hint="The limit is the setting subscription_pattern_max_length; `regex` can have 256.",
            regex=pattern,
        )
    regex = parse_regex(_DOMAIN.sub(r"\1", pattern), prefix=f"{namespaces.names[0]}/")
    return TopicListForm({}, regex, pattern, known_hash, is_used=True)
