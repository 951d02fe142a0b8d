"""Folds the recorded log and prints the digest after every hundredth record: `python -m tests.golden.replay`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.builders import empty_state
from tests.state.histories import PARTITION, PARTITIONS
from topicfold.log.codec import decode_event
from topicfold.state.fold import PartitionState

LOG = Path(__file__).with_name("log.hex")
DIGESTS = Path(__file__).with_name("digests.txt")
CLIENT_RING, SERVER_RING = 5, 3


def recorded() -> list[bytes]:
    """Return the values of the recorded log."""
    return [bytes.fromhex(line) for line in LOG.read_text().splitlines()]


def digests(values: list[bytes]) -> Iterator[str]:
    """Yield `position digest` after every hundredth record and at the end."""
    state = started()
    for offset, value in enumerate(values):
        state.apply(offset, decode_event(value))
        if state.position % 100 == 0 or state.position == len(values):
            yield f"{state.position} {state.digest().hex()}"


def started() -> PartitionState:
    """Return the empty state that the digests begin with; its rings are small, so that they turn over."""
    return empty_state(PARTITION, PARTITIONS, client_ring=CLIENT_RING, server_ring=SERVER_RING)


if __name__ == "__main__":
    print(*digests(recorded()), sep="\n")
