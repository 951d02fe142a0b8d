"""Options that say which topics are meant: by labels, wildcards and a regular expression, in which namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from topicfold.cli.completion import complete_namespaces, complete_selector
from topicfold.cli.session import Session
from topicfold.errors import Forbidden, InvalidName, InvalidRequest
from topicfold.model.names import DEFAULT_NAMESPACE
from topicfold.model.namespaces import ALL, is_pattern, parse_namespaces

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

NOTHING_YET = "no topic matches yet; waiting for one"
"""What is said to whoever waits: a label that is misspelt looks like one that nobody bears yet."""


def no_namespaces(given: list[str] | None) -> str:
    """Return what is said where of the namespaces that are meant, or of all, there is none."""
    if given:
        return f"no namespace that you may see matches {' or '.join(given)}"
    return "there are no namespaces, or none that you may see"


def require_all_or_some(given: list[str] | None, is_all: bool) -> None:
    """Return unless both are asked for: all namespaces, and those that are given.

    Raises:
        InvalidRequest: they are.
    """
    if is_all and given:
        raise InvalidRequest("--all-namespaces and names of namespaces are both given", hint="Leave one of them out.")


def chosen_namespaces(session: Session, given: list[str] | None, is_all: bool, *, by_name: bool = False) -> list[str]:
    """Return the namespaces that are meant: the names and patterns that were given, or the names of all.

    With `by_name`, for each pattern the names of those that match now.

    Raises:
        InvalidName: one breaks the rules.
        InvalidRequest: some are named, and all are asked for.
    """
    require_all_or_some(given, is_all)
    meant = parse_namespaces([ALL] if is_all else given or [DEFAULT_NAMESPACE])
    if not meant.patterns or not (is_all or by_name):
        return list(meant.texts)
    from topicfold.client.bulk import all_namespaces

    found = (each for each in all_namespaces(session.client) if each in meant)
    return list(dict.fromkeys((*meant.names, *found)))


def namespaces_to_follow(
    session: Session, given: list[str] | None, is_all: bool, *, by_name: bool = False
) -> list[str]:
    """Return the same as `namespaces_in_one_query`, and say it where namespaces to come are not meant by all."""
    chosen = namespaces_in_one_query(session, given, is_all, by_name=by_name)
    if (is_all or any(map(is_pattern, given or ()))) and not any(map(is_pattern, chosen)):
        session.output.note("namespaces that are created later are not included")
    return chosen


def namespaces_in_one_query(
    session: Session, given: list[str] | None, is_all: bool, *, by_name: bool = False
) -> list[str]:
    """Return what one query says of the namespaces that are meant: of all a `*`, which means those to come as well.

    Who may not ask so is given the names of all they may see; so is whoever needs names.

    Raises:
        InvalidName: one breaks the rules.
        InvalidRequest: some are named, and all are asked for; or they are none, or too many to be named.
    """
    if is_all and not given and not by_name and _may_ask_for_all(session.client):
        return [ALL]
    found = chosen_namespaces(session, given, is_all, by_name=by_name)
    if not found:
        raise InvalidRequest(no_namespaces(given))
    from topicfold.client.bulk import NAMESPACES_A_QUERY

    if len(found) > NAMESPACES_A_QUERY:
        raise InvalidRequest(
            f"there are {len(found)} namespaces, and this command takes at most {NAMESPACES_A_QUERY}",
            hint="Name those that matter with -n" + ("." if by_name else ", or a whole tenant: -n 'tenant/*'."),
        )
    return found


def _may_ask_for_all(client: Client) -> bool:
    try:
        client.find_topics(namespaces=ALL, limit=1)
    except (Forbidden, InvalidName):  # to an older server a `*` is no name
        return False
    return True
