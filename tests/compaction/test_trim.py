"""I12: the log loses what two verified commits stand for, and nothing else; where they do not, it loses nothing."""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.logs import PARTITION, append, random_values, settings_of
from tests.compaction.tables import rows, without
from tests.compaction.trimming import BATCH, bounds, compact, grow, trimmed
from topicfold.compaction import trim as trim_module
from topicfold.compaction.delta import merging
from topicfold.compaction.delta.merging import merge_small_files
from topicfold.compaction.delta.tables import parts_now
from topicfold.compaction.trim import Trimming
from topicfold.errors import LogUnavailable, TrimRefused, UnsafeLog, WrongSnapshot
from topicfold.log.identity import recognise_identity, restate_identity
from topicfold.log.sqlite import SqliteLog
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.settings import Settings
from topicfold.snapshot.commits import NO_COMMIT_HINT, commit_path, put_commit, read_commit, sequences
from topicfold.snapshot.tables import GROWING_TABLES
from topicfold.snapshot.trim_note import NOTE, read_note
from topicfold.starting import open_log


@pytest.fixture
def settings(log_place: Mapping[str, Any]) -> Settings:
    """A log of two partitions that is not made yet."""
    return settings_of(**log_place)


def started(settings: Settings, root: Path | None) -> list[bytes]:
    """Return the digests that a node has once it has started."""
    return asyncio.run(_started(settings, root))


async def _started(settings: Settings, root: Path | None) -> list[bytes]:
    log = await open_log(settings)
    try:
        engine = await Engine.start(log, EngineOptions(snapshot=root, digest_within_seconds=0))
    except BaseException:
        await log.close()
        raise
    try:
        await engine.readiness.wait(engine.states, 30)
        return [state.digest() for state in engine.states.values()]
    finally:
        await engine.stop()


def test_what_lies_below_the_second_newest_commit_goes_and_two_commits_start_a_node(
    settings: Settings, root: Path
) -> None:
    grow(settings, root)
    whole = started(settings, None)
    newest, second = (read_commit(root, number) for number in sequences(root)[:2])
    plan = trimmed(settings, root)
    assert (plan.newest, plan.second) == (newest, second)
    assert bounds(settings)[0] == dict(enumerate(second.to))
    assert started(settings, root) == whole
    commit_path(root, newest.sequence).write_bytes(b"damaged")
    assert started(settings, root) == whole
    with pytest.raises(UnsafeLog, match="no snapshot is named") as caught:
        started(settings, None)
    assert "--snapshot DIR" in caught.value.hint


def test_trimming_again_and_again_behind_the_job_leaves_the_fold_as_it_is(settings: Settings, root: Path) -> None:
    values = random_values(2, BATCH * 6)
    beside = settings_of(log_file=root.parent / "beside.db")
    for number in range(6):
        batch = values[number * BATCH : (number + 1) * BATCH]
        append(settings, batch)
        append(beside, batch)
        compact(settings, root)
        if number:
            trimmed(settings, root)
    starts, ends = bounds(settings)
    assert starts[PARTITION] > 4 * BATCH
    assert started(settings, root) == started(beside, None)
    # A copy of the header was appended where it was needed, and only there.
    assert ends[PARTITION] < len(values) + 1 + 6


