"""The parts of a topic's record that the fold decodes, to index and show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from topicfold.model.records import NO_GRANTS, Grants, Step


class Indexed(NamedTuple):
    """The indexed parts of a topic's record: labels, partitions (0 if not partitioned), grants, and its Kafka topic.

    `kafka_name` is None if it follows from the topic's own name; `pending` is the step left to do in Kafka.
    """

    labels: Mapping[str, str]
    partitions: int
    kafka_name: str | None = None
    pending: Step | None = None
    grants: Grants = NO_GRANTS


DecodeIndexed = Callable[[int, bytes], Indexed | None]
"""Takes a payload's schema number and bytes; returns its indexed parts, or None if it cannot be read."""

NOTHING = Indexed({}, 0)
"""The indexed parts of a topic that is deleted or cannot be read."""
