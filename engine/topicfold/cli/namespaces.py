"""`topicfold namespaces`: make, list and delete namespaces, set their policies, and see the labels in use in one."""

from __future__ import annotations

from typing import Annotated

import typer

from topicfold.cli import namespace_properties, permissions
from topicfold.cli.arguments import Force, Namespace
from topicfold.cli.command import CHANGE_OPTIONS, CREATION_OPTIONS, command, new_app
from topicfold.cli.completion import complete_tenants
from topicfold.cli.history import namespace_history, namespace_rollback
from topicfold.cli.kafka_deletion import became_in_kafka
from topicfold.cli.output import escaped
from topicfold.cli.policies.commands import namespace_policies
from topicfold.cli.policies.group import policy_group
from topicfold.cli.policies.output import show_policy
from topicfold.cli.question import LOSES_MESSAGES, Yes, is_somebody_there, require_yes
from topicfold.cli.same_server import on_the_same_server
from topicfold.cli.session import Session
from topicfold.model.names import DEFAULT_TENANT
from topicfold.text.counting import counted

app = new_app(group=policy_group(*namespace_policies()))

TenantOrDefault = Annotated[
    str | None,
    typer.Argument(metavar="TENANT", help=f"A tenant (default {DEFAULT_TENANT}).", autocompletion=complete_tenants),
]


@command(app, "create", CREATION_OPTIONS)
def create(session: Session, namespace: Namespace) -> None:
    """Create a namespace in a tenant that exists.

    \b
    Example:
      topicfold namespaces create acme/pay
    """
    session.show_change("created", namespace, session.client.create_namespace(namespace, **session.changes))


@command(app, "list")
def list_namespaces(session: Session, tenant: TenantOrDefault = None) -> None:
    """List the namespaces of a tenant.

    \b
    Example:
      topicfold namespaces list acme
    """
    asked = DEFAULT_TENANT if tenant is None else tenant
    names = session.client.list_namespaces(asked)
    session.output.show(list(names), names, ("NAMESPACE",), [(name,) for name in names])
    if not names:
        session.output.note(f"tenant {asked} has no namespaces")
    if tenant is None and set(session.client.list_tenants()) - {DEFAULT_TENANT}:
        others = f"these are those of tenant {DEFAULT_TENANT}; topicfold tenants list shows all tenants"
        session.output.note(on_the_same_server(others, session.config))


@command(app, "delete", CHANGE_OPTIONS)
def delete(session: Session, namespace: Namespace, force: Force = False, yes: Yes = False) -> None:
    """Delete a namespace. With --force its topics, too; on a terminal it says how many these are, and asks.

    \b
    Examples:
      topicfold namespaces delete acme/pay
      topicfold namespaces delete acme/pay --force --yes
    """
    if force and not yes and is_somebody_there():
        _confirm(session, namespace)
    written = session.client.delete_namespace(namespace, force=force, **session.changes)
    session.show_change("deleted", namespace, written, follows=lambda: became_in_kafka(session.client) if force else "")


def _confirm(session: Session, namespace: str) -> None:
    """Return once somebody said yes to deleting the topics of a namespace, or if it has none.

    Raises:
        Exit: they said no.
        NamespaceNotFound: there is no such namespace.
    """
    from topicfold.client.bulk import count_topics

    session.catch_up()
    if topics := count_topics(session.client, [namespace]):
        require_yes(f"This deletes {namespace} with {counted(topics, 'topic')}. {LOSES_MESSAGES}")


@command(app, "policies")
def policies(session: Session, namespace: Namespace) -> None:
    """Show all that is set on a namespace. In Pulsar's words.

    \b
    Example:
      topicfold namespaces policies acme/pay -o json
    """
    show_policy(session.output, session.client.get_namespace(namespace))


def list_topic_custom_labels(session: Session, namespace: Namespace) -> None:
    """List the labels in use in a namespace. Each key with its values.

    \b
    Example:
      topicfold namespaces list-topic-custom-labels public/default
    """
    labels = session.client.namespace_labels(namespace)
    rows = [(key, ",".join(map(escaped, values))) for key, values in labels.items()]
    session.output.show({key: list(values) for key, values in labels.items()}, list(labels), ("KEY", "VALUES"), rows)
    if not labels:
        session.output.note(f"no topic in {namespace} has labels")


command(app, "list-topic-custom-labels")(list_topic_custom_labels)
# PIP-451 spells it so.
command(app, "list-topic-custome-labels", hidden=True)(list_topic_custom_labels)

command(app, "history")(namespace_history)
command(app, "rollback", CHANGE_OPTIONS)(namespace_rollback)
namespace_properties.add_to(app)
permissions.add_to(app, "namespace", Namespace, "acme/pay")