def test_an_idle_log_stops_growing_whoever_compacts_and_trims_it(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    ends = []
    for _ in range(8):
        compact(on_sqlite, root)
        trimmed(on_sqlite, root)
        ends.append(bounds(on_sqlite)[1])
    assert ends[3:] == [ends[-1]] * 5


def test_a_dry_run_says_what_would_go_and_deletes_nothing(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    before = bounds(on_sqlite)
    plan = trimmed(on_sqlite, root, only_plans=True)
    assert plan.records == sum(plan.second.to)
    assert bounds(on_sqlite) == before
    assert not (root / NOTE).exists()


def test_what_is_younger_than_the_grace_stays(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    before = bounds(on_sqlite)
    plan = trimmed(on_sqlite, root, 3_600)
    assert (plan.below, plan.records, bounds(on_sqlite)) == (None, 0, before)


def test_what_is_left_counts_the_copies_of_the_header(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    plan = trimmed(on_sqlite, root)
    assert {span.partition: span.end for span in plan.spans} == bounds(on_sqlite)[1]


def test_a_dry_run_forecasts_what_is_left_with_the_copies_of_the_header(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    for _ in range(3):
        compact(on_sqlite, root)
        forecast = trimmed(on_sqlite, root, only_plans=True)
        assert trimmed(on_sqlite, root).spans == forecast.spans


def test_trimming_twice_does_nothing_the_second_time(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    trimmed(on_sqlite, root)
    after = bounds(on_sqlite)
    assert trimmed(on_sqlite, root).records == 0
    assert bounds(on_sqlite) == after


@pytest.mark.parametrize(("batches", "holds"), [(0, "holds none at all"), (1, "holds 1, of 1 in all")])
def test_without_two_commits_nothing_goes(on_sqlite: Settings, root: Path, batches: int, holds: str) -> None:
    append(on_sqlite, random_values(1, BATCH))
    grow(on_sqlite, root, batches)
    with pytest.raises(TrimRefused, match=holds) as caught:
        trimmed(on_sqlite, root)
    place = ["--log", str(on_sqlite.log_file), "--snapshot", str(root)]
    assert shlex.join(["topicfold", "compact", "--once", *place]) in caught.value.hint
    assert set(bounds(on_sqlite)[0].values()) == {0}


def test_a_log_whose_beginning_something_else_deleted_is_not_trimmed(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    second = read_commit(root, sequences(root)[1])
    for partition, to in enumerate(second.to):
        asyncio.run(_delete_but_a_header(on_sqlite, partition, to))
    before = bounds(on_sqlite)
    with pytest.raises(TrimRefused, match="holds 1, of 3 in all") as caught:
        trimmed(on_sqlite, root)
    assert "something else than trimming deleted it" in caught.value.hint
    assert bounds(on_sqlite) == before


def test_where_no_job_can_continue_from_what_there_is_none_is_proposed(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root, 1)
    older = root.with_name("older")
    shutil.copytree(root, older)
    grow(on_sqlite, root)
    trimmed(on_sqlite, root)
    with pytest.raises(WrongSnapshot, match="holds no commit, and partition 0 of the log begins at offset") as caught:
        trimmed(on_sqlite, root.with_name("none"))
    assert caught.value.hint == NO_COMMIT_HINT
    with pytest.raises(WrongSnapshot, match="the records between are gone") as caught:
        trimmed(on_sqlite, older)
    assert "restore the newest" in caught.value.hint
    assert "docs/recovery.md" in caught.value.hint


@pytest.mark.parametrize("table", GROWING_TABLES)
@pytest.mark.parametrize("damage", ["flipped", "cut short", "gone"])
@pytest.mark.parametrize("is_merged", [False, True])
def test_what_a_table_has_not_kept_stays_in_the_log_until_it_is_folded_again(
    on_sqlite: Settings, root: Path, monkeypatch: pytest.MonkeyPatch, table: str, damage: str, is_merged: bool
) -> None:
    grow(on_sqlite, root)
    if is_merged:
        monkeypatch.setattr(merging, "MANY", 2)
        merge_small_files(root, table)
    before, kept = bounds(on_sqlite), told_by(root, table)
    begins = f"{table}/{'merged' if is_merged else f'{2:012}'}"
    files = [part.file.path for part in parts_now(root, table) if part.first <= 2]
    path = root / next(each for each in files if each.startswith(begins))
    damaged(path, damage)
    with pytest.raises(TrimRefused, match=path.name) as caught:
        trimmed(on_sqlite, root)
    assert bounds(on_sqlite) == before
    assert f"remove it: topicfold compact --once --log {on_sqlite.log_file}" in caught.value.hint
    path.unlink(missing_ok=True)
    for _ in range(2):
        compact(on_sqlite, root)
        append(on_sqlite, [b"garbage"])
    assert trimmed(on_sqlite, root).records
    assert told_by(root, table) == kept


def damaged(path: Path, how: str) -> None:
    content = path.read_bytes()
    if how == "flipped":
        path.write_bytes(content[:9] + bytes([content[9] ^ 1]) + content[10:])
    elif how == "cut short":
        path.write_bytes(content[: len(content) // 2])
    else:
        path.unlink()


def told_by(root: Path, table: str) -> list[str]:
    """Return the rows of a table that grows, whatever commits they came in."""
    return sorted(map(str, without(rows(root, table), "sequence")))


async def _delete_but_a_header(settings: Settings, partition: int, offset: int) -> None:
    log = await open_log(settings)
    try:
        await restate_identity(log, await recognise_identity(log), partition)
        await log.delete_before(partition, offset)
    finally:
        await log.close()


def test_the_snapshot_of_another_log_trims_nothing(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    for number in sequences(root):
        commit = read_commit(root, number)
        commit_path(root, number).unlink()
        put_commit(root, replace(commit, incarnation="ab" * 16))
    with pytest.raises(WrongSnapshot, match="is of the log"):
        trimmed(on_sqlite, root)
    assert set(bounds(on_sqlite)[0].values()) == {0}


@pytest.mark.parametrize("dies_at", ["header 0", "header 1", "note", "delete 0", "delete 1"])
def test_wherever_it_dies_a_node_starts_and_the_next_trim_goes_on(
    on_sqlite: Settings, root: Path, dies_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(on_sqlite, root)
    whole = started(on_sqlite, None)
    what, _, number = dies_at.partition(" ")
    with monkeypatch.context() as patch:
        owner, name = {"header": (trim_module, "restate_identity"), "note": (trim_module, "put_note"),
                       "delete": (SqliteLog, "delete_before")}[what]  # fmt: skip
        patch.setattr(owner, name, dying(getattr(owner, name), int(number or 0)))
        with pytest.raises(LogUnavailable, match="died"):
            trimmed(on_sqlite, root)
    starts, floors = bounds(on_sqlite)[0], floors_of(root)
    assert all(start <= floor for start, floor in zip(starts.values(), floors, strict=True))
    assert started(on_sqlite, root) == whole
    plan = trimmed(on_sqlite, root)
    assert bounds(on_sqlite)[0] == dict(enumerate(plan.second.to))
    assert started(on_sqlite, root) == whole


def test_a_trim_that_another_overtook_leaves_the_log_as_trimmable(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    planned = asyncio.run(_with_trimming(on_sqlite, root, Trimming.plan))
    for seed in (5, 6):
        append(on_sqlite, random_values(seed, BATCH))
        compact(on_sqlite, root)
    trimmed(on_sqlite, root)
    asyncio.run(_with_trimming(on_sqlite, root, lambda trimming: trimming.carry_out(planned)))
    plan = trimmed(on_sqlite, root)
    assert bounds(on_sqlite)[0] == dict(enumerate(plan.second.to))


async def _with_trimming(settings: Settings, root: Path, step: Callable[[Trimming], Awaitable[Any]]) -> Any:
    log = await open_log(settings)
    try:
        return await step(Trimming(log, await recognise_identity(log), root, settings, print))
    finally:
        await log.close()


def dying(function: Callable[..., object], calls: int) -> Callable[..., object]:
    """Return a function that dies after so many calls."""
    left = [calls]

    def dies(*arguments: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise LogUnavailable("it died")
        return function(*arguments)

    return dies


def floors_of(root: Path) -> tuple[int, ...]:
    newest = read_commit(root, sequences(root)[0])
    return read_note(root, newest.incarnation, newest.partitions).floors
