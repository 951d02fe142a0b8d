"""`topicfold renew`: how it tells. What it does is shown in `tests/log`, and what it is for in `tests/integration`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.cli.conftest import Run
from topicfold.log.identity import establish_identity
from topicfold.log.sqlite import SqliteLog


async def _make_log(path: Path) -> None:
    log = await SqliteLog.open(path, partitions=1)
    await establish_identity(log, b"o" * 16)
    await log.close()


def test_it_says_which_log_it_is_now(bare_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    asyncio.run(_make_log(path))
    first = bare_run("renew", "--log", str(path))
    second = json.loads(bare_run("renew", "--log", str(path), "-o", "json").out)
    assert first.code == 0
    named = first.out.removeprefix(f"{path} is log ").removesuffix(" now\n")
    assert len(named) == len(second["incarnation"]) == 32
    assert len({named, second["incarnation"], (b"o" * 16).hex()}) == 3


def test_a_file_that_is_not_there_is_not_made(bare_run: Run, tmp_path: Path) -> None:
    refused = bare_run("renew", "--log", str(tmp_path / "log.db"))
    assert (refused.code, "is not a file" in refused.err) == (1, True)
    assert [*tmp_path.iterdir()] == []
