"""Progress of long jobs on stderr: a bar on a terminal, else one structured line every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def progress(job: str, total: int, is_shown: bool) -> Iterator[Callable[[], None]]:
    """Yield a function to call whenever one of `total` steps is done."""
    if not is_shown or not total:
        yield lambda: None
    elif sys.stderr.isatty():
        with _bar(job, total) as step:
            yield step
    else:
        with _lines(job, total) as step:
            yield step


@contextmanager
def _bar(job: str, total: int) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(job, total=total)
        yield lambda: bar.advance(task)


@contextmanager
def _lines(job: str, total: int) -> Iterator[Callable[[], None]]:
    done = 0
    told = time.monotonic()

    def tell() -> None:
        sys.stderr.write(f'progress job="{job}" done={done} total={total}\n')

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
