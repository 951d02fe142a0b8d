"""`topicfold config server`: every setting that a server takes, what it means, its value and where that is from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from topicfold.cli.config import DEFAULT, ENVIRONMENT_PREFIX, check_keys
from topicfold.cli.masking import MASK, masked
from topicfold.cli.output import value_text
from topicfold.cli.server_names import SERVER_SETTINGS
from topicfold.cli.server_settings import entries_in_variables, needed_packages, without
from topicfold.cli.session import Session
from topicfold.text.json_text import read_json

if TYPE_CHECKING:
    from topicfold.cli.config import Config

_HEADER = ("SETTING", "VALUE", "ORIGIN", "MEANING")


def server(session: Session) -> None:
    """Show all settings of a server started here. Each with its value, origin and meaning.

    Set them as TOPICFOLD_ and the name in capitals, or under [server] in the configuration file; flags of 'topicfold
    serve' override both. Tables: TOPICFOLD_KAFKA_SETTINGS='{"security.protocol": "SSL"}'.

    \b
    Examples:
      topicfold config server
      TOPICFOLD_PARTITIONS=16 topicfold config server -o json
    """
    with needed_packages("listing the settings of a server", {}):
        from topicfold.setting_values import policy_name
        from topicfold.settings import Settings
    check_keys(session.config.server, SERVER_SETTINGS, session.config.file)
    found = {
        name: {
            **_said(name, field.get_default(call_default_factory=True), session.config),
            "meaning": field.description,
        }
        for name, field in Settings.model_fields.items()
    }
    defaults = found["policy_defaults"]
    if isinstance(defaults["value"], dict):
        defaults["value"] = {policy_name(name): value for name, value in defaults["value"].items()}
    rows = [(name, value_text(each["value"]), each["origin"], each["meaning"] or "") for name, each in found.items()]
    session.output.show(found, list(found), _HEADER, rows)
    if not session.output.is_for_machines:
        session.output.note(
            "a server that is started here would have these; one that runs has what it was started with"
        )


def _said(name: str, default: Any, config: Config) -> Mapping[str, Any]:
    """Return the value of a setting, masked where it is secret, and where it is from.

    What was to be a table and is none is masked whole: nobody knows which part of it is an entry that is secret.
    """
    variable = ENVIRONMENT_PREFIX + name.upper()
    value, origin = default, DEFAULT
    if text := os.environ.get(variable):
        value, origin = _table_in(text), variable
    elif name in config.server:
        value, origin = config.server[name], str(config.file)
    if (entries := entries_in_variables(name)) and isinstance(value, dict):
        value = {**without(value, entries), **entries}
        origin = f"{variable}__…" if origin == DEFAULT else f"{origin}, {variable}__…"
    is_no_table = isinstance(default, dict) and not isinstance(value, dict)
    return {"value": MASK if is_no_table else masked(name, value), "origin": origin}


def _table_in(text: str) -> Any:
    """Return the table that a variable's text is, for its entries may be secret; else the text."""
    try:
        found = read_json(text)
    except ValueError:
        return text
    return found if isinstance(found, dict) else text
