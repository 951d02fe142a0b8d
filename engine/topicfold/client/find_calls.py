"""Queries as they are sent, and the pages of topics that are asked for with them. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from topicfold.client.call import Answer, Call, Query
from topicfold.client.find_answers import Page
from topicfold.errors import InvalidRequest
from topicfold.model.finding.selector import Equals
from topicfold.model.finding.selector_structured import document_in, parse_structured, parts_of
from topicfold.model.finding.selector_text import parse_selector
from topicfold.model.labels import MAX_VALUE_BYTES
from topicfold.model.namespaces import parse_namespaces
from topicfold.wire.confirmation import query_text

Texts = str | Iterable[str]
SelectorForm = str | Mapping[str, object]
"""A label selector: its text, or Kubernetes' object of `matchLabels` and `matchExpressions`, in JSON too."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which topics are asked for: in these namespaces, by everything else that is not empty.

    `namespaces` are their names, or patterns for names. `selector` is canonical, `at` the time or position
    as of which they are asked for, None for now. Make it with `Asked.of`.
    """

    namespaces: tuple[str, ...]
    selector: str | None
    labels: Mapping[str, str]
    patterns: tuple[str, ...]
    regex: str | None
    with_system_topics: bool = False
    at: str | None = None

    @classmethod
    def of(
        cls,
        namespaces: Texts,
        selector: SelectorForm | None,
        labels: Mapping[str, str] | None,
        match: Texts | None,
        regex: str | None,
        *,
        with_system_topics: bool = False,
        at: str | int | None = None,
    ) -> Self:
        """Return what these arguments ask for.

        Wildcards, the expression and `at` are the server's to check: it knows its separator, and has RE2 and the log.

        Raises:
            InvalidName: a namespace that is none.
            InvalidRequest: an empty list of namespaces or of patterns, which would mean none or all; a label with two
                values.
            InvalidSelector: says at which column or path.
        """
        places = parse_namespaces(each_of(namespaces)).texts
        if not places:
            raise InvalidRequest("no namespace to look in", hint="Name one, or leave them out for the client's own.")
        canonical, matched = (None, {}) if selector is None else _parts(selector)
        borne = dict(labels or {})
        for key, value in matched.items():
            if borne.setdefault(key, value) != value:
                raise InvalidRequest(f"no topic can have two values of {key!r}, {borne[key]!r} and {value!r}")
        patterns = () if match is None else tuple(each_of(match))
        if match is not None and not patterns:
            raise InvalidRequest("no pattern to match", hint='Leave match out, or give "**", for every topic.')
        return cls(places, canonical, borne, patterns, regex, with_system_topics, None if at is None else str(at))

    @property
    def query(self) -> Query:
        """The parameters that say so."""
        return (
            *(("namespace", namespace) for namespace in self.namespaces),
            *([] if self.selector is None else [("labelSelector", _shortest(self.selector))]),
            *pairs("label", self.labels, "="),
            *(("match", pattern) for pattern in self.patterns),
            *([] if self.regex is None else [("regex", self.regex)]),
            *([("includeSystemTopic", "true")] if self.with_system_topics else []),
            *([] if self.at is None else [("at", self.at)]),
        )

    @property
    def text(self) -> str:
        """What a server confirms that understood it."""
        return query_text(
            self.namespaces,
            self.selector or "",
            self.labels,
            self.patterns,
            self.regex or "",
            with_system_topics=self.with_system_topics,
            at=self.at or "",
        )


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
        return Call("GET", "/api/v1/topics", read, (*self.asked.query, *limit, *place), confirms=self.asked.text)


def pairs(name: str, labels: Mapping[str, str], separator: str) -> Query:
    """Return a parameter for each label. One alone would be split at its commas, so it is sent twice."""
    sent = tuple((name, f"{key}{separator}{value}") for key, value in labels.items())
    return sent * 2 if len(sent) == 1 else sent


def demands_nothing(selector: SelectorForm) -> bool:
    """Return whether a selector is empty, so that every topic matches it.

    Raises:
        InvalidSelector: says at which column or path it is malformed.
    """
    canonical, labels = _parts(selector)
    return not canonical and not labels


def _parts(selector: SelectorForm) -> tuple[str | None, Mapping[str, str]]:
    """Return the canonical text of a selector, and the labels of a document: no text can hold all their values."""
    document = document_in(selector) if isinstance(selector, str) else selector
    # How long a value may be is a setting of the server.
    if document is None:
        return str(parse_selector(str(selector), max_value_length=MAX_VALUE_BYTES)), {}
    match_labels, match_expressions = parts_of(document)
    equal = parse_structured(match_labels, None, max_value_length=MAX_VALUE_BYTES)
    text = str(parse_structured(None, match_expressions, max_value_length=MAX_VALUE_BYTES))
    parse_selector(text, max_value_length=MAX_VALUE_BYTES)
    return text or None, {each.key: each.value for each in equal.requirements if isinstance(each, Equals)}


def _shortest(selector: str) -> str:
    """Return a canonical selector as short as it can be written: one of just the allowed size stays allowed."""
    return selector.replace(" (", "(")


def each_of(texts: Texts) -> Iterable[str]:
    """Return texts; one alone is that text, and not its letters."""
    return (texts,) if isinstance(texts, str) else texts
