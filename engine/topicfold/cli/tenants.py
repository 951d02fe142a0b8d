"""`topicfold tenants`: make, change, list and delete tenants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from topicfold.cli import permissions
from topicfold.cli.arguments import Force, Tenant, read_words
from topicfold.cli.command import CHANGE_OPTIONS, CREATION_OPTIONS, command, new_app
from topicfold.cli.history import tenant_history
from topicfold.cli.kafka_deletion import became_in_kafka
from topicfold.cli.question import LOSES_MESSAGES, Yes, is_somebody_there, require_yes
from topicfold.cli.session import Session
from topicfold.text.counting import counted

if TYPE_CHECKING:
    from topicfold.client import Client

app = new_app()

Roles = Annotated[
    list[str] | None, typer.Option("--admin-roles", "-r", metavar="R1,R2", help="Roles that administer it.")
]
Clusters = Annotated[
    list[str] | None, typer.Option("--allowed-clusters", "-c", metavar="C1,C2", help="Clusters that it may use.")
]


@command(app, "create", CREATION_OPTIONS)
def create(session: Session, tenant: Tenant, admin_roles: Roles = None, allowed_clusters: Clusters = None) -> None:
    """Create a tenant.

    \b
    Example:
      topicfold tenants create acme --admin-roles ops
    """
    roles, clusters = read_words(admin_roles), read_words(allowed_clusters)
    written = session.client.create_tenant(tenant, admin_roles=roles, allowed_clusters=clusters, **session.changes)
    session.show_change("created", tenant, written)


@command(app, "update", CHANGE_OPTIONS)
def update(session: Session, tenant: Tenant, admin_roles: Roles = None, allowed_clusters: Clusters = None) -> None:
    """Change a tenant. What you leave out stays.

    \b
    Example:
      topicfold tenants update acme --admin-roles ops,sre
    """
    old = session.client.get_tenant(tenant)
    # What stays was read a moment ago: if somebody changed it since, the change is refused and not lost.
    written = session.client.update_tenant(
        tenant,
        admin_roles=old.admin_roles if admin_roles is None else read_words(admin_roles),
        allowed_clusters=old.allowed_clusters if allowed_clusters is None else read_words(allowed_clusters),
        if_match=session.changes.get("if_match") or old.etag,
        reason=session.changes.get("reason"),
        idempotency_key=session.changes.get("idempotency_key"),
    )
    session.show_change("updated", tenant, written)


@command(app, "get")
def get(session: Session, tenant: Tenant) -> None:
    """Show a tenant.

    \b
    Example:
      topicfold tenants get acme
    """
    found = session.client.get_tenant(tenant)
    rows = [
        ("name", found.name),
        ("admin roles", ",".join(found.admin_roles)),
        ("allowed clusters", ",".join(found.allowed_clusters)),
        ("etag", found.etag),
    ]
    session.output.show(found, [found.name], ("FIELD", "VALUE"), rows)


@command(app, "list")
def list_tenants(session: Session) -> None:
    """List all tenants.

    \b
    Example:
      topicfold tenants list -o name
    """
    names = session.client.list_tenants()
    session.output.show(list(names), names, ("TENANT",), [(name,) for name in names])
    if not names:
        session.output.note("there are no tenants, or none that you may see")


@command(app, "delete", CHANGE_OPTIONS)
def delete(session: Session, tenant: Tenant, force: Force = False, yes: Yes = False) -> None:
    """Delete a tenant. With --force also its namespaces and topics; on a terminal it shows how many, and asks.

    \b
    Examples:
      topicfold tenants delete acme
      topicfold tenants delete acme --force --yes
    """
    if force and not yes and is_somebody_there():
        _confirm(session.client, tenant)
    written = session.client.delete_tenant(tenant, force=force, **session.changes)
    session.show_change("deleted", tenant, written, follows=lambda: became_in_kafka(session.client) if force else "")


def _confirm(client: Client, tenant: str) -> None:
    """Return once somebody said yes to deleting the namespaces of a tenant, or if it has none.

    Raises:
        Exit: they said no.
        TenantNotFound: there is no such tenant.
    """
    from topicfold.client.bulk import count_topics

    if namespaces := client.list_namespaces(tenant):
        topics = counted(count_topics(client, namespaces), "topic")
        whole = f"{counted(len(namespaces), 'namespace')} and {topics}"
        require_yes(f"This deletes {tenant} with {whole}. {LOSES_MESSAGES}")


command(app, "history")(tenant_history)
permissions.add_to(app, "tenant", Tenant, "acme")
