"""Shows how far a node has loaded its snapshot: a bar on a terminal. The log has one line when it is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def loading_bar() -> Iterator[Callable[[int, int], None]]:
    """Yield what takes how many of how many rows are loaded, from whatever thread; on no terminal it says nothing."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("loading the snapshot", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
