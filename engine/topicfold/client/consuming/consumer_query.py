"""What a consumer follows: a query that always restricts something, whose patterns can change. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from topicfold.client.find_calls import Asked, SelectorForm, Texts, demands_nothing
from topicfold.errors import InvalidRequest

_ON_PURPOSE = (
    'Give a selector, labels, a pattern or a regular expression, with properties too; match="**" means every topic.'
)


@dataclass(frozen=True, slots=True)
class ConsumerQuery:
    """What is asked for. `has_patterns`: patterns restrict it, so that without any it asks for nothing."""

    asked: Asked
    has_patterns: bool

    @classmethod
    def of(
        cls,
        namespaces: Texts,
        selector: SelectorForm | None,
        labels: Mapping[str, str] | None,
        match: Texts | None,
        regex: str | None,
    ) -> ConsumerQuery:
        """Return what these arguments ask for.

        Raises:
            InvalidRequest: they restrict nothing, or one of them is there and does not.
            InvalidName, InvalidSelector: one is malformed.
        """
        asked = Asked.of(namespaces, selector, labels, match or None, regex)
        given = {"selector": selector, "labels": labels, "match": match, "regex": regex}
        says = {
            "selector": selector is not None and not demands_nothing(selector),
            "labels": bool(labels),
            "match": bool(asked.patterns),
            "regex": bool(asked.regex),
        }
        for name, value in given.items():
            if value is not None and not says[name]:
                raise InvalidRequest(f"{name} is empty, which would mean every topic", hint=_ON_PURPOSE)
        if not any(says.values()):
            raise InvalidRequest("nothing says which topics to consume", hint=_ON_PURPOSE)
        return cls(asked, match is not None)

    @property
    def asks_for_nothing(self) -> bool:
        """Whether no topic is meant: the last pattern was taken away."""
        return self.has_patterns and not self.asked.patterns

    def with_pattern(self, pattern: str) -> ConsumerQuery:
        """Return this with one pattern more; the first one restricts what was not restricted by patterns."""
        if pattern in self.asked.patterns:
            return self
        return replace(self, asked=replace(self.asked, patterns=(*self.asked.patterns, pattern)), has_patterns=True)

    def without_pattern(self, pattern: str) -> ConsumerQuery:
        """Return this with one pattern less.

        Raises:
            InvalidRequest: it is none of them.
        """
        if pattern not in self.asked.patterns:
            subscribed = ", ".join(self.asked.patterns) or "none"
            raise InvalidRequest(f"{pattern!r} is not one of the subscribed patterns: {subscribed}")
        patterns = tuple(each for each in self.asked.patterns if each != pattern)
        return replace(self, asked=replace(self.asked, patterns=patterns))
