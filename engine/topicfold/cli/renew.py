"""`topicfold renew`: a log restored from a copy becomes another. What it does is in `topicfold.log.sqlite_renewal`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from topicfold.cli.server_settings import needed_packages
from topicfold.cli.session import Session

LogFile = Annotated[
    Path,
    typer.Option("--log", metavar="FILE", dir_okay=False, help="The file, put back from a copy; no node runs on it."),
]


def renew(session: Session, log: LogFile) -> None:
    """Make a restored copy of a log another log.

    It holds the same as before.

    Clients go on from positions and cursors that name the log. On a copy that has grown again as far as these reach,
    they would mean other changes, and what lies between would be missed without a word. Of a log that was renewed they
    are refused: watches begin with a RESET and the state that there is, clients forget their positions, and a snapshot
    of the log as it was is refused, too. Do it before a node serves the copy, and compact into a new directory.

    A log that was trimmed is not renewed: it needs its snapshot, which bears its name.

    \b
    Example:
      topicfold renew --log topicfold.db
    """
    with needed_packages("renewing a log", {}):
        from topicfold.clock import random_id
        from topicfold.log.sqlite_renewal import renew as run
    new = run(log, random_id()).incarnation.hex()
    session.output.show_line({"log": str(log), "incarnation": new}, f"{log} is log {new} now")
