"""Progress of long jobs on stderr: a bar on a terminal, else one structured line every few seconds.

What cannot be counted is shown on a terminal only: what is being done, and since when.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from topicfold.cli.output import say

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

Update = Callable[..., None]
"""Takes what is otherwise now, as rich names it: `description`, `completed`, `total`, `advance`."""

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def progress(job: str, total: int, is_shown: bool) -> Iterator[Callable[[], None]]:
    """Yield a function to call whenever one of `total` steps is done."""
    if not is_shown or not total:
        yield lambda: None
    elif sys.stderr.isatty():
        with bar(job, total) as update:
            yield partial(update, advance=1)
    else:
        with _lines(job, total) as step:
            yield step


@contextmanager
def activity(is_shown: bool) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with what is begun now, and cannot be counted: it is shown until the block ends."""
    if not is_shown or not sys.stderr.isatty():
        yield lambda doing: None
        return
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    doing = TextColumn("{task.description}", markup=False)
    with _shown("", None, SpinnerColumn(), doing, TimeElapsedColumn()) as update:
        yield lambda begun: update(description=begun, refresh=True)


@contextmanager
def bar(job: str, total: int | None) -> Iterator[Update]:
    """Show a bar and for how long it has been there; yield what moves it. A `total` of None is not known yet."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    counting = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with _shown(job, total, TextColumn("{task.description}", markup=False), *counting) as update:
        yield update


@contextmanager
def _shown(doing: str, total: int | None, *columns: ProgressColumn) -> Iterator[Update]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        yield partial(shown.update, shown.add_task(doing, total=total))


@contextmanager
def _lines(job: str, total: int) -> Iterator[Callable[[], None]]:
    done = 0
    told = time.monotonic()

    def tell() -> None:
        say(f'progress job="{job}" done={done} total={total}')

    def step() -> None:
        nonlocal done, told
        done += 1
        if time.monotonic() - told >= SECONDS_BETWEEN_LINES:
            told = time.monotonic()
            tell()

    try:
        yield step
    finally:
        tell()
