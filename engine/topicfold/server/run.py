"""Serving: opens the log, starts the engine, listens, and stops in good order."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import logging
import math
import signal
import socket
import sys
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import replace
from types import FrameType
from wsgiref.handlers import format_date_time

import structlog
import uvicorn
import uvloop

from topicfold.errors import BadSetting, TopicfoldError, Wait
from topicfold.log.port import Log
from topicfold.log_lines import configure_logging, telling_if_slow
from topicfold.loopback import is_loopback
from topicfold.model.steering import in_one_line
from topicfold.process.file_limit import want_files
from topicfold.process.signals import handling
from topicfold.runtime.engine import Engine
from topicfold.runtime.finding.listings import Listings
from topicfold.runtime.kafka.upkeep import Upkeep
from topicfold.server.announcement import announce_server
from topicfold.server.app import create_app
from topicfold.server.auth.authenticator import Authenticator
from topicfold.server.auth.setup import Security, security_of, warn_of_security
from topicfold.server.connections.connection import Connection
from topicfold.server.connections.open_files import OpenFiles
from topicfold.server.connections.spare_memory import SpareMemory
from topicfold.server.loading_bar import loading_bar
from topicfold.server.node import Node
from topicfold.settings import Settings
from topicfold.starting import engine_options, open_listings, open_log, open_upkeep, waited_for

_log = structlog.get_logger(__name__)

EXIT_STOPPED = 0
EXIT_FAILED = 1
EXIT_BAD_SETTING = 2
EXIT_UNREACHABLE = 6
EXIT_INTERRUPTED = 130

Tell = Callable[[int, int], None]
Loading = Callable[[], AbstractContextManager[Tell]]
Announce = Callable[[Settings, socket.socket], None]

_HINT_OF_BINDING = {
    errno.EADDRINUSE: "Is Topicfold already running there? Name another port with --port; --port 0 takes a free one.",
    errno.EACCES: "A port below 1024 needs the capability CAP_NET_BIND_SERVICE. Name another with --port.",
    errno.EADDRNOTAVAIL: "This machine has no such address. Name one that it has with --host.",
}
KEEP_ALIVE_SECONDS = 75
BACKLOG = 2048
GRACE_SECONDS = 5
"""For so long beyond the longest wait of a request a server that stops lets it end: cut off, it could not say how."""
_TICKS_BETWEEN_LOOKS = 10
_COLLECT_AFTER = (10_000, 3, 30_000)
"""Python's own thresholds (700, 10, 10) cost a third of the fold: next to nothing of what it allocates is in cycles.

The first times one more than the second are how many objects are looked through at once: a million held the loop for
160 ms, 120,000 for 40, these for 19, and all of it took as long.
"""
_SWITCH_SECONDS = 0.0005
"""For so long a log's thread waits each time that it wants to go on while the loop works: some ten times a write.

