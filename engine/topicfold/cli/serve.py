"""`topicfold serve`: hand the settings to the server. All else about serving is in `topicfold.server`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from topicfold.cli.arguments import KafkaSettings, KafkaTopic
from topicfold.cli.security_options import with_security_options
from topicfold.cli.server_settings import given_settings, needed_packages, server_settings
from topicfold.cli.session import Session

LogFile = Annotated[
    str | None, typer.Option("--log", metavar="FILE", help="Keep the log in this file (default topicfold.db).")
]
KafkaBootstrap = Annotated[
    str | None, typer.Option("--kafka", metavar="HOST:PORT", help="Keep the log on this Kafka cluster instead.")
]
Snapshot = Annotated[
    str | None,
    typer.Option("--snapshot", metavar="DIR", help="Start from the snapshot that 'topicfold compact' writes there."),
]
ClusterBootstrap = Annotated[
    str | None,
    typer.Option(
        "--cluster-bootstrap", metavar="HOST:PORT", help="The cluster with the topics (default that of --kafka)."
    ),
]
ClusterSettings = Annotated[
    list[str] | None,
    typer.Option("--cluster-setting", metavar="KEY=VALUE", help="A librdkafka setting for that cluster; repeatable."),
]
AdoptOnly = Annotated[
    bool, typer.Option("--adopt-only", help="Keep records only; never create, grow or delete topics in Kafka.")
]
FollowCluster = Annotated[
    bool,
    typer.Option("--follow-cluster", help="Create records of topics that appear in Kafka; report those that vanish."),
]
Host = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Address to serve on: loopback only, without authentication (default 127.0.0.1)."
    ),
]
Port = Annotated[
    int | None,
    typer.Option(min=0, max=65535, metavar="PORT", help="Port to serve on; 0 takes a free one (default 8080)."),
]


@with_security_options
def serve(
    session: Session,
    log: LogFile = None,
    kafka: KafkaBootstrap = None,
    kafka_topic: KafkaTopic = None,
    snapshot: Snapshot = None,
    host: Host = None,
    port: Port = None,
    kafka_setting: KafkaSettings = None,
    cluster_bootstrap: ClusterBootstrap = None,
    cluster_setting: ClusterSettings = None,
    adopt_only: AdoptOnly = False,
    follow_cluster: FollowCluster = False,
    **security: Any,
) -> None:
    """Run a server, on a log in a file or on a Kafka cluster.

    With --kafka or --cluster-bootstrap, topics are also created, grown and deleted in Kafka, with all their messages;
    with --adopt-only they never are.

    More settings than flags exist, for policies, labels, clusters and times: 'topicfold config server' lists them all
    with meaning, value and origin. Set them as TOPICFOLD_ and the name in capitals, or under [server] in the
    configuration file.

    -q omits the announcement and all log lines below a warning: changes are then not logged, refusals are.

    With authentication, by --auth-… or --tls-client-ca-file, every request is checked, and any address may be served.

    \b
    Examples:
      topicfold serve
      topicfold serve --log /var/lib/topicfold/events.db --port 8081
      topicfold serve --log /var/lib/topicfold/events.db --snapshot /var/lib/topicfold/snapshot
      topicfold serve --kafka broker1:9092,broker2:9092 --kafka-setting security.protocol=SSL
      topicfold serve --cluster-bootstrap broker1:9092 --adopt-only --follow-cluster
      topicfold serve --host 0.0.0.0 --tls-cert-file tls.pem --auth-jwks-url https://issuer.example/keys
    """
    flags = {
        "log_file": log, "kafka_bootstrap": kafka, "kafka_topic": kafka_topic, "snapshot": snapshot,
        "host": host, "port": port, "cluster_bootstrap": cluster_bootstrap, "adopt_only": adopt_only or None,
        "follow_cluster": follow_cluster or None, **security,
    }  # fmt: skip
    given = given_settings(flags, kafka_setting, cluster_setting)
    with needed_packages("serving", given):
        from topicfold.server.run import serve as run

        settings = server_settings(session.config, given, "serving")
        raise typer.Exit(run(settings, is_quiet=session.output.is_quiet))
