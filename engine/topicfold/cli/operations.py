"""`topicfold operations`: what became of a change whose outcome was not known."""

from __future__ import annotations

from typing import Annotated

import typer

from topicfold.cli.command import command, new_app
from topicfold.cli.output import data_of, value_text
from topicfold.cli.session import Session

app = new_app()

OperationId = Annotated[
    str, typer.Argument(metavar="ID", help="Id of the operation, as the failed command printed it.")
]


@command(app, "get")
def get(session: Session, operation: OperationId) -> None:
    """Show whether a change was applied. `applied` and `refused` are final; `not_seen` is not: ask again later.

    \b
    Example:
      topicfold operations get 0-0f3c5a7e9b1d4f608a2c4e6f80a1b3c5
    """
    found = session.client.get_operation(operation)
    rows = [(member, value_text(value)) for member, value in data_of(found).items() if value is not None]
    session.output.show(found, [found.state], ("FIELD", "VALUE"), rows)
    if found.state == "not_seen":
        session.output.note("not_seen is not final: what was sent may still come; ask again later")
