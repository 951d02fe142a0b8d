"""The archive: what it costs to find the newest of many rows, and how much is in memory of large ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.builders import NAMESPACE, TOPIC, an_id, namespace_delete, namespace_put, operation, topic_delete, topic_put
from tests.compaction.folds import Tables, placed, run_here
from tests.compaction.tables import make_old
from topicfold.compaction.compactor import Compactor
from topicfold.compaction.delta import merging
from topicfold.compaction.delta.publishing import publish
from topicfold.compaction.delta.tables import opened, write_version
from topicfold.compaction.delta.vacuum import vacuum
from topicfold.errors import SnapshotDamaged
from topicfold.log.codec import encode_audit
from topicfold.log.port import LogIdentity
from topicfold.model.events import HASH_NAME, LAST_TIME_MS, REQUIRE_EMPTY, AggregateKind, AuditTrail, Event, Verdict
from topicfold.snapshot import archive
from topicfold.snapshot.archive import Archive, ArchivedNamespace, _Newest
from topicfold.snapshot.commits import DataFile, commit_path, sequences
from topicfold.snapshot.files.data_files import write_rows
from topicfold.snapshot.files.delta_files import active_files
from topicfold.snapshot.tables import HISTORY
from topicfold.state.aggregate import NO_ETAG, Etag

BATCH, BATCHES, NAMES = 50, 80, 1_000


def test_the_newest_rows_of_many_names_are_found_by_looking_at_each_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at, joined = 0, pa.concat_tables

    def counted(parts: list[pa.Table]) -> pa.Table:
        nonlocal looked_at
        both = joined(parts)
        looked_at += both.num_rows
        return both

    monkeypatch.setattr(pa, "concat_tables", counted)
    newest = _Newest()
    for first in range(0, BATCH * BATCHES, BATCH):
        offsets = range(first, first + BATCH)
        newest.add(pa.table({"name": [str(each % NAMES) for each in offsets], "offset": offsets}))
    found = newest.rows()
    assert sorted(found["offset"].to_pylist()) == list(range(BATCH * BATCHES - NAMES, BATCH * BATCHES))
    assert looked_at < 4 * BATCH * BATCHES
    assert _Newest().rows().num_columns == 0


def test_of_large_events_so_many_are_read_as_there_is_room_for_and_one_at_least(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 250)
    log = [namespace_put(1), topic_put(2, an_id(1))]
    log += [topic_put(n, an_id(1), an_id(n - 1), payload=bytes(100)) for n in range(3, 9)]
    log.append(topic_put(9, an_id(1), an_id(8), payload=bytes(300)))
    tables = Tables(tmp_path, 1)
    for first in range(0, len(log), 3):
        tables.take(placed(0, log[first : first + 3], first))

    def offsets(up_to: int, most: int = 99) -> list[int]:
        found = Archive(tmp_path, bytes(16), 1).events_of(AggregateKind.TOPIC, TOPIC, 0, up_to, most)
        return [each.offset for each in found]

    assert [offsets(8), offsets(7), offsets(2), offsets(7, 1)] == [[8], [7, 6], [2, 1], [7]]


def namespace_after(root: Path, log: Sequence[Event]) -> ArchivedNamespace | None:
    """Return the namespace as the archive has it behind all of `log`."""
    Tables(root, 1).take(placed(0, log), slices=1)
    return Archive(root, bytes(16), 1).namespace_at(NAMESPACE, 0, len(log))


def test_neither_a_change_of_a_namespace_nor_a_delete_that_was_refused_begins_another_life(tmp_path: Path) -> None:
    log = [namespace_put(1), topic_put(2, an_id(1)), namespace_put(3, an_id(1))]
    log += [namespace_delete(4, an_id(3), flags=REQUIRE_EMPTY)]
    found = namespace_after(tmp_path, log)
    assert found is not None
    assert found.incarnation == an_id(1)
    assert [name for name, _ in found.topics()] == [TOPIC]


def test_topics_of_a_life_that_ended_are_not_those_of_the_next(tmp_path: Path) -> None:
    log = [namespace_put(1), topic_put(2, an_id(1)), namespace_delete(3, an_id(1)), namespace_put(4, an_id(3))]
    found = namespace_after(tmp_path, log)
    assert found is not None
    assert (found.incarnation, [*found.topics()]) == (an_id(4), [])


def test_topics_of_another_namespace_of_the_same_partition_are_not_those_of_this(tmp_path: Path) -> None:
    log = [namespace_put(1), namespace_put(2, name="public/other"), topic_put(3, an_id(1))]
    log += [topic_put(4, an_id(2), name="persistent://public/other/orders")]
    found = namespace_after(tmp_path, log)
    assert found is not None
    assert [name for name, _ in found.topics()] == [TOPIC]


def test_the_life_of_a_namespace_is_told_in_the_log_s_order_though_files_were_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "MANY", 2)
    job = Compactor(tmp_path, LogIdentity(bytes(16), 1, HASH_NAME))
    job.take(run_here(placed(0, [namespace_put(1)])), slices=1)
    job.take(run_here(placed(0, [namespace_delete(2, an_id(1))], 1)), slices=1)
    merging.merge_small_files(tmp_path, "history")
    job.take(run_here(placed(0, [namespace_put(3, an_id(2))], 2)), slices=1)
    job.close()
    assert len(active_files(tmp_path, "history").paths) == 2
    archive = Archive(tmp_path, bytes(16), 1)
    found = [archive.namespace_at(NAMESPACE, 0, position) for position in range(4)]
    assert [each and each.incarnation for each in found] == [None, an_id(1), None, an_id(3)]


def test_a_topic_that_was_deleted_is_told_as_deleted_with_its_version(tmp_path: Path) -> None:
    log = [namespace_put(1), topic_put(2, an_id(1), payload=b"as it was"), topic_delete(3, an_id(1), an_id(2))]
    log += [topic_put(4, an_id(1), name="persistent://public/default/others", payload=b"as it is")]
    found = namespace_after(tmp_path, log)
    assert found is not None
    told = {name: (topic.version, topic.is_live, topic.payload) for name, topic in found.topics()}
    assert told == {
        TOPIC: (an_id(3), False, b""),
        "persistent://public/default/others": (an_id(4), True, b"as it is"),
    }


def test_an_etag_is_of_the_last_update_that_changed_the_record(tmp_path: Path) -> None:
    changing = (operation(1), operation(2), operation(3, Verdict.UNCHANGED))
    log = [namespace_put(1), topic_put(2, an_id(1), operations=changing)]
    log += [topic_put(3, an_id(1), an_id(2), operations=(operation(4, Verdict.UNCHANGED),))]
    log += [topic_put(4, an_id(1), name="persistent://public/default/nobodys")]
    log += [topic_put(5, an_id(1), name="persistent://public/default/others", operations=changing[1:])]
    found = namespace_after(tmp_path, log)
    assert found is not None
    topics = dict(found.topics())
    assert (topics[TOPIC].version, topics[TOPIC].etag) == (an_id(3), Etag(an_id(2), 2))
    assert topics["persistent://public/default/nobodys"].etag == NO_ETAG
    assert topics["persistent://public/default/others"].etag == Etag(an_id(5), 1)


@pytest.mark.parametrize(("time_ms", "below", "behind", "position"), [
    (5, 6, 0, 0), (30, 6, 0, 4), (35, 6, 0, 4), (99, 6, 0, 6), (99, 4, 0, 4), (35, 2, 0, 2),
    (25, 3, 0, 2), (25, 3, 1, 2), (25, 3, 2, 3), (99, 9, 0, 9), (35, 1, 0, 0),
])  # fmt: skip
def test_a_time_is_looked_for_among_what_is_below_an_offset_and_what_is_said_of_the_rest(
    tmp_path: Path, time_ms: int, below: int, behind: int, position: int
) -> None:
    log = [namespace_put(1), topic_put(2, an_id(1)), *(topic_put(n, an_id(1), an_id(n - 1)) for n in range(3, 7))]
    times = (10, 30, 20, 40, 50)
    said = [
        each._replace(audit=encode_audit(AuditTrail((), time, -1))) for each, time in zip(log[1:], times, strict=True)
    ]
    Tables(tmp_path, 1).take(placed(0, [log[0], *said]))
    assert Archive(tmp_path, bytes(16), 1).position_at(0, time_ms, below, behind) == position


def test_one_clock_that_was_ahead_at_the_beginning_counts_as_one_event(tmp_path: Path) -> None:
    log = [namespace_put(1), topic_put(2, an_id(1)), topic_put(3, an_id(1), an_id(2))]
    said = [
        each._replace(audit=encode_audit(AuditTrail((), time, -1)))
        for each, time in zip(log, (30, 10, 10), strict=True)
    ]
    Tables(tmp_path, 1).take(placed(0, said), slices=1)
    assert Archive(tmp_path, bytes(16), 1).position_at(0, 20, 3) == 3


@pytest.mark.parametrize("first", [1, LAST_TIME_MS])
def test_of_times_that_earlier_versions_wrote_those_that_no_calendar_holds_are_none(tmp_path: Path, first: int) -> None:
    log = [namespace_put(1), topic_put(2, an_id(1)), *(topic_put(n, an_id(1), an_id(n - 1)) for n in range(3, 6))]
    tables = Tables(tmp_path, 1)
    tables.take(placed(0, log), slices=1)
    publish(tmp_path, tables.commit)
    [ours] = active_files(tmp_path, "history").paths
    times = pa.array([1000 * each for each in (0, -1, LAST_TIME_MS + 1, first, 2)]).cast(HISTORY.field("time").type)
    rows = pq.read_table(tmp_path / ours, schema=HISTORY).sort_by("offset")
    earlier = write_rows(tmp_path, "history", "1", rows.set_column(rows.schema.get_field_index("time"), "time", times))
    assert write_version(opened(tmp_path, "history"), tmp_path / "history", [earlier], {Path(ours).name}, 0, None)
    assert Archive(tmp_path, bytes(16), 1).first_time_ms(0) == first


@pytest.mark.parametrize("is_merged", [False, True])
def test_a_time_is_found_at_the_same_place_though_files_were_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_merged: bool
) -> None:
    monkeypatch.setattr(merging, "MANY", 2)
    log = [namespace_put(1), topic_put(2, an_id(1)), *(topic_put(n, an_id(1), an_id(n - 1)) for n in range(3, 7))]
    times = (10, 30, 40, 10, 10, 10)
    said = [each._replace(audit=encode_audit(AuditTrail((), time, -1))) for each, time in zip(log, times, strict=True)]
    job = Compactor(tmp_path, LogIdentity(bytes(16), 1, HASH_NAME))
    job.take(run_here(placed(0, said[:1])), slices=1)
    job.take(run_here(placed(0, said[1:3], 1)), slices=1)
    if is_merged:
        merging.merge_small_files(tmp_path, "history")
    job.take(run_here(placed(0, said[3:], 3)), slices=1)
    job.close()
    assert len(active_files(tmp_path, "history").paths) == 3 - is_merged
    assert Archive(tmp_path, bytes(16), 1).position_at(0, 20, len(log)) == len(log)


def test_a_damaged_commit_that_was_given_up_before_it_was_published_is_not_read(tmp_path: Path) -> None:
    log = [namespace_put(1), topic_put(2, an_id(1)), topic_put(3, an_id(1), an_id(2))]
    tables = Tables(tmp_path, 1)
    tables.take(placed(0, log[:2]))
    base = tables.base
    tables.take(placed(0, log[2:], 2))
    for each in tables.commit.added:
        (tmp_path / each.path).write_bytes(b"damaged")
    tables.base = replace(base, sequence=3)
    tables.take(placed(0, log[2:], 2))
    found = Archive(tmp_path, bytes(16), 1).events_of(AggregateKind.TOPIC, TOPIC, 0, 2, 9)
    assert [each.offset for each in found] == [2, 1]


def test_events_of_a_commit_that_was_given_up_count_once_though_it_is_still_published(tmp_path: Path) -> None:
    log = [namespace_put(1), topic_put(2, an_id(1))]
    said = [
        each._replace(audit=encode_audit(AuditTrail((), time, -1))) for each, time in zip(log, (30, 10), strict=True)
    ]
    tables = Tables(tmp_path, 1)
    tables.take(placed(0, said[:1]))
    base = tables.base
    tables.take(placed(0, said[1:], 1))
    publish(tmp_path, tables.commit)
    archive = Archive(tmp_path, bytes(16), 1)
    assert archive.position_at(0, 20, 2) == 0
    tables.base = replace(base, sequence=3)
    tables.take(placed(0, said[1:], 1))
    assert archive.position_at(0, 20, 2) == 0
    found = archive.namespace_at(NAMESPACE, 0, 2)
    assert found is not None
    assert [name for name, _ in found.topics()] == [TOPIC]


def test_nothing_is_told_where_the_commit_that_gave_up_another_was_damaged_before_it_was_published(
    tmp_path: Path,
) -> None:
    log = [namespace_put(1), topic_put(2, an_id(1)), topic_put(3, an_id(1), an_id(2))]
    tables = Tables(tmp_path, 1)
    tables.take(placed(0, log[:1]))
    base = tables.base
    tables.take(placed(0, log[1:], 1))
    publish(tmp_path, tables.commit)
    tables.base = replace(base, sequence=3)
    for first in (1, 2):
        tables.take(placed(0, log[first : first + 1], first))
    commit_path(tmp_path, 3).write_bytes(b"damaged")
    with pytest.raises(SnapshotDamaged, match=r"lacks rows behind commit 2: .*000000000003\.json is damaged"):
        Archive(tmp_path, bytes(16), 1).position_at(0, 20, 3)


def test_nothing_is_told_of_a_table_from_which_somebody_deleted_rows(tmp_path: Path) -> None:
    job = Compactor(tmp_path, LogIdentity(bytes(16), 1, HASH_NAME))
    job.take(run_here(placed(0, [namespace_put(1), topic_put(2, an_id(1))])), slices=1)
    job.close()
    DeltaTable(str(tmp_path / "history")).delete('"offset" = 1')
    with pytest.raises(SnapshotDamaged, match="it has 1 rows, and the commits say 2"):
        Archive(tmp_path, bytes(16), 1).position_at(0, 20, 2)


def test_commits_that_accepted_nothing_may_be_removed_once_they_are_published(tmp_path: Path) -> None:
    job = Compactor(tmp_path, LogIdentity(bytes(16), 1, HASH_NAME))
    job.take(run_here(placed(0, [namespace_put(1), topic_put(2, an_id(1))])), slices=1)
    for offset in range(2, 6):
        job.take(run_here(placed(0, [None], offset)), slices=1)
    job.close()
    make_old(tmp_path)
    vacuum(tmp_path, keep=2)
    assert sequences(tmp_path) == [5, 4]
    [event] = Archive(tmp_path, bytes(16), 1).events_of(AggregateKind.TOPIC, TOPIC, 0, 1, 9)
    assert event.offset == 1


def test_what_is_left_is_read_however_many_commits_were_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = Tables(tmp_path, 1)
    tables.take(placed(0, [namespace_put(1), topic_put(2, an_id(1))]))
    later = [replace(tables.commit, sequence=number, after=number - 2) for number in range(20_001, 1, -2)]
    monkeypatch.setattr(archive, "commits_after", lambda *_: [*later, tables.commit])
    [event] = Archive(tmp_path, bytes(16), 1).events_of(AggregateKind.TOPIC, TOPIC, 0, 1, 9)
    assert event.offset == 1


def test_nothing_is_told_from_a_file_of_somebody_else_with_a_flipped_bit(tmp_path: Path) -> None:
    job = Compactor(tmp_path, LogIdentity(bytes(16), 1, HASH_NAME))
    job.take(run_here(placed(0, [namespace_put(1), topic_put(2, an_id(1), payload=b"as it was")])), slices=1)
    job.close()
    [ours] = active_files(tmp_path, "history").paths
    theirs = tmp_path / "history" / "part-0.parquet"
    rows = pq.read_table(tmp_path / ours, schema=HISTORY)
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(rows, theirs, **plain, write_page_checksum=True)
    entry = DataFile("history/part-0.parquet", theirs.stat().st_size, rows.num_rows, "")
    assert write_version(opened(tmp_path, "history"), theirs.parent, [entry], {Path(ours).name}, 0, None)
    archive = Archive(tmp_path, bytes(16), 1)
    [event] = archive.events_of(AggregateKind.TOPIC, TOPIC, 0, 1, 9)
    assert event.event.payload == b"as it was"
    theirs.write_bytes(theirs.read_bytes().replace(b"as it was", b"as it war"))
    with pytest.raises(SnapshotDamaged):
        archive.events_of(AggregateKind.TOPIC, TOPIC, 0, 1, 9)
