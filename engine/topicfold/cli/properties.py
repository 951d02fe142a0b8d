"""`topicfold topics …-properties`: free text by name, kept with a topic and not indexed."""

from __future__ import annotations

from typing import Annotated

import typer

from topicfold.cli.arguments import Topic, read_settings
from topicfold.cli.command import CHANGE_OPTIONS, command
from topicfold.cli.session import Session
from topicfold.model.names import parse_topic

Pairs = Annotated[list[str], typer.Option("--property", "-p", metavar="KEY=VALUE", help="A property; repeatable.")]
Key = Annotated[str, typer.Option("--key", "-k", metavar="KEY", help="The property to remove.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    command(app, "get-properties")(get_properties)
    command(app, "update-properties", CHANGE_OPTIONS)(update_properties)
    command(app, "remove-properties", CHANGE_OPTIONS)(remove_properties)


def get_properties(session: Session, topic: Topic) -> None:
    """Show the properties of a topic.

    \b
    Example:
      topicfold topics get-properties orders
    """
    found = session.client.get_properties(topic)
    session.output.show(found, sorted(found), ("PROPERTY", "VALUE"), sorted(found.items()))
    if not found:
        session.output.note("it has no properties")


def update_properties(session: Session, topic: Topic, property: Pairs) -> None:  # noqa: A002 - the option's name
    """Set properties of a topic. Other properties stay.

    \b
    Example:
      topicfold topics update-properties orders -p owner=ann -p runbook=https://wiki.example.com/orders
    """
    pairs = read_settings(property, "--property")
    written = session.client.update_properties(topic, pairs, **session.changes)
    session.show_change(
        f"set {','.join(pairs)} on", str(parse_topic(topic)), written, "it already had these properties"
    )


def remove_properties(session: Session, topic: Topic, key: Key) -> None:
    """Remove a property of a topic.

    \b
    Example:
      topicfold topics remove-properties orders -k owner
    """
    written = session.client.remove_property(topic, key, **session.changes)
    session.show_change(f"removed {key} from", str(parse_topic(topic)), written, f"it had no property {key}")
