"""Enforcing as a process: its own engine over the log, a cluster, and an enforcer between them."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import structlog
import uvloop

from topicfold.cluster.kafka import KafkaCluster
from topicfold.enforcement.enforcer import Enforcer
from topicfold.enforcement.reports import Report
from topicfold.errors import BadSetting
from topicfold.log_lines import configure_logging, telling_if_slow
from topicfold.process.file_limit import want_files
from topicfold.progress import Progress
from topicfold.runtime.engine import Engine
from topicfold.runtime.task_end import end_tasks
from topicfold.settings import Settings
from topicfold.starting import engine_options, open_log, require_log, waited_for

_log = structlog.get_logger(__name__)

Tell = Callable[[Report], None]


def enforce_once(settings: Settings, tell: Tell, progress: Progress, *, only_shows: bool) -> int:
    """Bring every topic to its effective policies, or only tell what differs; return how many were looked at.

    Log lines are for errors: who looks once reads what is told, and a log's settings are for servers to warn of.

    Raises:
        BadSetting: there is no such log, no cluster is named, or too few files may be open.
        WrongSnapshot: the log is gone, and the snapshot is of one.
        NotReady, LogUnavailable, ClusterUnavailable: log or cluster do not answer.
    """
    configure_logging(level=logging.ERROR)
    want_files()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_once(settings, tell, progress, only_shows=only_shows))


def enforce_for_ever(settings: Settings, tell: Tell, progress: Progress, *, is_quiet: bool = False) -> None:
    """Bring every topic to its effective policies, and go on with every change, until SIGTERM or SIGINT.

    Where it `is_quiet`, there are log lines from warnings on.

    Raises:
        BadSetting: there is no such log, no cluster is named, or too few files may be open.
        WrongSnapshot: the log is gone, and the snapshot is of one.
        LogUnavailable: the log does not answer at the start.
    """
    configure_logging(level=logging.WARNING if is_quiet else logging.INFO)
    want_files()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_for_ever(settings, tell, progress))


async def _once(settings: Settings, tell: Tell, progress: Progress, *, only_shows: bool) -> int:
    async with _enforcer(settings, tell, only_shows=only_shows) as enforcer:
        await enforcer.catch_up()
        names = enforcer.names()
        with progress(len(names)) as step:
            await enforcer.run_once(names, step)
        return len(names)


async def _for_ever(settings: Settings, tell: Tell, progress: Progress) -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stopped.set)
    while not stopped.is_set():
        async with _enforcer(settings, tell, only_shows=False) as enforcer:
            # Left behind by a trim, it starts anew from the snapshot, as servers do.
            await _until_first(enforcer.follow(progress), enforcer.left_behind(), stopped.wait())
    _log.info("stopped")


async def _until_first(*things: Coroutine[Any, Any, Any]) -> None:
    """Return once one of them ends, or raise what it does; the others are ended then."""
    tasks = [asyncio.ensure_future(each) for each in things]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await end_tasks(tasks)
    for task in done:
        task.result()


@asynccontextmanager
async def _enforcer(settings: Settings, tell: Tell, *, only_shows: bool) -> AsyncIterator[Enforcer]:
    """Open log and cluster and start an engine, for as long as the context lasts."""
    if settings.cluster is None:
        raise BadSetting(
            "there is no Kafka cluster to enforce policies in", hint="Name it: --cluster-bootstrap HOST:PORT"
        )
    cluster = KafkaCluster(*settings.cluster)
    try:
        with telling_if_slow("waiting_for_log", **waited_for(settings)):
            await require_log(settings)
            log = await open_log(settings)
        try:
            # Digest records are for the nodes that serve, of which it is none: so nobody goes on from a window either.
            options = replace(engine_options(settings), digest_within_seconds=0.0, window_size=0)
            engine = await Engine.start(log, options)
        except BaseException:
            await log.close()
            raise
        try:
            _log.info("enforcing", cluster=cluster.bootstrap, log=settings.kafka_bootstrap or str(settings.log_file))
            yield Enforcer(engine, cluster, tell, protected={settings.kafka_topic}, only_shows=only_shows)
        finally:
            await engine.stop()
    finally:
        await cluster.close()
