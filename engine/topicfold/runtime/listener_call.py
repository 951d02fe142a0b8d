"""Calls a listener, a coroutine function or a plain one, which may block. What it raises affects nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from topicfold.process.own_thread import call_in_own_thread, is_cancelled


async def call_listener(name: str, listener: Callable[..., Any], *arguments: Any) -> BaseException | None:
    """Return what `listener` raises, None for nothing: others must not feel it. A plain one's thread is called `name`.

    Raises:
        CancelledError: who waits for it is cancelled; what the listener cancels itself is returned.
    """
    try:
        if iscoroutinefunction(listener) or iscoroutinefunction(type(listener).__call__):
            answer = listener(*arguments)
        else:
            answer = await call_in_own_thread(name, listener, *arguments)
        if isawaitable(answer):
            await answer
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        return error
    except BaseException as error:  # noqa: BLE001 -- whoever calls it tells what it raised, and goes on
        return error
    return None
