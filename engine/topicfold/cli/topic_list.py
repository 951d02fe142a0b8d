"""`topicfold topics list`: the topics that are asked for, and with -w what changes of that."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from topicfold.cli import watch
from topicfold.cli.arguments import read_labels
from topicfold.cli.completion import complete_filter, complete_namespaces
from topicfold.cli.output import labels_text
from topicfold.cli.query_options import (
    AllNamespaces,
    Match,
    Namespaces,
    PastTime,
    Properties,
    Regex,
    Selector,
    SystemTopics,
    chosen_namespaces,
    namespaces_to_follow,
    no_namespaces,
)
from topicfold.cli.same_server import on_the_same_server
from topicfold.cli.session import Session
from topicfold.errors import InvalidRequest, TopicfoldError
from topicfold.model.names import DEFAULT_NAMESPACE

if TYPE_CHECKING:
    from topicfold.client import Client
    from topicfold.client import Match as FoundTopic
    from topicfold.client import Topic as TopicRecord
    from topicfold.client.bulk import Wanted

Namespace = Annotated[
    str | None,
    typer.Argument(
        metavar="NAMESPACE",
        help="tenant/namespace, or a pattern such as 'acme/*' (default public/default).",
        autocompletion=complete_namespaces,
    ),
]
Filter = Annotated[
    list[str] | None,
    typer.Option(
        "--custom-labels",
        metavar="K1:V1,K2:V2",
        help="Only topics with all of these labels; repeat the option for values with commas.",
        autocompletion=complete_filter,
    ),
]
# PIP-451 spells it so.
MisspeltFilter = Annotated[
    list[str] | None, typer.Option("--custome-labels", hidden=True, autocompletion=complete_filter)
]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, metavar="N", help="List at most this many, the first by name.")
]
Watched = Annotated[bool, typer.Option("--watch", "-w", help="Continue with changes.")]

_MAX_PAGE = 1000


def list_topics(
    session: Session,
    namespace: Namespace = None,
    namespaces: Namespaces = None,
    all_namespaces: AllNamespaces = False,
    include_system_topic: SystemTopics = False,
    custom_labels: Filter = None,
    custome_labels: MisspeltFilter = None,
    selector: Selector = None,
    match: Match = None,
    regex: Regex = None,
    asked_properties: Properties = None,
    limit: Limit = None,
    at: PastTime = None,
    is_watched: Watched = False,
) -> None:
    """List the topics of one or several namespaces. Each with its labels; a partitioned topic is listed once.

    A topic must satisfy all options, and one of several patterns. -w continues with changes, like 'topicfold watch'.
    --at lists the topics that matched then, with the labels they had.

    \b
    Examples:
      topicfold topics list
      topicfold topics list acme/pay -l 'team=pay,tier in (gold,silver)' --match 'eu__**'
      topicfold topics list acme/pay --custom-labels 'note:a,b' --custom-labels team:pay -o name
      topicfold topics list 'acme/*' -l '!team' --limit 20
      topicfold topics list acme/pay -l team=pay --at 2h
      topicfold topics list acme/pay --at 2026-03-01T12:30:00Z
    """
    named_places = [*([namespace] if namespace else []), *(namespaces or ())]
    labels = read_labels([*(custom_labels or ()), *(custome_labels or ())], "--custom-labels")
    properties = read_labels(asked_properties, "--properties")
    chosen = namespaces_to_follow if is_watched else chosen_namespaces
    places = chosen(session, named_places, all_namespaces, by_name=bool(properties) or at is not None)
    wanted: Wanted = {"selector": selector, "labels": labels or None, "match": match or None, "regex": regex}
    is_filtered = bool(properties) or any(wanted.values())
    wanted["with_system_topics"] = include_system_topic
    if is_watched:
        _refuse_unwatchable(properties, limit, at)
        watch.follow(session, session.client.watch(namespaces=places, **wanted))
        return
    topics: Sequence[TopicRecord | FoundTopic]
    if at is None:
        topics = _found(session, places, wanted, properties, limit)
    else:
        _refuse_past_properties(properties)
        topics = _matches(session.client, places, wanted, limit, at)
    is_cut = limit is not None and len(topics) > limit
    topics = topics[:limit]
    session.output.show(
        topics,
        (topic.name for topic in topics),
        ("TOPIC", "PARTITIONS", "LABELS"),
        ((topic.name, str(topic.partitions), labels_text(topic.labels)) for topic in topics),
    )
    if not topics:
        when = "" if at is None else f" at {at}"
        session.output.note(_nothing(places, when, is_filtered) if places else no_namespaces(named_places))
        if any("/" in pattern for pattern in match or ()):
            session.output.note("--match is for what follows the namespace in a topic's name, which holds no /")
        if regex:
            session.output.note("--regex is for the whole of what follows the namespace; .* stands for any characters")
        if selector and at is None and places:
            named = [] if places == [DEFAULT_NAMESPACE] else places
            where = " -A" if all_namespaces else "".join(f" -n {shlex.quote(place)}" for place in named)
            tells = f"topicfold explain {shlex.quote(selector)}{where} tells what each requirement finds"
            session.output.note(on_the_same_server(tells, session.config))
        if not (is_filtered or named_places or all_namespaces or at):
            more = "topicfold topics list -A lists those of all namespaces"
            session.output.note(on_the_same_server(more, session.config))
    if is_cut:
        session.output.note("there are more; without --limit all are shown")


def _nothing(places: Sequence[str], when: str, is_filtered: bool) -> str:
    """Return what to say where no topic was found."""
    return f"no topics match{when}" if is_filtered else f"no topics in {', '.join(places)}{when}"


def _refuse_unwatchable(properties: Mapping[str, str], limit: int | None, at: str | None) -> None:
    """Return if what is asked for can be watched.

    Raises:
        InvalidRequest: watches know nothing of listings, begin now, and have no end.
    """
    if properties or limit is not None or at is not None:
        raise InvalidRequest("-w shows all that matches from now on", hint="Leave --properties, --limit and --at out.")


def _refuse_past_properties(properties: Mapping[str, str]) -> None:
    """Return if what is asked for can be asked of the past.

    Raises:
        InvalidRequest: a listing by properties knows what is now.
    """
    if properties:
        raise InvalidRequest("--properties asks the server's topic listing, which knows no past", hint="Use labels.")


def _matches(
    client: Client, namespaces: Sequence[str], wanted: Wanted, limit: int | None, at: str | None
) -> list[FoundTopic]:
    """Return the topics of these namespaces that match, or did at a time or position, sorted, without their records.

    Of those beyond `limit` one at least.
    """
    from topicfold.client.bulk import matches_in

    found = matches_in(client, namespaces, at, _page_beyond(limit), **wanted)
    return sorted(found, key=lambda topic: topic.name)


def _found(
    session: Session, namespaces: Sequence[str], wanted: Wanted, properties: Mapping[str, str], limit: int | None
) -> Sequence[TopicRecord | FoundTopic]:
    """Return the topics of these namespaces that match, sorted; with `properties` those that the listing names.

    Of those beyond `limit` one at least. A listing that ignores properties is told of, and so are topics
    that the server cannot read, as they look like those without labels: where there may be any, or records are printed,
    they are asked for. They are as fresh as the log.
    """
    from topicfold.client.bulk import topics_in
    from topicfold.client.listed_topics import listing_by, with_partitioned

    client = session.client
    session.catch_up()
    if not (properties or session.output.is_for_machines or _may_miss_labels(session)):
        return _matches(client, namespaces, wanted, limit, None)
    listed: set[str] = set()
    is_heeded = True
    for namespace in namespaces if properties else ():
        asked = listing_by(namespace, properties, with_system_topics=wanted["with_system_topics"])
        names, confirmed = client.perform(asked)
        is_heeded = is_heeded and confirmed is not None
        listed |= with_partitioned(names)
    topics = topics_in(client, namespaces, **wanted, limit=None if properties else _page_beyond(limit))
    found = [each for each in topics if not properties or each.name in listed]
    if not is_heeded:
        session.output.warning(
            "the server's topic listing ignores --properties: see TOPICFOLD_TOPIC_LISTING=by-properties"
        )
    if unread := sorted(each.name for each in found if each.is_undecodable):
        such = unread[0] if len(unread) == 1 else f"such as {unread[0]}"
        session.output.warning(
            f"the server cannot read {len(unread):,} of these topics, {such}: their labels are not known"
        )
    return sorted(found, key=lambda topic: topic.name)


def _may_miss_labels(session: Session) -> bool:
    """Return whether the server cannot read some topics, or a proxy hides its health, which tells of them."""
    try:
        return session.count_unreadable() > 0
    except TopicfoldError:
        return True


def _page_beyond(limit: int | None) -> int | None:
    """Return the page that holds `limit` topics and one more, None for all where no page does."""
    return limit + 1 if limit is not None and limit < _MAX_PAGE else None
