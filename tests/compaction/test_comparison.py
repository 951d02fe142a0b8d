"""The job compares a commit's digests with what nodes state where the commit ends."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.builders import an_id, namespace_put, topic_put
from tests.compaction.folds import Placed, Tables, placed
from topicfold.compaction.comparison import Difference, differences
from topicfold.log.digest_record import Statement, digest_value

EVENTS = placed(0, [namespace_put(1), topic_put(2, an_id(1))])
END = len(EVENTS)
OTHER = bytes(16)


def stated(position: int, digest: bytes, level: int = 1) -> Placed:
    """Return the record at the log's end in which a node states a digest at `position`."""
    return Placed(0, END, digest_value(level, an_id(3), "one", 0, (Statement(position, digest),)))


def told(root: Path, records: Iterable[Placed]) -> list[Difference]:
    """Return what the comparison finds after a batch of `records`."""
    tables = Tables(root, partitions=1)
    batch = tables.take(list(records))
    assert batch is not None
    return differences(tables.commit, (each for result in batch.results for each in result.stated))


def right_digest(root: Path) -> bytes:
    """Return the digest after the events."""
    tables = Tables(root, partitions=1)
    tables.take(EVENTS)
    return bytes.fromhex(tables.commit.digests[0])


def test_a_commit_that_is_right_agrees_with_the_nodes(tmp_path: Path) -> None:
    assert told(tmp_path / "a", [*EVENTS, stated(END, right_digest(tmp_path / "b"))]) == []


def test_a_commit_with_another_digest_differs_from_the_node_that_is_named(tmp_path: Path) -> None:
    found = told(tmp_path, [*EVENTS, stated(END, OTHER)])
    assert found == [Difference(1, 0, END, "one")]
    assert "than node one" in str(found[0])


def test_only_what_a_record_says_of_where_the_commit_ends_is_compared(tmp_path: Path) -> None:
    assert told(tmp_path / "a", [*EVENTS, stated(END - 1, OTHER)]) == []
    assert told(tmp_path / "b", [*EVENTS, stated(END, OTHER), Placed(0, END + 1, b"garbage")]) == []


def test_of_the_digests_of_a_partition_only_the_last_travels_to_the_driver(tmp_path: Path) -> None:
    later = Placed(0, END + 1, digest_value(1, an_id(4), "one", 0, (Statement(END + 1, OTHER),)))
    batch = Tables(tmp_path, partitions=1).take([*EVENTS, stated(END, OTHER), later])
    assert batch is not None
    assert [each.position for result in batch.results for each in result.stated] == [END + 1]


def test_a_record_of_another_level_is_not_compared(tmp_path: Path) -> None:
    assert told(tmp_path, [*EVENTS, stated(END, OTHER, level=2)]) == []
