"""Serving: open the log, start the engine, listen, and stop in good order."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import shutil
import signal
import socket
import sys
from collections.abc import Generator
from pathlib import Path

import structlog
import uvicorn
import uvloop

from topicfold.errors import BadSetting, TopicfoldError, Wait
from topicfold.log.port import Log
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.server.app import create_app
from topicfold.server.connection import Connection
from topicfold.server.loopback import is_loopback
from topicfold.settings import Settings
from topicfold.telemetry import configure_logging

_log = structlog.get_logger(__name__)

EXIT_STOPPED = 0
EXIT_FAILED = 1
EXIT_BAD_SETTING = 2
EXIT_UNREACHABLE = 6
EXIT_INTERRUPTED = 130

KEEP_ALIVE_SECONDS = 75
GRACE_SECONDS = 20
_DEFAULT_PORT = 8080
_COLLECT_AFTER = (20_000, 50, 1_000)
"""Python's own thresholds (700, 10, 10) cost a third of the fold: next to nothing of what it allocates is in cycles."""


def serve(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT, then finish what is asked and stop; return the process's exit code.

    What keeps a node from starting is said in one line, with what to do about it.
    """
    configure_logging()
    gc.set_threshold(*_COLLECT_AFTER)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(settings))
    except TopicfoldError as error:
        sys.stderr.write(f"error: {error.reason}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
        if isinstance(error, BadSetting):
            return EXIT_BAD_SETTING
        return EXIT_UNREACHABLE if isinstance(error, Wait) else EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return EXIT_STOPPED


async def open_log(settings: Settings) -> Log:
    """Return the log that `settings` name.

    Raises:
        BadSetting: they cannot work.
        WrongLog: it is something else.
        LogUnavailable: it does not answer.
    """
    if settings.kafka_bootstrap is not None:
        from topicfold.log.kafka import KafkaLog

        return await KafkaLog.open(
            settings.kafka_bootstrap,
            topic=settings.kafka_topic,
            partitions=settings.partitions,
            kafka_settings=settings.kafka_settings,
        )
    from topicfold.log.sqlite import SqliteLog

    return await SqliteLog.open(settings.log_file, partitions=settings.partitions)


def engine_options(settings: Settings) -> EngineOptions:
    """Return what `settings` tell the engine."""
    return EngineOptions(
        label_rules=settings.label_rules,
        ready_timeout_seconds=settings.ready_timeout_seconds,
        request_timeout_seconds=settings.request_timeout_seconds,
        stale_after_seconds=settings.stale_after_seconds,
    )


def listen(settings: Settings) -> socket.socket:
    """Return a socket bound where `settings` say.

    Raises:
        BadSetting: that is no loopback address, or the port is taken.
    """
    if not is_loopback(settings.host):
        raise BadSetting(
            f"host {settings.host!r} is not this machine's loopback, and there is no authentication yet",
            hint="Serve on 127.0.0.1, behind a proxy that knows its users.",
        )
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[
            0
        ]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise BadSetting(f"host {settings.host!r} cannot be listened on: {error.strerror}") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise BadSetting(
            f"port {settings.port} of {settings.host} cannot be listened on: {error.strerror}",
            hint="Is Topicfold already running there? Name another port with --port, or take a free one with --port 0.",
        ) from error
    return listener


class Server(uvicorn.Server):
    """uvicorn's server, that ends without raising again the signal that ended it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop on SIGTERM and SIGINT while the context lasts."""
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def server_of(engine: Engine, settings: Settings) -> Server:
    """Return the HTTP server of `engine`, not listening yet."""
    return Server(
        uvicorn.Config(
            create_app(engine, settings),
            http=Connection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )


async def _serve(settings: Settings) -> None:
    with contextlib.closing(listen(settings)) as listener:
        log = await open_log(settings)
        try:
            engine = await Engine.start(log, engine_options(settings))
        except BaseException:
            await log.close()
            raise
        try:
            _announce(settings, listener)
            await server_of(engine, settings).serve(sockets=[listener])
        finally:
            await engine.stop()
            _log.info("stopped")


def _announce(settings: Settings, listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    log = settings.kafka_bootstrap or str(settings.log_file)
    _log.info("serving", url=url, log=log)
    at = "" if port == _DEFAULT_PORT else f" --url {url}"
    command = _command()
    sys.stdout.write(
        f"Topicfold serves {url} on the log {log}. Ctrl-C stops it. Try, in another terminal:\n\n"
        f"  {command} topics create orders{at}\n"
        f"  {command} topics set-custom-labels orders --labels team=payments,tier=gold{at}\n"
        f"  {command} topics list public/default --custom-labels team:payments{at}\n\n"
    )
    sys.stdout.flush()


def _command() -> str:
    """Return what to type for `topicfold` in a terminal where this checkout's environment is not active."""
    return "topicfold" if shutil.which("topicfold") else os.path.relpath(Path(sys.executable).with_name("topicfold"))
