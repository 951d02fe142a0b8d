"""A node to talk to: the real application on a log in memory, in a thread of this process, on a free port."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

from structlog.testing import capture_logs

from tests.memory_log import MemoryLog, MemoryStore
from topicfold.log.port import Deliver, Fault
from topicfold.runtime.engine import Engine
from topicfold.server.run import Server, listen, server_of
from topicfold.settings import Settings
from topicfold.starting import engine_options


class LateLog(MemoryLog):
    """Delivers every record some time after it can be read."""

    def __init__(self, store: MemoryStore, late_seconds: float) -> None:
        super().__init__(store)
        self._late_seconds = late_seconds

    def follow(self, positions: Mapping[int, int], deliver: Deliver, fault: Fault) -> None:
        loop = asyncio.get_running_loop()
        super().follow(positions, lambda batch: loop.call_later(self._late_seconds, deliver, batch), fault)


class NodeThread(threading.Thread):
    """Runs the application of a node; `store` is its log, which several may share, some later than others."""

    def __init__(self, store: MemoryStore, late_seconds: float, **settings: Any) -> None:
        super().__init__(name="node", daemon=True)
        self._store = store
        self._late_seconds = late_seconds
        self._settings = Settings(port=0, kafka_bootstrap=None, **settings)
        self._listener = listen(self._settings)
        # Else whoever asks before the server listens is refused, and only some ask again.
        self._listener.listen()
        self._server: Server | None = None
        self._is_up = threading.Event()
        host, port = self._listener.getsockname()
        self.url = f"{'https' if self._settings.tls_cert_file else 'http'}://{host}:{port}"

    def run(self) -> None:
        """Serve until `end`."""
        asyncio.run(self._serve())

    def wait_up(self) -> None:
        """Return once requests are taken, by a node that is ready unless it sees its log late."""
        assert self._is_up.wait(60), "the node did not start"

    def end(self) -> None:
        """Stop serving, and return when it has stopped."""
        assert self._server is not None
        self._server.should_exit = True
        self.join(10)

    async def _serve(self) -> None:
        log = LateLog(self._store, self._late_seconds) if self._late_seconds else MemoryLog(self._store)
        engine = await Engine.start(log, engine_options(self._settings))
        self._server = server_of(engine, self._settings)
        # Signals are the main thread's.
        self._server.capture_signals = nullcontext  # type: ignore[method-assign,assignment]
        if not self._late_seconds:
            await engine.readiness.wait(engine.states, None)
        self._is_up.set()
        try:
            await self._server.serve(sockets=[self._listener])
        finally:
            await engine.stop()
            self._listener.close()


@contextmanager
def serving(*late_seconds: float, store: MemoryStore | None = None, **settings: Any) -> Iterator[list[str]]:
    """Serve one node on a log, or as many as times are given by which each sees the log late; yield their URLs.

    Whoever does not see it late is ready. What they write to their own logs is not printed: stdout belongs to the test.
    """
    store = store or MemoryStore(partitions=2)
    threads = [NodeThread(store, seconds, **settings) for seconds in late_seconds or (0.0,)]
    with capture_logs():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.wait_up()
        try:
            yield [thread.url for thread in threads]
        finally:
            for thread in threads:
                thread.end()
