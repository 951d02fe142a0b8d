"""`topicfold clusters`: the clusters that replication policies may name."""

from __future__ import annotations

from typing import Annotated

import typer

from topicfold.cli.command import CHANGE_OPTIONS, CREATION_OPTIONS, command, new_app
from topicfold.cli.completion import complete_clusters
from topicfold.cli.session import Session

app = new_app()

Cluster = Annotated[str, typer.Argument(metavar="CLUSTER", help="A cluster.", autocompletion=complete_clusters)]


def _address(flag: str, example: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(flag, metavar="URL", help=f"Such as {example}.")
    return option


@command(app, "list")
def list_clusters(session: Session) -> None:
    """List all clusters.

    \b
    Example:
      topicfold clusters list
    """
    names = session.client.list_clusters()
    session.output.show(list(names), names, ("CLUSTER",), [(name,) for name in names])


@command(app, "get")
def get(session: Session, cluster: Cluster) -> None:
    """Show the addresses and peers of a cluster.

    \b
    Example:
      topicfold clusters get standalone
    """
    found = session.client.get_cluster(cluster)
    rows = [(name, each if isinstance(each, str) else ",".join(each)) for name, each in sorted(found.items())]
    session.output.show(found, [cluster], ("ADDRESS", "URL"), rows)
    if not rows:
        session.output.note("it has no addresses and no peers")


@command(app, "create", CREATION_OPTIONS)
def create(
    session: Session,
    cluster: Cluster,
    url: Annotated[str | None, _address("--url", "http://pulsar.example.com:8080")] = None,
    url_secure: Annotated[str | None, _address("--url-secure", "https://pulsar.example.com:8443")] = None,
    broker_url: Annotated[str | None, _address("--broker-url", "pulsar://pulsar.example.com:6650")] = None,
    broker_url_secure: Annotated[
        str | None, _address("--broker-url-secure", "pulsar+ssl://pulsar.example.com:6651")
    ] = None,
    proxy_url: Annotated[str | None, _address("--proxy-url", "pulsar://proxy.example.com:6650")] = None,
) -> None:
    """Register a cluster. Nothing connects to it.

    The addresses are those of the cluster. To name the Topicfold server, set TOPICFOLD_URL, or put --url first:
    topicfold --url URL clusters create …

    \b
    Example:
      topicfold clusters create west --url http://pulsar-west.example.com:8080
    """
    given = {
        "serviceUrl": url,
        "serviceUrlTls": url_secure,
        "brokerServiceUrl": broker_url,
        "brokerServiceUrlTls": broker_url_secure,
        "proxyServiceUrl": proxy_url,
    }
    addresses = {member: address for member, address in given.items() if address is not None}
    session.show_change("created", cluster, session.client.create_cluster(cluster, addresses, **session.changes))


@command(app, "delete", CHANGE_OPTIONS)
def delete(session: Session, cluster: Cluster) -> None:
    """Forget a cluster. Policies that name it keep their values.

    \b
    Example:
      topicfold clusters delete west
    """
    session.show_change("deleted", cluster, session.client.delete_cluster(cluster, **session.changes))
