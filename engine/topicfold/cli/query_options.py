"""Options that say which topics are meant: by labels, wildcards and a regular expression, in which namespaces."""

from __future__ import annotations

from typing import Annotated

import typer

from topicfold.cli.completion import complete_namespaces, complete_selector
from topicfold.cli.session import Session
from topicfold.errors import InvalidRequest
from topicfold.model.names import DEFAULT_NAMESPACE

Selector = Annotated[
    str | None,
    typer.Option(
        "--selector",
        "-l",
        metavar="SELECTOR",
        help="Label selector: 'team=pay,tier in (gold,silver),!old'.",
        autocompletion=complete_selector,
    ),
]
Namespaces = Annotated[
    list[str] | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAMESPACE",
        help="tenant/namespace; repeatable (default public/default).",
        autocompletion=complete_namespaces,
    ),
]
AllNamespaces = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Search all namespaces.")]
Match = Annotated[
    list[str] | None,
    typer.Option(
        "--match", metavar="PATTERN", help="Wildcard, such as 'pay__*' or 'pay__**'; repeatable, one must match."
    ),
]
Regex = Annotated[
    str | None, typer.Option("--regex", metavar="RE2", help="Regular expression for the topic's whole local name.")
]
SystemTopics = Annotated[
    bool, typer.Option("--include-system-topic", "-ist", help="Include Pulsar's own topics, such as __change_events.")
]
Properties = Annotated[
    list[str] | None,
    typer.Option(
        "--properties",
        "-p",
        metavar="K=V,K=V",
        help=r"Properties for the server's topic listing (PIP-452); a comma in a value is \,.",
    ),
]
PastTime = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME|POSITION",
        help="As they were then: a time (2026-03-01T12:30:00Z), how long ago (2h), or a position.",
    ),
]

NOTHING_YET = "no topic matches yet; waiting for one"
"""What is said to whoever waits: a label that is misspelt looks like one that nobody bears yet."""


def chosen_namespaces(
    session: Session, given: list[str] | None, is_all: bool, *, in_one_query: bool = True
) -> list[str]:
    """Return the namespaces that are meant; no more than one query takes, unless they are asked about in several.

    Raises:
        InvalidRequest: some are named, and all are asked for; or all are too many.
    """
    if not is_all:
        return list(dict.fromkeys(given or [DEFAULT_NAMESPACE]))
    if given:
        raise InvalidRequest("--all-namespaces and names of namespaces are both given", hint="Leave one of them out.")
    from topicfold.client.bulk import NAMESPACES_A_QUERY, all_namespaces

    found = all_namespaces(session.client)
    if in_one_query and len(found) > NAMESPACES_A_QUERY:
        raise InvalidRequest(
            f"there are {len(found)} namespaces, and this command takes at most {NAMESPACES_A_QUERY}",
            hint="Name those that matter with -n instead of -A.",
        )
    return found
