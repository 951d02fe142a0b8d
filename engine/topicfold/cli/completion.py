"""Completion of names that only the server knows. It never fails or prints, and takes at most a second.

The shell takes what it is offered as if it had been typed, and whoever may label a topic chooses labels: so nothing is
offered that it would have to quote.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

import typer

from topicfold.cli.config import ASKING, resolve_config
from topicfold.cli.session import open_client
from topicfold.model.names import DEFAULT_NAMESPACE, PERSISTENT, parse_topic
from topicfold.model.namespaces import ALL, ANY, parse_namespaces

if TYPE_CHECKING:
    from topicfold.client import Client

PATIENCE_SECONDS = 1.0
"""So long a shell is kept waiting."""
_MAX_NAMES = 200
_MAX_BEGUN = 100
_MAX_QUESTIONS = 20
_MAX_VERSIONS = 50
_NEEDS_NO_QUOTES = re.compile(r"!?[\w@%+=:,./-]*(!=[\w@%+=:,./-]*)?")


def complete_tenants(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the tenants that begin so."""
    return _answered(ctx, lambda client: _beginning(client.list_tenants(), incomplete))


def complete_clusters(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the clusters that begin so."""
    return _answered(ctx, lambda client: _beginning(client.list_clusters(), incomplete))


def complete_versions(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the last versions of the topic or the namespace that was named, the newest first."""

    def ask(client: Client) -> list[str]:
        subject = "topic" if "topic" in ctx.params else "namespace"
        read = client.history if subject == "topic" else client.namespace_history
        entries = read(_named(ctx, subject), limit=_MAX_VERSIONS).entries
        return _beginning((str(entry.offset) for entry in entries), incomplete)

    return _answered(ctx, ask)


def complete_namespaces(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the namespaces that begin so."""
    return _answered(ctx, lambda client: _namespaces(client, incomplete))


def complete_topics(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the topics that begin so, in the form that was begun: bare, with its namespace, or in full."""

    def ask(client: Client) -> list[str]:
        scheme = f"{PERSISTENT}://"
        prefix = scheme if incomplete.startswith(scheme) else ""
        begun = incomplete.removeprefix(prefix)
        if "/" not in begun and not prefix:
            prefix, namespaces = f"{scheme}{DEFAULT_NAMESPACE}/", [DEFAULT_NAMESPACE]
            full = prefix + begun
        else:
            full = scheme + begun
            namespaces = _namespaces(client, "/".join(begun.split("/")[:2]))
            prefix = "" if prefix else scheme
        local = full.removeprefix(scheme).split("/", 2)[2:]
        names = _named_like(client, namespaces, *local) if namespaces else ()
        return [name.removeprefix(prefix) for name in _beginning(names, full)]

    return _answered(ctx, ask)


def complete_filter(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the labels `key:value` in use where topics are sought; only the last of a list is completed."""
    return _answered(ctx, lambda client: _last_of_list(_pairs(_labels_sought(client, ctx), ":"), incomplete))


def complete_selector(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return how the last requirement of a selector may go on, with the labels in use where topics are sought.

    That is a label behind the operator that stands there or `=`, or a key behind `!`. Inside parentheses it is nothing.
    """
    requirement = incomplete.rpartition(",")[2]

    def ask(client: Client) -> list[str]:
        labels = {key: filter(_is_plain, values) for key, values in _labels_sought(client, ctx).items()}
        if requirement.startswith("!"):
            return _last_of_list((f"!{key}" for key in labels), incomplete)
        operator = next((each for each in ("!=", "==") if each in requirement), "=")
        return _last_of_list(_pairs(labels, operator), incomplete)

    return [] if "(" in incomplete.rpartition(")")[2] else _answered(ctx, ask)


def complete_new_labels(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the labels `key=value` in use in the namespace of the topic that was named."""

    def ask(client: Client) -> list[str]:
        labels = client.namespace_labels(parse_topic(_named(ctx, "topic")).namespace)
        return _last_of_list(_pairs(labels, "="), incomplete)

    return _answered(ctx, ask)


def complete_keys(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the keys of the labels of the topic that was named."""
    return _answered(ctx, lambda client: _last_of_list(client.get_labels(_named(ctx, "topic")), incomplete))


def _named_like(client: Client, namespaces: list[str], begun: str = "") -> Iterator[str]:
    """Yield the full names of topics whose own names begin so, page by page: there may be more than a second lists."""
    regex = re.escape(begun[:_MAX_BEGUN]) + ".*" if begun else None
    topics = client.topics(namespaces=namespaces, regex=regex, page_size=_MAX_NAMES)
    return (topic.name for topic in topics)


def _named(ctx: typer.Context, argument: str) -> str:
    """Return the command's first argument. While an option still lacks its value, arguments are not parsed."""
    return str((ctx.args[0] if ctx.args else ctx.params[argument]) or DEFAULT_NAMESPACE)


def _labels_sought(client: Client, ctx: typer.Context) -> dict[str, tuple[str, ...]]:
    """Return the labels in use in the namespaces that a command looks in, each key with its values."""
    named = [*ctx.args[:1], ctx.params.get("namespace"), *(ctx.params.get("namespaces") or ())]
    texts = [ALL] if ctx.params.get("all_namespaces") else [*filter(None, named)]
    meant = parse_namespaces(texts or [DEFAULT_NAMESPACE])
    found = (each for pattern in meant.patterns for each in _namespaces(client, pattern.partition(ANY)[0]))
    places = sorted({*meant.names, *filter(meant.match, found)})
    labels: dict[str, tuple[str, ...]] = {}
    for place in places[:_MAX_QUESTIONS]:
        for key, values in client.namespace_labels(place).items():
            labels[key] = tuple(dict.fromkeys((*labels.get(key, ()), *values)))
    return labels


def _pairs(labels: Mapping[str, Iterable[str]], separator: str) -> Iterator[str]:
    """Yield what stands in a list, without values that a comma would part there."""
    return (f"{key}{separator}{value}" for key, values in labels.items() for value in values if "," not in value)


def _is_plain(value: str) -> bool:
    """Return whether a selector can write `value`."""
    from topicfold.model.finding.selector import is_word
    from topicfold.model.labels import MAX_VALUE_BYTES

    return is_word(value, MAX_VALUE_BYTES)


def _last_of_list(words: Iterable[str], begun: str) -> list[str]:
    """Return `words` that go on from the last one of a list separated by commas, behind what stands before it."""
    before, comma, last = begun.rpartition(",")
    return [before + comma + word for word in _beginning(words, last)]


def _namespaces(client: Client, begun: str) -> list[str]:
    tenant, is_whole, _ = begun.partition("/")
    tenants = [tenant] if is_whole else _beginning(client.list_tenants(), tenant)[:_MAX_QUESTIONS]
    return _beginning((name for tenant in tenants for name in client.list_namespaces(tenant)), begun)


def _beginning(names: Iterable[str], begun: str) -> list[str]:
    """Return `names` that go on from `begun`, those that no shell sees more in than letters."""
    found = (name for name in names if name.startswith(begun) and _NEEDS_NO_QUOTES.fullmatch(name))
    return list(islice(found, _MAX_NAMES))


def _answered(ctx: typer.Context, ask: Callable[[Client], list[str]]) -> list[str]:
    """Return what `ask` finds out within the time, or nothing."""
    found: list[str] = []
    given = ctx.find_root().params | {name: value for name, value in ctx.params.items() if value is not None}
    flags = {name: given.get(name) for name in ASKING}

    def run() -> None:
        try:
            with open_client(resolve_config(flags), PATIENCE_SECONDS, max_attempts=1) as client:
                found.extend(ask(client))
        except Exception:  # noqa: BLE001, S110 - a boundary: the shell shows nothing rather than an error
            pass

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(PATIENCE_SECONDS)
    return list(found)
