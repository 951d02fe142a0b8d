"""`topicfold topics`: make, list and delete topics, and label them. Names of commands are Pulsar's and PIP-451's."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import typer

from topicfold.cli import effective, permissions, properties, topic_list
from topicfold.cli.arguments import At, Partitions, Topic, read_keys, read_labels
from topicfold.cli.command import CHANGE_OPTIONS, CREATION_OPTIONS, command, new_app
from topicfold.cli.completion import complete_keys, complete_new_labels
from topicfold.cli.kafka_deletion import deletes_in_kafka
from topicfold.cli.output import labels_text
from topicfold.cli.policies.commands import older_topic_policies
from topicfold.cli.policies.group import policy_group
from topicfold.cli.question import Yes, is_somebody_there, require_yes
from topicfold.cli.same_server import on_the_same_server
from topicfold.cli.session import Session
from topicfold.errors import Forbidden, InvalidRequest, NotFound, TopicfoldError
from topicfold.model.kafka.adoption import is_left_out, stands_for
from topicfold.model.kafka.names import is_kafka_name
from topicfold.model.names import PERSISTENT, argument, parse_topic

if TYPE_CHECKING:
    from topicfold.client import Topic as TopicRecord
    from topicfold.client import TopicDeleted

app = new_app(group=policy_group(*older_topic_policies()))

_LABELS = typer.Option(
    "--labels",
    "-l",
    metavar="K=V,K=V",
    help="Labels; repeat the option for values with commas.",
    autocompletion=complete_new_labels,
)
NewLabels = Annotated[list[str], _LABELS]
FirstLabels = Annotated[list[str] | None, _LABELS]
_LOOKED_AT = 5
"""Changes of a topic that was just created: its creation, the end of the one before, and steps of these in Kafka."""
LabelKeys = Annotated[
    list[str] | None,
    typer.Option("--labels", "-l", metavar="K1,K2", help="Keys of the labels to remove.", autocompletion=complete_keys),
]


@command(app, "create", CREATION_OPTIONS)
def create(session: Session, topic: Topic, labels: FirstLabels = None) -> None:
    """Create a topic that is not partitioned.

    \b
    Examples:
      topicfold topics create orders
      topicfold topics create acme/pay/orders --labels team=pay,tier=gold --reason "new service"
    """
    _create(session, topic, 0, labels)


@command(app, "create-partitioned-topic", CREATION_OPTIONS)
def create_partitioned_topic(
    session: Session, topic: Topic, partitions: Partitions, labels: FirstLabels = None
) -> None:
    """Create a partitioned topic.

    \b
    Example:
      topicfold topics create-partitioned-topic orders --partitions 12
    """
    _create(session, topic, partitions, labels)


@command(app, "update-partitioned-topic", CHANGE_OPTIONS)
def update_partitioned_topic(session: Session, topic: Topic, partitions: Partitions) -> None:
    """Give a partitioned topic more partitions.

    \b
    Example:
      topicfold topics update-partitioned-topic orders --partitions 24
    """
    written = session.client.grow_topic(topic, partitions, **session.changes)
    session.show_change("updated", str(parse_topic(topic)), written)


command(app, "list")(topic_list.list_topics)


@command(app, "get")
def get(session: Session, topic: Topic, at: At = None) -> None:
    """Show a topic. Its labels, partitions, ETag, and the Kafka topic that it stands for.

    \b
    Examples:
      topicfold topics get orders -o json
      topicfold topics get orders --at 1234
    """
    found = _record(session, topic, at)
    rows = [
        ("name", found.name),
        ("labels", labels_text(found.labels)),
        ("partitions", str(found.partitions)),
        ("kafka name", _kafka_name_text(found)),
        ("properties", "–" if found.properties is None else labels_text(found.properties)),
        ("etag", found.etag),
    ]
    session.output.show(found, [found.name], ("FIELD", "VALUE"), rows)


# Pulsar's name for what `get` shows, too.
@command(app, "get-partitioned-topic-metadata", hidden=True)
def get_partitioned_topic_metadata(session: Session, topic: Topic) -> None:
    """Show how many partitions a topic has. 0 where it is not partitioned.

    \b
    Example:
      topicfold topics get-partitioned-topic-metadata orders
    """
    found = session.client.partitioned_topic_metadata(topic)
    partitions = str(found["partitions"])
    session.output.show(found, [partitions], ("FIELD", "VALUE"), [("partitions", partitions)])


@command(app, "delete", CHANGE_OPTIONS)
def delete(session: Session, topic: Topic, yes: Yes = False) -> None:
    """Delete a topic that is not partitioned. A server on Kafka also deletes its Kafka topic, with all messages.

    Before it deletes messages, it asks on a terminal.

    \b
    Examples:
      topicfold topics delete orders --reason "service retired"
      topicfold topics delete orders --yes
    """
    if not yes:
        _confirm(session, topic, is_partitioned=False)
    _show_deletion(session, topic, session.client.delete_plain_topic(topic, **session.changes))


@command(app, "delete-partitioned-topic", CHANGE_OPTIONS)
def delete_partitioned_topic(session: Session, topic: Topic, yes: Yes = False) -> None:
    """Delete a partitioned topic. A server on Kafka also deletes its Kafka topic, with all messages.

    Before it deletes messages, it asks on a terminal.

    \b
    Examples:
      topicfold topics delete-partitioned-topic orders
      topicfold topics delete-partitioned-topic orders --yes
    """
    if not yes:
        _confirm(session, topic, is_partitioned=True)
    _show_deletion(session, topic, session.client.delete_partitioned_topic(topic, **session.changes))


@command(app, "set-custom-labels", CHANGE_OPTIONS)
def set_custom_labels(session: Session, topic: Topic, labels: NewLabels) -> None:
    """Set labels of a topic. Other labels stay.

    \b
    Examples:
      topicfold topics set-custom-labels orders --labels team=pay,tier=gold
      topicfold topics set-custom-labels orders --labels 'note=a,b' --labels team=pay
      topicfold topics set-custom-labels orders --labels tier=gold --if-match ETAG --reason SLA
    """
    pairs = read_labels(labels, "--labels")
    written = session.client.set_labels(topic, pairs, **session.changes)
    said = labels_text(pairs)
    session.show_change(f"set {said} on", str(parse_topic(topic)), written, f"it had {said} before")


@command(app, "get-custom-labels")
def get_custom_labels(session: Session, topic: Topic, at: At = None) -> None:
    """Show the labels of a topic.

    \b
    Examples:
      topicfold topics get-custom-labels orders
      topicfold topics get-custom-labels orders --at 1234
    """
    labels = session.client.get_labels(topic) if at is None else _record(session, topic, at).labels
    session.output.show(labels, sorted(labels), ("KEY", "VALUE"), sorted(labels.items()))
    if not labels:
        session.output.note("it has no labels" if at is None else f"it had no labels at {at}")


@command(app, "remove-custom-labels", CHANGE_OPTIONS)
def remove_custom_labels(
    session: Session,
    topic: Topic,
    keys: LabelKeys = None,
    all_labels: Annotated[bool, typer.Option("--all", help="Remove every label.")] = False,
) -> None:
    """Remove labels from a topic. Name their keys, or use --all.

    \b
    Examples:
      topicfold topics remove-custom-labels orders --labels tier,note
      topicfold topics remove-custom-labels orders --all
    """
    name = str(parse_topic(topic))
    if (chosen := _keys_or_all(keys, all_labels)) is None:
        written = session.client.remove_all_labels(topic, **session.changes)
        session.show_change("removed all labels from", name, written, "it had no labels")
        return
    before = _labels_before(session, topic, chosen)
    written = session.client.remove_labels(topic, chosen, **session.changes)
    missing = [key for key in chosen if key not in before]
    removed = [key for key in chosen if key in before]
    unchanged = f"it had no {','.join(missing or chosen)}"
    session.show_change(f"removed {','.join(removed or chosen)} from", name, written, unchanged)
    if removed and missing:
        session.output.note(f"it had no {','.join(missing)}")


command(app, "effective")(effective.effective)
properties.add_to(app)
permissions.add_to(app, "topic", Topic, "orders")


def _confirm(session: Session, topic: str, *, is_partitioned: bool) -> None:
    """Return once somebody said yes to deleting a topic's messages, or if none are deleted or nobody is there.

    What they said yes to is then deleted as it was, or not at all. What the server refuses in any case is left to it.
    They are asked, too, where it is not told what is deleted: to delete a topic and to read it are two rights.

    Raises:
        Exit: they said no.
    """
    if not is_somebody_there():
        return
    name, client = parse_topic(topic), session.client
    session.catch_up()
    if name.domain != PERSISTENT or not deletes_in_kafka(client):
        return
    found, kafka_topic = None, ""
    try:
        found = client.get_topic(topic)
    except NotFound:
        return
    except Forbidden:
        pass
    if found is not None and not found.is_undecodable:
        kafka_topic = stands_for(found.name, found.kafka_name) or ""
        has_none = not is_kafka_name(kafka_topic) or is_left_out(kafka_topic)
        if has_none or bool(found.partitions) != is_partitioned:
            return
    named = " ".join(filter(None, ("its Kafka topic", kafka_topic)))
    require_yes(f"This deletes {name}, and {named} with all messages.")
    if found is not None:
        session.changes["if_match"] = session.changes.get("if_match") or found.etag


def _show_deletion(session: Session, topic: str, deleted: TopicDeleted) -> None:
    session.show_change("deleted", str(parse_topic(topic)), deleted)
    if deleted.kafka_topic is not None:
        session.output.note(f"its Kafka topic {deleted.kafka_topic} was deleted with all its messages")


def _labels_before(session: Session, topic: str, keys: Collection[str]) -> Collection[str]:
    """Return the keys of a topic's labels; all of `keys` where who asks may change labels and not read them."""
    try:
        return session.client.get_labels(topic)
    except Forbidden:
        return keys


