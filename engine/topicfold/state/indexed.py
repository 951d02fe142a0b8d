"""What of a topic's record the fold looks at: what is indexed, and shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from topicfold.model.records import NO_GRANTS, Grants, Step


class Indexed(NamedTuple):
    """What of a topic's record is indexed: its labels, partitions (0 for a plain topic), grants, what it is in Kafka.

    `kafka_name` None follows from the topic's own; `pending`: the step that is left to do there.
    """

    labels: Mapping[str, str]
    partitions: int
    kafka_name: str | None = None
    pending: Step | None = None
    grants: Grants = NO_GRANTS


DecodeIndexed = Callable[[int, bytes], Indexed | None]
"""Takes a payload's schema number and bytes; returns what is indexed of it, None where it cannot be read."""

NOTHING = Indexed({}, 0)
"""What is indexed of a topic that is dead, or cannot be read."""
