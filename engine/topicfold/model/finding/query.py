"""Queries: select topics of a namespace by labels, wildcards and a regular expression at once.

>>> from topicfold.model.finding.selector_text import parse_selector
>>> from topicfold.model.finding.pattern import parse_pattern
>>> query = TopicQuery(parse_selector("team=pay"), (parse_pattern("pay__*"),))
>>> query.matches_name("pay__refund"), query.matches_name("pay")
(True, False)
"""

from __future__ import annotations

from dataclasses import dataclass

from topicfold.model.finding.pattern import Pattern
from topicfold.model.finding.regex import Regex
from topicfold.model.finding.selector import Selector
from topicfold.model.system_topics import is_system_topic

EVERY_LABEL_MAP = Selector()


@dataclass(frozen=True, slots=True)
class TopicQuery:
    """Topics with labels that match `selector`, and a local name that matches one of `patterns`, and also `regex`.

    Without patterns, or without an expression, names are not restricted by them. Pulsar's own topics are only included
    `with_system_topics`. This is one rule for finds, watches and listings, as otherwise their hashes would not agree.

    Source: Pulsar's issue #25191.
    """

    selector: Selector = EVERY_LABEL_MAP
    patterns: tuple[Pattern, ...] = ()
    regex: Regex | None = None
    with_system_topics: bool = False

    def matches_name(self, name: str) -> bool:
        """Return whether a local name matches patterns and expression, and is not excluded as a system topic's."""
        if not self.with_system_topics and is_system_topic(name):
            return False
        patterns = self.patterns
        if patterns and not any(pattern.matches(name) for pattern in patterns):
            return False
        return self.regex is None or self.regex.matches(name)