def _keys_or_all(texts: list[str] | None, all_labels: bool) -> list[str] | None:
    """Return the keys of labels to remove, None for all.

    Raises:
        InvalidRequest: neither or both are given, or a key with a value.
    """
    keys = read_keys(texts)
    if bool(keys) == all_labels:
        raise InvalidRequest("remove-custom-labels takes either keys or --all", hint="Write --labels K1,K2 or --all.")
    return keys or None


def _kafka_name_text(topic: TopicRecord) -> str:
    """Return the Kafka topic that `topic` stands for: the one that its record names, or that follows from its name."""
    if topic.kafka_name is not None:
        return topic.kafka_name
    if parse_topic(topic.name).domain != PERSISTENT:
        return "(none: not persistent)"
    by_rule = stands_for(topic.name, None) or ""
    return f"{by_rule} (by rule)" if is_kafka_name(by_rule) else "(none: not a name Kafka allows)"


def _record(session: Session, topic: str, at: str | None) -> TopicRecord:
    """Return a topic as it is, or as it was at `at`, whether it is there now or not."""
    if at is not None:
        return session.client.get_topic_at(topic, at).readable()
    # As in `list`: so a record that another node has just written is not missed.
    session.client.get_labels(topic)
    return session.client.get_topic(topic)


def _create(session: Session, topic: str, partitions: int, labels: list[str] | None) -> None:
    from topicfold.client import calls

    record = {"partitions": partitions, "labels": read_labels(labels, "--labels")}
    created, taken = session.client.perform(calls.create_topic(str(parse_topic(topic)), record, session.changes))
    session.output.show(created, [created.name], (), ())
    session.output.note(f"created {created.name}")
    if taken is not None:
        session.output.note(f"it took over the Kafka topic {taken}, which was there before, with its messages")
    if not session.output.is_quiet and is_somebody_there() and (version := _former_version(session, created.name)):
        back = f"topicfold rollback --to {version} {argument(created.name)}"
        restores = f"a topic of that name was deleted before; {back} restores its labels, properties and policies"
        session.output.note(on_the_same_server(restores, session.config))


def _former_version(session: Session, name: str) -> str:
    """Return the last version of the topic that was called so before, "" if none is known, or it had nothing."""
    with suppress(TopicfoldError):
        entries = session.client.history(name, limit=_LOOKED_AT).entries
        for entry, older in pairwise(entries):
            if entry.kind == "deleted":
                held = {each.path[0] for each in entry.changes or ()}
                return str(older.offset) if held & {"labels", "properties", "policies"} else ""
    return ""
