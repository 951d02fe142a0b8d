"""Where the command line's settings come from: flags before `TOPICFOLD_*` before a TOML file before defaults.

The file is `$TOPICFOLD_CONFIG`, else `topicfold/config.toml` in the XDG configuration directory:

    url = "http://topicfold.internal:8080"
    output = "json"

    [server]            # what `topicfold serve` is told, see its --help
    port = 8081
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import EnumType, StrEnum
from pathlib import Path
from typing import Any

from topicfold.errors import BadSetting

ENVIRONMENT_PREFIX = "TOPICFOLD_"
SERVER_TABLE = "server"


class OutputFormat(StrEnum):
    """How data is printed."""

    TABLE = "table"
    JSON = "json"
    NAME = "name"


class ColorMode(StrEnum):
    """When output is coloured; `auto` means on a terminal."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Setting:
    """A value, and where it is from: `flag`, the name of a variable, the path of a file, or `default`."""

    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class _Key:
    default: Any
    read: Callable[[Any], Any]


def _boolean(value: Any) -> bool:
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if isinstance(value, bool):
        return value
    if str(value).lower() not in words:
        raise ValueError("expected true or false")
    return words[str(value).lower()]


def _seconds(value: Any) -> float:
    seconds = float(value)
    if not 0 < seconds <= 3600:
        raise ValueError("expected seconds above 0, at most 3600")
    return seconds


_KEYS: Mapping[str, _Key] = {
    "url": _Key("http://127.0.0.1:8080", str),
    "output": _Key(OutputFormat.TABLE, OutputFormat),
    "color": _Key(ColorMode.AUTO, ColorMode),
    "timeout_seconds": _Key(30.0, _seconds),
    "quiet": _Key(False, _boolean),
    "progress": _Key(True, _boolean),
}


@dataclass(frozen=True, slots=True)
class Config:
    """The settings in force, and the file's `[server]` table as it stands there."""

    settings: Mapping[str, Setting]
    server: Mapping[str, Any]
    file: Path

    def __getitem__(self, key: str) -> Any:
        return self.settings[key].value


def resolve_config(flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> Config:
    """Return the settings in force; flags that are None were not given.

    Raises:
        BadSetting: a value that is none, or a key or file that does not exist.
    """
    file = _file_path(environment)
    table = _read(file, is_required="TOPICFOLD_CONFIG" in environment)
    server = table.pop(SERVER_TABLE, {})
    if not isinstance(server, dict):
        raise BadSetting(f"{file}: {SERVER_TABLE} must be a table: [{SERVER_TABLE}]")
    check_keys(table, [*_KEYS, SERVER_TABLE], file)
    settings = {name: _resolve(name, key, flags, environment, table, file) for name, key in _KEYS.items()}
    return Config(settings, server, file)


def check_keys(table: Mapping[str, Any], known: list[str], file: Path) -> None:
    """Return if every key of `table` is known.

    Raises:
        BadSetting: names the first that is not, and the known key that is most like it.
    """
    for key in table:
        if key not in known:
            close = get_close_matches(key, known, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Known keys: {', '.join(known)}."
            raise BadSetting(f"{file}: unknown key {key!r}", hint=hint)


def _resolve(
    name: str, key: _Key, flags: Mapping[str, Any], environment: Mapping[str, str], table: Mapping[str, Any], file: Path
) -> Setting:
    variable = ENVIRONMENT_PREFIX + name.upper()
    if flags.get(name) is not None:
        raw, origin = flags[name], "flag"
    elif environment.get(variable):
        raw, origin = environment[variable], variable
    elif name in table:
        raw, origin = table[name], str(file)
    else:
        return Setting(key.default, "default")
    try:
        return Setting(key.read(raw), origin)
    except (TypeError, ValueError) as error:
        expected = f"expected one of {', '.join(key.read)}" if isinstance(key.read, EnumType) else str(error)
        raise BadSetting(f"{name} = {raw!r} (from {origin}): {expected}") from error


def _file_path(environment: Mapping[str, str]) -> Path:
    if named := environment.get("TOPICFOLD_CONFIG"):
        return Path(named).expanduser()
    home = environment.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "topicfold" / "config.toml"


def _read(file: Path, is_required: bool) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        if is_required:
            raise BadSetting(f"{file}: there is no such file", hint="TOPICFOLD_CONFIG names it.") from error
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"{file}: cannot be read: {error}") from error
    # Only here: reading no file must not cost the import.
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadSetting(
            f"{file}: {error}", hint='Values of text need quotes: url = "http://127.0.0.1:8080"'
        ) from error
