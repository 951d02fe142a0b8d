"""The job goes on on Spark while the log is trimmed behind its batches or before them, whatever its checkpoint says."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from tests.compaction.logs import append, random_values, replayed, settings_of
from tests.snapshot.making import compacted
from topicfold.compaction.compactor import Done
from topicfold.compaction.job import CompactOptions, Listener, compact
from topicfold.compaction.log_facts import LogFacts
from topicfold.compaction.trim import Plan, trim
from topicfold.errors import TrimRefused
from topicfold.settings import Settings
from topicfold.snapshot.claims import CLAIMS, Claims
from topicfold.snapshot.commits import GENESIS_COMMIT, read_commit, sequences
from topicfold.starting import open_log

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]
ROWS = 25


def test_the_log_is_trimmed_behind_each_batch_and_an_old_checkpoint_does_no_harm(
    log: Settings, tmp_path: Path, spark: dict[str, str]
) -> None:
    root, values = tmp_path / "snapshot", random_values(5, 6 * ROWS)
    plans: list[Plan] = []

    def report(done: Done, facts: LogFacts) -> None:
        with suppress(TrimRefused):
            plans.append(trim(log, root, 0, lambda text: None))

    def job() -> None:
        compact(log, CompactOptions(root, once=True, batch_rows=ROWS, slices=2, spark=spark), Listener(report))

    append(log, values[:ROWS])
    job()
    shutil.copytree(root / "checkpoint", tmp_path / "older")
    append(log, values[ROWS : 4 * ROWS])
    job()
    assert [plan.records > 0 for plan in plans] == [True] * len(plans)
    assert len(plans) > 2
    shutil.rmtree(root / "checkpoint")
    shutil.copytree(tmp_path / "older", root / "checkpoint")
    append(log, values[4 * ROWS :])
    job()
    beside = settings_of(log_file=tmp_path / "beside.db")
    append(beside, values)
    commit = read_commit(root, sequences(root)[0])
    assert commit.digests == tuple(state.digest().hex() for state in replayed(beside))


def test_rows_that_a_copy_lacks_behind_a_trimmed_log_are_told_to_be_lost(
    log: Settings, tmp_path: Path, spark: dict[str, str]
) -> None:
    root, values, lost = tmp_path / "snapshot", random_values(5, 4 * ROWS), list[Path]()
    options = CompactOptions(root, once=True, batch_rows=ROWS, slices=2, spark=spark)
    listener = Listener(lambda done, facts: None, loses=lost.append)
    append(log, values[:ROWS])
    compact(log, options, listener)
    shutil.copytree(root / "history", tmp_path / "older")
    append(log, values[ROWS:])
    compact(log, options, listener)
    assert trim(log, root, 0, lambda text: None).records
    assert not lost
    shutil.rmtree(root / "history")
    (tmp_path / "older").rename(root / "history")
    compact(log, options, listener)
    assert [path.parent for path in lost] == [root / "history"]


@pytest.mark.parametrize("grows_by", [0, 2 * ROWS])
def test_a_job_that_another_went_past_and_trimmed_goes_on_from_there_wherever_the_log_ended_when_it_began(
    log: Settings, tmp_path: Path, spark: dict[str, str], grows_by: int
) -> None:
    root, values = tmp_path / "snapshot", random_values(5, 2 * ROWS + grows_by)
    append(log, values[: 2 * ROWS])
    claims = Claims(root)
    assert claims.take(1, GENESIS_COMMIT, (0, 0))
    trimmed: list[Plan] = []

    async def fold(into: Path) -> None:
        opened = await open_log(log)
        try:
            ends = await opened.end_offsets()
            cuts = [{each: max(1, end - back) for each, end in ends.items()} for back in (9, 6, 3)]
            await compacted(opened, into, *cuts[:2], until=cuts[2])
        finally:
            await opened.close()

    def overtake(sequence: int) -> None:
        append(log, values[2 * ROWS :])
        asyncio.run(fold(tmp_path / "theirs"))
        shutil.copytree(tmp_path / "theirs", root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(CLAIMS))
        trimmed.append(trim(log, root, 0, lambda text: None))
        claims.drop()

    listener = Listener(lambda done, facts: None, waits=overtake)
    commit = compact(log, CompactOptions(root, once=True, slices=2, spark=spark), listener)
    assert [plan.records > 0 for plan in trimmed] == [True]
    beside = settings_of(log_file=tmp_path / "beside.db")
    append(beside, values)
    assert commit is not None
    assert commit.digests == tuple(state.digest().hex() for state in replayed(beside))
