"""Queries for topics in requests: `labelSelector`, `label`, `match` and `regex`, all of which must hold at once.

PIP-451's parameters (`topic_list_form`) are taken beside them.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from topicfold.errors import InvalidRequest
from topicfold.model.finding.pattern import parse_pattern
from topicfold.model.finding.query import TopicQuery
from topicfold.model.finding.regex import parse_regex
from topicfold.model.finding.selector import Selector, selector_of_labels
from topicfold.model.finding.selector_structured import document_in, parse_document
from topicfold.model.finding.selector_text import parse_selector
from topicfold.model.namespaces import Namespaces
from topicfold.server.finding.topic_list_form import PARAMETERS as FORM_PARAMETERS
from topicfold.server.finding.topic_list_form import PATTERN, topic_list_form
from topicfold.server.node import Node
from topicfold.server.parameters import SYSTEM_TOPICS, Declared
from topicfold.server.paths import namespaces_in
from topicfold.server.queries import Query, equalities, one
from topicfold.wire.confirmation import query_text

MAX_PATTERNS = 64

CONDITIONS: Declared = {
    "namespace*": "A namespace to search; can be repeated. In a pattern, `*` stands for any characters: `acme/*` "
    "searches all namespaces of a tenant, `*` all there are, including those created later. With authentication, a "
    "pattern requires the right on the tenant that it names, or a superuser. Default: `public/default`.",
    "labelSelector": "A label selector as in Kubernetes: `team=pay,tier in (gold,silver),!legacy`, or a JSON object of "
    "`matchLabels` and `matchExpressions`.",
    "label*": "`key=value`, taken literally; can be repeated.",
    "match*": "A wildcard for the last part of names, such as `pay__*` or `pay__**`. If repeated, one must match.",
    "regex": "A regular expression (RE2) that must match the whole last part of the name.",
    **SYSTEM_TOPICS.declared,
}
PARAMETERS: Declared = {**CONDITIONS, **FORM_PARAMETERS}
NAMES = tuple(name.rstrip("*") for name in PARAMETERS)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What topics a request asks for. `text` confirms to the client how it was understood, and as of when.

    `is_selector_empty`: there is one, and it demands nothing. `as_topic_list`: it asks in PIP-451's way; `known_hash`
    is that of the names it has.
    """

    namespaces: Namespaces
    query: TopicQuery
    text: str
    is_selector_empty: bool = False
    as_topic_list: bool = False
    known_hash: str | None = None


def wanted_in(request: Request, query: Query, node: Node) -> Wanted:
    """Return the topics that a request asks for; without any condition all topics of its namespaces.

    Raises:
        InvalidSelector, InvalidPattern, InvalidRegex: one is malformed, which refuses all of it.
        InvalidName, InvalidRequest: a namespace or a label that is none, or too many of them.
        InvalidRequest: two regular expressions, or what is asked for in PIP-451's way is malformed.
    """
    namespaces = namespaces_in(request)
    selector_text = one(query, "labelSelector")
    form = topic_list_form(query, namespaces, node.settings.subscription_pattern_max_length)
    labels = equalities(query, "label")
    for key, value in form.labels.items():
        if labels.setdefault(key, value) != value:
            raise InvalidRequest(f"no topic can have two values of {key!r}, {labels[key]!r} and {value!r}")
    rules = node.engine.options.label_rules
    spelt = _selector(selector_text or "", rules.max_value_length)
    equal = selector_of_labels(labels, max_value_length=rules.max_value_length)
    separator = node.engine.options.wildcard_separator
    texts = query.get("match", [])
    if len(texts) > MAX_PATTERNS:
        raise InvalidRequest(f"match is given {len(texts)} times, at most {MAX_PATTERNS} are allowed")
    patterns = tuple(parse_pattern(text, separator) for text in dict.fromkeys(texts))
    regex = one(query, "regex")
    if regex is not None and form.regex is not None:
        raise InvalidRequest(f"regex and {PATTERN} are both given", hint="Leave one of them out.")
    with_system_topics = SYSTEM_TOPICS.of(query)
    selector = Selector((*spelt.requirements, *equal.requirements))
    return Wanted(
        namespaces,
        TopicQuery(selector, patterns, form.regex if regex is None else parse_regex(regex), with_system_topics),
        query_text(
            namespaces.texts,
            str(spelt),
            labels,
            tuple(texts),
            regex or "",
            form.pattern,
            with_system_topics=with_system_topics,
            at=one(query, "at") or "",
        ),
        selector_text is not None and spelt.is_empty,
        form.is_used,
        form.known_hash,
    )


def _selector(text: str, max_value_length: int) -> Selector:
    """Return the selector that a text or a document in JSON writes.

    Raises:
        InvalidSelector: carries the `column` or the `path` of what is wrong.
    """
    document = document_in(text)
    if document is None:
        return parse_selector(text, max_value_length=max_value_length)
    return parse_document(document, max_value_length=max_value_length)
