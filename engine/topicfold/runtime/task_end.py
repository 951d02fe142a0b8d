"""Ends tasks: whoever creates tasks ends them before it has stopped itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any


async def end_tasks(tasks: Iterable[asyncio.Task[Any] | None]) -> None:
    """Cancel these tasks, and return once they have ended, whatever comes of it.

    One of them may be the one who asks for it: that is neither cancelled nor waited for.
    """
    others = {each for each in tasks if each is not None and each is not asyncio.current_task()}
    for each in others:
        each.cancel()
    if others:
        # Not with gather: whoever waits may be called by one of these, and cancelled by that.
        await asyncio.wait(others)
    for each in others:
        # Who does not look is told of it by asyncio.
        if not each.cancelled():
            each.exception()