With Python's own 5 ms a write that came while 5,000 watchers were told of another took 59 ms, with this 22.
"""


def serve(settings: Settings, *, is_quiet: bool = False, announce: Announce = announce_server) -> int:
    """Serve until SIGTERM, SIGINT or SIGHUP, then finish what is asked and stop; return the process's exit code.

    What keeps a node from starting is said in one line, with what to do about it. Once it serves, it is announced;
    where it `is_quiet`, nothing is said but the former and log lines from warnings on.
    """
    configure_logging(level=logging.WARNING if is_quiet else logging.INFO)
    gc.set_threshold(*_COLLECT_AFTER)
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        want_files()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(settings, None if is_quiet else announce))
    except TopicfoldError as error:
        told = (("error", error.reason), ("hint", error.hint))
        sys.stderr.writelines(f"{what}: {in_one_line(text)}\n" for what, text in told if text)
        if isinstance(error, BadSetting):
            return EXIT_BAD_SETTING
        return EXIT_UNREACHABLE if isinstance(error, Wait) else EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    finally:
        # Else Python looks through all that the engine held, and frees it piece by piece, before the process ends.
        gc.freeze()
    return EXIT_STOPPED


def listen(settings: Settings) -> socket.socket:
    """Return a socket bound where `settings` say.

    Raises:
        BadSetting: strangers could reach that address and do everything, or the port is taken.
    """
    if not (is_loopback(settings.host) or settings.has_authentication or settings.insecure):
        raise BadSetting(
            f"host {settings.host!r} is not this machine's loopback, and there is no authentication",
            hint="Serve on 127.0.0.1, or turn on authentication: --auth-jwks-url, --auth-jwt-key-file or "
            "--tls-client-ca-file. --insecure lets anybody in.",
        )
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[
            0
        ]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadSetting(f"host {settings.host!r} cannot be listened on: {reason}") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise BadSetting(
            f"port {settings.port} of {settings.host} cannot be listened on: {error.strerror}",
            hint=_HINT_OF_BINDING.get(error.errno or 0),
        ) from error
    return listener


class Server(uvicorn.Server):
    """uvicorn's server, that ends watches before it waits for answers to end, and raises no signal that ended it.

    `starts_anew`: it is stopped for another that takes its place at once, so whoever comes meanwhile may wait.
    """

    def __init__(self, config: uvicorn.Config, node: Node, authenticator: Authenticator | None) -> None:
        super().__init__(config)
        self._node = node
        self._authenticator = authenticator
        self._listener: socket.socket | None = None
        self._drained_at = math.inf
        self._open_files = OpenFiles()
        self._spare_memory = SpareMemory()
        self.starts_anew = False

    async def serve_on(self, listener: socket.socket) -> None:
        """Serve until it is told to stop; then `listener` is closed, unless another server is to have it.

        Keys that verify tokens are fetched meanwhile, so that the log says at the start if they cannot be had.
        """
        self._listener = listener
        fetching = asyncio.create_task(self._authenticator.fetch_keys()) if self._authenticator else None
        try:
            await self.serve(sockets=[listener.dup()])
        finally:
            if fetching:
                fetching.cancel()

    async def on_tick(self, counter: int) -> bool:
        """Return whether to stop now: told to, and drained since. Called ten times a second."""
        if not counter % _TICKS_BETWEEN_LOOKS:
            # The library makes its own through datetime, of which Python 3.11 keeps a string each second: after three
            # crowds of watchers, 16 of them lay in a megabyte each that was free else.
            self.server_state.default_headers = [(b"date", format_date_time(time.time()).encode())]
            # What was asked is let go of a little later than whoever asked it.
            self._spare_memory.look(max(len(self.server_state.connections), len(self.server_state.tasks)))
            if self._listener is not None and self._listener.fileno() >= 0:
                self._open_files.look(self._listener.fileno())
        return self.should_exit and (self.starts_anew or self._has_drained())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what is asked, but end what goes on by itself; what has not all come by then is given up."""
        if self._listener is not None and not self.starts_anew:
            self._listener.close()
        await self._node.engine.watches.close()
        await super().shutdown(sockets)
        self._give_up_bodies()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, and for good; told once more, wait no longer until all others know, or if they do, for half requests.

        Answers to whole ones are waited for still, unless it is SIGINT: others may well be sent twice by who means it
        once, as SIGTERM is by `timeout` and SIGHUP by a shell whose terminal is closed.
        """
        self.starts_anew = False
        if self.should_exit and self._waits_for_others():
            self._drained_at = -math.inf
            return
        if self.should_exit:
            asyncio.get_running_loop().call_soon_threadsafe(self._give_up_bodies)
        super().handle_exit(sig, frame)

    def _give_up_bodies(self) -> None:
        """Cut off who has sent but half a request: nothing was done for it."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, Connection):
                connection.give_up_body()

    def _has_drained(self) -> bool:
        """Return whether all others have had their time to learn from `/readyz` that nothing is to be sent here."""
        seconds = self._node.settings.drain_seconds
        if seconds and not self._node.leaving.is_set():
            self._node.leaving.set()
            self._drained_at = min(self._drained_at, asyncio.get_running_loop().time() + seconds)
            _log.info("draining", seconds=seconds)
        return not self._waits_for_others()

    def _waits_for_others(self) -> bool:
        return self._node.settings.drain_seconds > 0 and asyncio.get_running_loop().time() < self._drained_at

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop on SIGTERM and SIGINT while the context lasts, and on SIGHUP unless `nohup` has that passed over."""
        is_passed_over = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        closing = () if is_passed_over else (signal.SIGHUP,)
        with handling(self.handle_exit, signal.SIGTERM, signal.SIGINT, *closing):
            yield


def server_of(
    engine: Engine,
    settings: Settings,
    upkeep: Upkeep | None = None,
    listings: Listings | None = None,
    security: Security | None = None,
) -> Server:
    """Return the HTTP server of `engine`, not listening yet. `security` None: it is read from files, as `settings` say.

    Raises:
        BadSetting: what the settings say about who may come in cannot work.
    """
    security = security or security_of(settings)
    tls = security.tls
    app = create_app(engine, settings, upkeep, listings, security)
    return Server(
        uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            # Telemetry begins and ends with it; nothing of ours does.
            lifespan="on" if app.is_traced else "off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ssl_context_factory=None if tls is None else lambda config, default: tls,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=math.ceil(settings.request_timeout_seconds) + GRACE_SECONDS,
        ),
        app.node,
        app.authenticator,
    )


async def _serve(settings: Settings, announce: Announce | None) -> None:
    security = security_of(settings)
    warn_of_security(settings)
    with contextlib.closing(listen(settings)) as listener:
        loading = _loading_nothing if announce is None else loading_bar
        while await _serve_once(settings, security, listener, announce, loading):
            _log.warning("starting_anew", snapshot=str(settings.snapshot))
            announce = None
            # The engine before, with all that it has folded, is in rings, and all is collected next to never by itself.
            gc.collect()
        _log.info("stopped")


async def _serve_once(
    settings: Settings, security: Security, listener: socket.socket, announce: Announce | None, loading: Loading
) -> bool:
    """Serve with one engine; return whether another is to take its place, because the log left it behind."""
    with telling_if_slow("waiting_for_log", **waited_for(settings)):
        log = await open_log(settings)
    try:
        engine = await _start(log, settings, loading)
    except BaseException:
        await log.close()
        raise
    upkeep = listings = None
    try:
        listings = open_listings(engine, settings)
        await listings.start()
        upkeep = open_upkeep(engine, settings)
        if upkeep:
            upkeep.start()
        # Whoever reads the announcement may come at once.
        listener.listen(BACKLOG)
        if announce is not None:
            announce(settings, listener)
        server = server_of(engine, settings, upkeep, listings, security)
        ending = asyncio.create_task(_end_when_left_behind(engine, server))
        try:
            await server.serve_on(listener)
        finally:
            ending.cancel()
        return server.starts_anew
    finally:
        if upkeep:
            await upkeep.stop()
        if listings:
            await listings.close()
        await engine.stop()


async def _end_when_left_behind(engine: Engine, server: Server) -> None:
    await engine.left_behind.wait()
    if not server.should_exit:
        server.starts_anew = True
        server.should_exit = True
        # Else the server would wait for them, until their time is up, before another can take its place.
        engine.give_up_stopped()


def _loading_nothing() -> AbstractContextManager[Tell]:
    """Stand for the bar where nobody wants it."""
    return contextlib.nullcontext(lambda done, total: None)


async def _start(log: Log, settings: Settings, loading: Loading) -> Engine:
    """Start the engine, within `loading` where it loads a snapshot."""
    options = engine_options(settings)
    if settings.snapshot is None:
        return await Engine.start(log, options)
    with loading() as tell:
        return await Engine.start(log, replace(options, tell=tell))
