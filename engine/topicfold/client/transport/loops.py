"""Event loops: which one runs here, and what is to be done in another one, of a thread beside this."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from topicfold.errors import BadSetting

CLOSE_SECONDS = 1.0
"""So long another loop is waited for."""


def running_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop that runs here.

    Raises:
        BadSetting: none of asyncio does, but maybe one of trio.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise BadSetting(
            "AsyncClient needs an event loop of asyncio, and none runs here",
            hint="Elsewhere, as under trio, use Client in threads: await trio.to_thread.run_sync(client.list_tenants).",
        ) from None


async def await_in(loop: asyncio.AbstractEventLoop, act: Callable[[], Awaitable[None]]) -> None:
    """Have `act` done in `loop`, and wait for it; where `loop` has ended or is busy, leave it to that."""
    if loop is running_loop():
        await act()
    elif loop.is_running():

        async def acting() -> None:
            await act()

        # It may end meanwhile, which cancels what is done in it.
        with suppress(RuntimeError):
            there = asyncio.run_coroutine_threadsafe(acting(), loop)
            await asyncio.wait([asyncio.wrap_future(there)], timeout=CLOSE_SECONDS)
