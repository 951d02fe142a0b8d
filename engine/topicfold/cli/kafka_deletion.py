"""Whether a deletion reaches Kafka: asked of the server before, and told after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from topicfold.errors import TopicfoldError

if TYPE_CHECKING:
    from topicfold.client import Client


def deletes_in_kafka(client: Client) -> bool:
    """Return whether the server deletes Kafka topics, or does not say so, as behind a proxy that hides its health."""
    cluster = _cluster(client)
    return cluster is not None and not cluster.get("adoptsOnly")


def became_in_kafka(client: Client) -> str:
    """Return what became of the Kafka topics of what was deleted with all its topics, "" where that is not known."""
    cluster = _cluster(client)
    if not cluster:
        return ""
    if cluster["adoptsOnly"]:
        return "any Kafka topics of its topics stay, with all messages: the server only adopts"
    return "any Kafka topics of its topics were deleted with all messages, except those that others stand for, too"


def _cluster(client: Client) -> dict[str, Any] | None:
    """Return how things are with the server's Kafka cluster, None where it has none, and nothing where it is hidden."""
    try:
        found: dict[str, Any] | None = client.readiness().report.get("cluster", {})
    except TopicfoldError:
        return {}
    return found
