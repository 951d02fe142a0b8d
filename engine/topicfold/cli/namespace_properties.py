"""`topicfold namespaces …-property` and `…-properties`: free text by name, kept with a namespace."""

from __future__ import annotations

from typing import Annotated

import typer

from topicfold.cli.arguments import Namespace, read_labels
from topicfold.cli.command import CHANGE_OPTIONS, command
from topicfold.cli.session import Session
from topicfold.errors import NotFound
from topicfold.model.names import argument

Key = Annotated[str, typer.Option("--key", "-k", metavar="KEY", help="The property's name.")]
Value = Annotated[str, typer.Option("--value", "-v", metavar="VALUE", help="The property's value.")]
Pairs = Annotated[list[str], typer.Option("--properties", "-p", metavar="K=V,K=V", help="Properties; repeatable.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    command(app, "get-property")(get_property)
    command(app, "get-properties")(get_properties)
    command(app, "set-property", CHANGE_OPTIONS)(set_property)
    command(app, "set-properties", CHANGE_OPTIONS)(set_properties)
    command(app, "remove-property", CHANGE_OPTIONS)(remove_property)
    command(app, "clear-properties", CHANGE_OPTIONS)(clear_properties)


def get_property(session: Session, namespace: Namespace, key: Key) -> None:
    """Show one property of a namespace.

    \b
    Example:
      topicfold namespaces get-property acme/pay -k owner
    """
    value = session.client.namespace_properties(namespace).get(key)
    if value is None:
        raise NotFound(
            f"{namespace} has no property {key}",
            hint=f"topicfold namespaces get-properties {argument(namespace)}",
            key=key,
        )
    session.output.show({key: value}, [value], ("PROPERTY", "VALUE"), [(key, value)])


def get_properties(session: Session, namespace: Namespace) -> None:
    """Show the properties of a namespace.

    \b
    Example:
      topicfold namespaces get-properties acme/pay
    """
    found = session.client.namespace_properties(namespace)
    session.output.show(found, sorted(found), ("PROPERTY", "VALUE"), sorted(found.items()))
    if not found:
        session.output.note("it has no properties")


def set_property(session: Session, namespace: Namespace, key: Key, value: Value) -> None:
    """Set one property of a namespace.

    \b
    Example:
      topicfold namespaces set-property acme/pay -k owner -v ann
    """
    written = session.client.update_namespace_properties(namespace, {key: value}, **session.changes)
    session.show_change(f"set {key} on", namespace, written, "it already had this property")


def set_properties(session: Session, namespace: Namespace, properties: Pairs) -> None:
    """Set properties of a namespace. Those that are not named stay.

    \b
    Example:
      topicfold namespaces set-properties acme/pay -p owner=ann,cost=42
    """
    pairs = read_labels(properties, "--properties")
    written = session.client.update_namespace_properties(namespace, pairs, **session.changes)
    session.show_change(f"set {','.join(pairs)} on", namespace, written, "it already had these properties")


def remove_property(session: Session, namespace: Namespace, key: Key) -> None:
    """Remove one property of a namespace.

    \b
    Example:
      topicfold namespaces remove-property acme/pay -k owner
    """
    written = session.client.remove_namespace_property(namespace, key, **session.changes)
    session.show_change(f"removed {key} from", namespace, written, f"it had no property {key}")


def clear_properties(session: Session, namespace: Namespace) -> None:
    """Remove all properties of a namespace.

    \b
    Example:
      topicfold namespaces clear-properties acme/pay
    """
    written = session.client.clear_namespace_properties(namespace, **session.changes)
    session.show_change("removed all properties from", namespace, written, "it had no properties")
