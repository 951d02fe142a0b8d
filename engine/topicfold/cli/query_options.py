"""Options that say which topics are meant: by labels, wildcards and a regular expression, in which namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from topicfold.cli.completion import complete_namespaces, complete_selector
from topicfold.cli.session import Session
from topicfold.errors import Forbidden, InvalidName, InvalidRequest
from topicfold.model.names import DEFAULT_NAMESPACE
from topicfold.model.namespaces import ALL

if TYPE_CHECKING:
    from topicfold.client import Client

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
        help="tenant/namespace, or a pattern such as 'acme/*'; repeatable (default public/default).",
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

NO_NAMESPACES = "there are no namespaces, or none that you may see"
NOTHING_YET = "no topic matches yet; waiting for one"
"""What is said to whoever waits: a label that is misspelt looks like one that nobody bears yet."""


def chosen_namespaces(session: Session, given: list[str] | None, is_all: bool) -> list[str]:
    """Return the names of the namespaces that are meant, and patterns where some were given.

    Raises:
        InvalidRequest: some are named, and all are asked for.
    """
    if not is_all:
        return list(dict.fromkeys(given or [DEFAULT_NAMESPACE]))
    if given:
        raise InvalidRequest("--all-namespaces and names of namespaces are both given", hint="Leave one of them out.")
    from topicfold.client.bulk import all_namespaces

    return all_namespaces(session.client)


def namespaces_to_follow(
    session: Session, given: list[str] | None, is_all: bool, *, by_name: bool = False
) -> list[str]:
    """Return the same as `namespaces_in_one_query`, and say it where namespaces to come are not meant by all."""
    chosen = namespaces_in_one_query(session, given, is_all, by_name=by_name)
    if is_all and chosen != [ALL]:
        session.output.note("namespaces that are created later are not included")
    return chosen


def namespaces_in_one_query(
    session: Session, given: list[str] | None, is_all: bool, *, by_name: bool = False
) -> list[str]:
    """Return what one query says of the namespaces that are meant: of all a `*`, which means those to come as well.

    Who may not ask so is given the names of all they may see; so is whoever needs names.

    Raises:
        InvalidRequest: some are named, and all are asked for; or all are none, or too many to be named.
    """
    if not is_all or given:
        return chosen_namespaces(session, given, is_all)
    from topicfold.client.bulk import NAMESPACES_A_QUERY

    if not by_name and _may_ask_for_all(session.client):
        return [ALL]
    found = chosen_namespaces(session, given, is_all)
    if not found:
        raise InvalidRequest(NO_NAMESPACES)
    if len(found) > NAMESPACES_A_QUERY:
        raise InvalidRequest(
            f"there are {len(found)} namespaces, and this command takes at most {NAMESPACES_A_QUERY}",
            hint="Name those that matter, or a tenant (-n 'tenant/*'), instead of -A, which is for superusers.",
        )
    return found


def _may_ask_for_all(client: Client) -> bool:
    try:
        client.find_topics(ALL, limit=1)
    except (Forbidden, InvalidName):  # to an older server a `*` is no name
        return False
    return True
