"""From settings to running parts: what is opened, and what is refused before anything is made."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from topicfold.errors import BadSetting, WrongSnapshot
from topicfold.log.avro import schema_called, schema_directory
from topicfold.settings import Settings
from topicfold.starting import open_log, require_log, waited_for


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A snapshot with a commit of some log."""
    manifest = tmp_path / "snapshot" / "manifests" / "000000000001.json"
    manifest.parent.mkdir(parents=True)
    manifest.touch()
    return tmp_path / "snapshot"


async def test_a_log_that_no_snapshot_can_be_of_is_not_made(tmp_path: Path, snapshot: Path) -> None:
    log_file = tmp_path / "new.db"
    with pytest.raises(WrongSnapshot, match=f"^there is no log {log_file}, and the snapshot {snapshot} is of one$"):
        await open_log(Settings(log_file=log_file, snapshot=snapshot))
    assert os.listdir(tmp_path) == ["snapshot"]


async def test_a_snapshot_that_does_not_answer_holds_up_the_start_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    monkeypatch.setattr("topicfold.starting.sequences", lambda _: [] if answers.wait(5) else [1])
    settings = Settings(log_file=tmp_path / "new.db", snapshot=tmp_path)
    opening = asyncio.ensure_future(open_log(settings))
    await asyncio.sleep(0.05)
    assert not opening.done()
    assert waited_for(settings) == {"log": f"{tmp_path}/new.db", "snapshot": str(tmp_path)}
    answers.set()
    await (await opening).close()


@pytest.mark.kafka
async def test_a_topic_that_no_snapshot_can_be_of_is_not_made(
    kafka_bootstrap: str, fresh_topic: Callable[[], str], snapshot: Path
) -> None:
    topic = fresh_topic()
    with pytest.raises(WrongSnapshot, match=f"has no topic {topic}, and the snapshot"):
        await open_log(Settings(kafka_bootstrap=kafka_bootstrap, kafka_topic=topic, snapshot=snapshot))
    assert topic not in AdminClient({"bootstrap.servers": kafka_bootstrap}).list_topics(timeout=10).topics


async def test_nobody_is_told_to_begin_a_log_that_there_is_a_snapshot_of(tmp_path: Path, snapshot: Path) -> None:
    with pytest.raises(WrongSnapshot, match="there is no log") as caught:
        await require_log(Settings(log_file=tmp_path / "gone.db", snapshot=snapshot))
    assert "topicfold serve" not in caught.value.hint
    assert "docs/recovery.md" in caught.value.hint


async def test_where_there_is_no_log_it_says_what_to_type_to_begin_one(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="there is no log") as caught:
        await require_log(Settings(log_file=tmp_path / "my log.db"))
    assert caught.value.hint.endswith(f"topicfold serve --log '{tmp_path}/my log.db'")


async def test_no_schema_is_read_for_the_first_time_when_no_file_can_be_opened_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema_called.cache_clear()
    shipped = [path.stem for path in schema_directory().glob("*.avsc")]
    log = await open_log(Settings(log_file=tmp_path / "new.db"))
    monkeypatch.setattr("topicfold.log.avro.schema_directory", lambda: tmp_path / "nowhere")
    assert {schema_called(name)["type"] for name in shipped} == {"record"}
    await log.close()


async def test_a_log_is_made_where_its_snapshot_is_yet_to_be(tmp_path: Path) -> None:
    log = await open_log(Settings(log_file=tmp_path / "new.db", snapshot=tmp_path / "snapshot"))
    await log.close()
    assert (tmp_path / "new.db").exists()
