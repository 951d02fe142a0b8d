"""A question to whoever sits at the terminal, before what is not easily taken back. Elsewhere nobody is asked."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from topicfold.cli.exit_codes import ExitCode

LOSES_MESSAGES = "A server on Kafka deletes their Kafka topics, too, with all messages."

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def is_somebody_there() -> bool:
    """Return whether there is a terminal to ask at."""
    return sys.stdin is not None and sys.stdin.isatty()


def require_yes(consequence: str) -> None:
    """Say what will happen, and return once somebody said yes to it.

    Raises:
        Exit: they said anything else, or pressed Ctrl-C.
    """
    if ask(f"{consequence} Continue? [y/N] ").lower() not in ("y", "yes"):
        give_up()


def give_up() -> NoReturn:
    """End the command, as whoever was asked wants it.

    Raises:
        Exit: always.
    """
    sys.stderr.write("not confirmed; nothing was changed\n")
    raise typer.Exit(ExitCode.FAILED)


def ask(question: str) -> str:
    """Return what is typed, without blanks around it; "" where it is no text, or nobody is there any more.

    What is written next begins a line of its own.

    Raises:
        Exit: they pressed Ctrl-C; not as an interrupt, after which a change may be applied.
    """
    try:
        sys.stderr.write(question)
        sys.stderr.flush()
        typed = sys.stdin.readline()
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted; nothing was changed\n")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except UnicodeDecodeError:
        return ""
    if not typed.endswith("\n"):
        sys.stderr.write("\n")
    return typed.strip()
