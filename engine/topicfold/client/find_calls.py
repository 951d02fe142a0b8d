"""Queries as they are sent, and the pages of topics that are asked for with them. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from topicfold.client.call import Answer, Call, Query
from topicfold.client.find_answers import Explanation, Page
from topicfold.errors import InvalidRequest
from topicfold.model.labels import MAX_VALUE_BYTES
from topicfold.model.names import parse_namespace
from topicfold.model.selector_text import parse_selector
from topicfold.wire.confirmation import query_text

Texts = str | Iterable[str]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which topics are asked for: in these namespaces, by everything else that is not empty.

    `selector` is canonical. Make it with `Asked.of`.
    """

    namespaces: tuple[str, ...]
    selector: str | None
    labels: Mapping[str, str]
    patterns: tuple[str, ...]
    regex: str | None

    @classmethod
    def of(
        cls,
        namespaces: Texts,
        selector: str | None,
        labels: Mapping[str, str] | None,
        match: Texts | None,
        regex: str | None,
    ) -> Self:
        """Return what these arguments ask for.

        Wildcards and the expression are the server's to check: it knows its separator, and has RE2.

        Raises:
            InvalidName: a namespace that is none.
            InvalidRequest: an empty list of namespaces or of patterns, which would mean none or all.
            InvalidSelector: says at which column.
        """
        places = tuple(dict.fromkeys(map(parse_namespace, _each(namespaces))))
        if not places:
            raise InvalidRequest("no namespace to look in", hint="Name one, or leave them out for the client's own.")
        # How long a value may be is a setting of the server.
        canonical = None if selector is None else str(parse_selector(selector, max_value_length=MAX_VALUE_BYTES))
        patterns = () if match is None else tuple(_each(match))
        if match is not None and not patterns:
            raise InvalidRequest("no pattern to match", hint='Leave match out, or give "**", for every topic.')
        return cls(places, canonical, dict(labels or {}), patterns, regex)

    @property
    def query(self) -> Query:
        """The parameters that say so."""
        return (
            *(("namespace", namespace) for namespace in self.namespaces),
            *([] if self.selector is None else [("labelSelector", self.selector)]),
            *pairs("label", self.labels, "="),
            *(("match", pattern) for pattern in self.patterns),
            *([] if self.regex is None else [("regex", self.regex)]),
        )

    @property
    def text(self) -> str:
        """What a server confirms that understood it."""
        return query_text(self.namespaces, self.selector or "", self.labels, self.patterns, self.regex or "")


@dataclass(frozen=True, slots=True)
class Listing:
    """Topics that are asked for page by page; `page_size` None asks for all of them at once, from one cut."""

    asked: Asked
    page_size: int | None

    def page(self, after: str = "") -> Call[Page]:
        """Ask for the page that `after`, a page's `next`, leads to; for the first one without it."""

        def read(answer: Answer) -> Page:
            return Page.of(answer.body)

        limit = [] if self.page_size is None else [("limit", str(self.page_size))]
        place = [("continue", after)] if after else []
        return Call("GET", "/api/v1/topics", read, (*self.asked.query, *limit, *place))


def explained(asked: Asked) -> Call[Explanation]:
    """Ask what a selector means."""
    return Call("GET", "/api/v1/explain", lambda answer: Explanation.of(answer.body), asked.query)


def pairs(name: str, labels: Mapping[str, str], separator: str) -> Query:
    """Return a parameter for each label. One alone would be split at its commas, so it is sent twice."""
    sent = tuple((name, f"{key}{separator}{value}") for key, value in labels.items())
    return sent * 2 if len(sent) == 1 else sent


def _each(texts: Texts) -> Iterable[str]:
    return (texts,) if isinstance(texts, str) else texts
