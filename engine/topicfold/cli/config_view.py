"""`topicfold config`: which settings are in force, and where each comes from; those of a server in `config_server`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from topicfold.cli import config_server
from topicfold.cli.command import command, new_app
from topicfold.cli.config import check_keys
from topicfold.cli.masking import masked
from topicfold.cli.output import value_text
from topicfold.cli.server_names import SERVER_SETTINGS
from topicfold.cli.session import Session
from topicfold.errors import BadSetting

app = new_app()

ShowOrigin = Annotated[bool, typer.Option("--show-origin", help="Show where each value comes from.")]


@command(app, "view")
def view(session: Session, show_origin: ShowOrigin = False) -> None:
    """Show the settings in force. Flags override TOPICFOLD_*, which override the file. Secrets are masked.

    \b
    Example:
      topicfold config view --show-origin
    """
    config = session.config
    try:
        check_keys(config.server, SERVER_SETTINGS, config.file)
    except BadSetting as error:
        session.output.warning(error.reason, error.hint)
    found = {name: (setting.value, setting.origin) for name, setting in config.settings.items()}
    found |= {f"server.{name}": (value, str(config.file)) for name, value in _flattened(config.server).items()}
    shown = {name: (masked(name, value), origin) for name, (value, origin) in found.items()}
    header = ("SETTING", "VALUE", "ORIGIN") if show_origin else ("SETTING", "VALUE")
    rows = [(name, value_text(value), origin)[: len(header)] for name, (value, origin) in shown.items()]
    data = {
        name: {"value": value, "origin": origin} if show_origin else value for name, (value, origin) in shown.items()
    }
    session.output.show(data, list(shown), header, rows)


def _flattened(table: dict[str, Any] | Any, prefix: str = "") -> dict[str, Any]:
    """Return the entries of nested tables under dotted names, so that each can be masked by its own."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= _flattened(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


command(
    app,
    "server",
    instead="Leave it out. It shows what a server would take that is started here: run it where yours is.",
)(config_server.server)
