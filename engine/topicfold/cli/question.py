"""A question to whoever sits at the terminal, before what one command cannot take back."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from topicfold.cli.exit_codes import ExitCode
from topicfold.errors import InvalidRequest

LOSES_RECORDS = "A server on Kafka deletes their Kafka topics, too, with all records."

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def is_somebody_there() -> bool:
    """Return whether there is a terminal to ask at."""
    return sys.stdin is not None and sys.stdin.isatty()


def require_yes(consequence: str) -> None:
    """Say what will happen, and return once somebody said yes to it.

    Raises:
        InvalidRequest: they said anything else.
        Exit: they pressed Ctrl-C; not as an interrupt, after which a change may be applied.
    """
    if not _says_yes(f"{consequence} Go on? [y/N] "):
        raise InvalidRequest("not confirmed; nothing was changed")


def _says_yes(question: str) -> bool:
    """Raises Exit: they pressed Ctrl-C."""
    try:
        sys.stderr.write(question)
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted; nothing was changed\n")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except UnicodeDecodeError:
        return False
