"""`topicfold renew`: a log restored from a copy becomes another. What it does is in `topicfold.log.sqlite.renewal`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from topicfold.cli.server_settings import needed_packages
from topicfold.cli.session import Session

LogFile = Annotated[
    Path,
    typer.Option("--log", metavar="FILE", dir_okay=False, help="File restored from a copy; no node may run on it."),
]


def renew(session: Session, log: LogFile) -> None:
    """Turn a restored copy of a log into a log of its own.

    Its content stays the same.

    Clients resume from positions and cursors that name the log. Once a copy has grown that far again, these would mean
    other changes, and clients would silently miss what lies between. A renewed log refuses them: watches begin with a
    RESET and the current state, clients forget their positions, and snapshots of the original are refused. Renew the
    copy before a node serves it, and compact into a new directory.

    A trimmed log cannot be renewed: it needs its snapshot, which bears its name.

    \b
    Example:
      topicfold renew --log topicfold.db
    """
    with needed_packages("renewing a log", {}):
        from topicfold.clock import random_id
        from topicfold.log.sqlite.renewal import renew as run
    new = run(log, random_id()).incarnation.hex()
    session.output.show_line({"log": str(log), "incarnation": new}, f"{log} is log {new} now")
