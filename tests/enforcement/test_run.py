"""Enforcing as a process: what it is told must be there before it does anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import pytest

from tests.memory_log import MemoryLog, MemoryStore
from topicfold.enforcement import run
from topicfold.enforcement.run import enforce_for_ever, enforce_once
from topicfold.errors import BadSetting, ClusterUnavailable, LogUnavailable
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.settings import Settings


def once(settings: Settings) -> int:
    return enforce_once(settings, lambda report: None, lambda topics: nullcontext(lambda: None), only_shows=False)


def test_a_log_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "typo.db"
    with pytest.raises(BadSetting, match="no log"):
        once(Settings(log_file=path, cluster_bootstrap="127.0.0.1:1"))
    assert not path.exists()


@pytest.mark.kafka
def test_a_log_on_kafka_that_is_not_there_is_refused_and_not_made(kafka_bootstrap: str) -> None:
    settings = Settings(kafka_bootstrap=kafka_bootstrap, kafka_topic="no-such-log")
    for _ in range(2):
        with pytest.raises(BadSetting, match="no topic no-such-log"):
            once(settings)


def test_a_log_without_a_cluster_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="no Kafka cluster"):
        enforce_for_ever(Settings(log_file=tmp_path / "a.db"), lambda report: None, lambda topics: nullcontext())


def test_a_log_on_a_kafka_that_does_not_answer_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.cluster.kafka.KafkaCluster.__init__.__defaults__", (None, 0.2))
    with pytest.raises(ClusterUnavailable):
        once(Settings(kafka_bootstrap="127.0.0.1:1"))


def test_a_process_touches_neither_its_log_nor_its_topic_keeps_no_window_and_only_shows_where_it_is_told_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[dict[str, object]] = []
    done: list[str] = []
    as_of_nodes, start = [], Engine.start

    async def noted(log: MemoryLog, options: EngineOptions) -> Engine:
        as_of_nodes.append((options.digest_within_seconds, options.window_size))
        return await start(log, options)

    class Enforcing:
        def __init__(self, *_: object, **options: object) -> None:
            made.append(options)

        async def catch_up(self) -> None:
            done.append("caught up")

        def names(self) -> list[str]:
            return []

        async def run_once(self, *_: object) -> None:
            done.append("looked")

    async def memory(_: Settings) -> MemoryLog:
        return MemoryLog(MemoryStore(1))

    async def there(_: Settings) -> None:
        pass

    monkeypatch.setattr(run, "Enforcer", Enforcing)
    monkeypatch.setattr(run.Engine, "start", noted)
    monkeypatch.setattr(run, "open_log", memory)
    monkeypatch.setattr(run, "require_log", there)
    settings = Settings(kafka_bootstrap="127.0.0.1:1", kafka_topic="changes", cluster_bootstrap="127.0.0.1:1")
    for only_shows in (True, False):
        enforce_once(settings, lambda _: None, lambda _: nullcontext(lambda: None), only_shows=only_shows)
    assert made == [{"protected": {"changes"}, "only_shows": only_shows} for only_shows in (True, False)]
    assert as_of_nodes == [(0.0, 0)] * 2
    assert done == ["caught up", "looked"] * 2


class Sleeper:
    """An enforcer that the log leaves behind at once, or that fails in its second life."""

    lives = 0

    async def follow(self, progress: object) -> None:
        if Sleeper.lives > 1:
            raise LogUnavailable("its second life ends")
        await asyncio.Event().wait()

    async def left_behind(self) -> None:
        if Sleeper.lives > 1:
            await asyncio.Event().wait()


def test_one_that_the_log_left_behind_starts_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    @asynccontextmanager
    async def enforcer(*_: object, only_shows: bool) -> AsyncIterator[Sleeper]:
        Sleeper.lives += 1
        yield Sleeper()

    monkeypatch.setattr(run, "_enforcer", enforcer)
    with pytest.raises(LogUnavailable, match="second life"):
        enforce_for_ever(Settings(log_file=tmp_path / "a.db"), lambda report: None, lambda topics: nullcontext())
    assert Sleeper.lives == 2
