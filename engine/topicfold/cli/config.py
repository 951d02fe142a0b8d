"""Where the command line's settings come from: flags before `TOPICFOLD_*` before a TOML file before defaults.

The file is `$TOPICFOLD_CONFIG`, else `topicfold/config.toml` in the XDG configuration directory:

    url = "http://topicfold.internal:8080"
    output = "json"

    [server]            # what `topicfold serve` is told, see its --help
    port = 8081
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import EnumType, StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from topicfold.cli.masking import masked
from topicfold.cli.server_names import SERVER_FLAGS, SERVER_SETTINGS
from topicfold.errors import BadSetting, InvalidRequest

ENVIRONMENT_PREFIX = "TOPICFOLD_"
_UTF_8 = "utf-8-sig"
"""With the byte order mark that editors on Windows begin a file with, or without one."""
FLAG = "flag"
DEFAULT = "default"
SERVER_TABLE = "server"
ASKING = ("url", "token", "token_file", "tls_ca_file", "client_cert_file", "client_key_file", "timeout_seconds")
"""Settings that say which server is asked, as whom, and for how long it is waited for."""


class OutputFormat(StrEnum):
    """How data is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
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

    @property
    def rank(self) -> int:
        """How far from the command the value is said: 0 is a flag."""
        if self.origin in (FLAG, DEFAULT):
            return 0 if self.origin == FLAG else 3
        return 1 if self.origin.startswith(ENVIRONMENT_PREFIX) else 2


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
    try:
        seconds = 0.0 if isinstance(value, bool) else float(value)
    except (OverflowError, TypeError, ValueError):
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise ValueError("expected seconds above 0, at most 3600")
    return seconds


def _text(value: Any) -> str:
    if not isinstance(value, str | Path):
        raise ValueError("expected text, in quotes")
    return str(value)


def _place(value: Any) -> str:
    text = _text(value)
    if not text.strip():
        raise ValueError("it must not be empty")
    return text


def _file(value: Any) -> Path:
    # Only here: without a file, the command line must not cost the import.
    from topicfold.setting_values import path

    return path(Path(_place(value)))


_KEYS: Mapping[str, _Key] = {
    "url": _Key("http://127.0.0.1:8080", _place),
    "token": _Key("", _text),
    "token_file": _Key(None, _file),
    "tls_ca_file": _Key(None, _file),
    "client_cert_file": _Key(None, _file),
    "client_key_file": _Key(None, _file),
    "output": _Key(OutputFormat.TABLE, OutputFormat),
    "color": _Key(ColorMode.AUTO, ColorMode),
    "timeout_seconds": _Key(30.0, _seconds),
    "quiet": _Key(False, _boolean),
    "progress": _Key(True, _boolean),
}


_CLOSE = 0.63
"""How alike a name is to one that may be meant: TIMEOUT to TIMEOUT_SECONDS (0.64), but not WORKERS to OWNERS (0.62)."""
# Other people's: the tests' and the simulator's.
_NO_SETTINGS = ("TOPICFOLD_TEST_", "TOPICFOLD_SIM_")


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
    table = _read(file, is_required=bool(environment.get("TOPICFOLD_CONFIG")))
    server = table.pop(SERVER_TABLE, {})
    if not isinstance(server, dict):
        raise BadSetting(f"{file}: {SERVER_TABLE} must be a table: [{SERVER_TABLE}]")
    check_keys(table, [*_KEYS, SERVER_TABLE], file)
    settings = {name: _resolve(name, key, flags, environment, table, file) for name, key in _KEYS.items()}
    return Config(settings, server, file)


def flag_of(name: str) -> str:
    """Return the flag of a setting; those of a server that are called otherwise are `SERVER_FLAGS`.

    >>> flag_of("token_file")
    '--token-file'
    """
    return f"--{name.replace('_', '-')}"


def require_none_asked(config: Config, hint: str) -> None:
    """Return if no flag is about a server that is asked; `hint` says what to give instead.

    Raises:
        InvalidRequest: one is, and would be ignored.
    """
    given = [flag_of(name) for name in ASKING if config.settings[name].origin == FLAG]
    if given:
        raise InvalidRequest(f"{', '.join(given)}: this command asks no server", hint=hint)


def token_of(config: Config) -> str | Callable[[], str]:
    """Return the token that says who asks, "" where there is none, or what reads it from its file again and again.

    It stands in a setting or in a file that a setting names; the one that is said closer to the command holds.

    Raises:
        BadSetting: both are said in the same place; when it is read, that the file cannot be, or is empty.
    """
    token, file = config.settings["token"], config.settings["token_file"]
    if file.value is None or (token.value and token.rank < file.rank):
        return str(token.value)
    if token.value and token.rank == file.rank:
        raise BadSetting("a token and a file that holds one are both given", hint="Leave one of them out.")
    return partial(_token_in, file.value)


def _why_unread(error: OSError | UnicodeDecodeError) -> str:
    return f"{error.strerror}" if isinstance(error, OSError) else "it is no text in UTF-8"


def _token_in(file: Path) -> str:
    try:
        token = _at_home(file).read_text(encoding=_UTF_8).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"token_file {file}: cannot be read: {_why_unread(error)}") from None
    if not token:
        raise BadSetting(
            f"token_file {file}: is empty",
            hint="Write the token into it. To replace a token, rename the new one's file over the old one.",
        )
    return token


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return a sentence for each `TOPICFOLD_*` variable that is not a setting, neither ours nor the server's."""
    ours, sentences = (*_KEYS, "config"), []
    for variable in sorted(environment):
        # What follows two underscores is an entry of the setting: TOPICFOLD_KAFKA_SETTINGS__security.protocol.
        name = variable.upper().partition("__")[0]
        setting = name.removeprefix(ENVIRONMENT_PREFIX).lower()
        # A server takes its own in small letters too.
        is_known = setting in SERVER_SETTINGS or (setting in ours and variable == _variable(setting))
        if name.startswith(ENVIRONMENT_PREFIX) and not name.startswith(_NO_SETTINGS) and not is_known:
            close = _meant(setting, [*ours, *SERVER_SETTINGS])
            hint = f"; did you mean {_variable(close)}?" if close else ""
            sentences.append(f"{variable} is not a setting{hint}")
    return sentences


def _meant(name: str, known: Collection[str]) -> str | None:
    """Return the setting that somebody probably means by `name`: the one of a flag of that name, or most like it."""
    flag = flag_of(name)
    by_flag = (setting for setting, its in SERVER_FLAGS.items() if its == flag and setting in known)
    return next(by_flag, None) or next(iter(get_close_matches(name, known, 1, _CLOSE)), None)


def _variable(flag_or_name: str) -> str:
    return ENVIRONMENT_PREFIX + flag_or_name.lstrip("-").replace("-", "_").upper()


def check_keys(table: Mapping[str, Any], known: Collection[str], file: Path) -> None:
    """Return if every key of `table` is known.

    Raises:
        BadSetting: names the first that is not, and the known key that is probably meant.
    """
    for key in table:
        if key not in known:
            close = _meant(key, known)
            hint = f"Did you mean {close!r}?" if close else f"Known keys: {', '.join(known)}."
            if SERVER_TABLE in known and key in SERVER_SETTINGS:
                hint = f"It is a setting of a server: write it below [{SERVER_TABLE}]."
            raise BadSetting(f"{file}: unknown key {key!r}", hint=hint)


def _resolve(
    name: str, key: _Key, flags: Mapping[str, Any], environment: Mapping[str, str], table: Mapping[str, Any], file: Path
) -> Setting:
    variable = _variable(name)
    if flags.get(name) is not None:
        raw, origin = flags[name], FLAG
    elif environment.get(variable):
        raw, origin = environment[variable], variable
    elif name in table:
        raw, origin = table[name], str(file)
    else:
        return Setting(key.default, DEFAULT)
    try:
        return Setting(key.read(raw), origin)
    except ValueError as error:
        expected = f"expected one of {', '.join(key.read)}" if isinstance(key.read, EnumType) else str(error)
        raise BadSetting(f"{_told(name, raw, origin)}: {expected}") from error


def _told(name: str, raw: Any, origin: str) -> str:
    """Return a setting as it is said where its value is from; a secret is masked."""
    raw = masked(name, raw)
    if origin == FLAG:
        return f"{flag_of(name)} {raw}"
    return f"{origin} = {raw!r}" if origin == _variable(name) else f"{origin}: {name} = {raw!r}"


def _file_path(environment: Mapping[str, str]) -> Path:
    if named := environment.get("TOPICFOLD_CONFIG"):
        return _at_home(named)
    home = environment.get("XDG_CONFIG_HOME") or "~/.config"
    return _at_home(home) / "topicfold" / "config.toml"


def _at_home(path: str | Path) -> Path:
    """Return `path` with the home directory for its `~`, or as it is for who has none, say a container's user."""
    return Path(os.path.expanduser(path))


def _read(file: Path, is_required: bool) -> dict[str, Any]:
    try:
        text = file.read_text(encoding=_UTF_8)
    except (FileNotFoundError, NotADirectoryError) as error:
        if is_required:
            raise BadSetting(f"{file}: there is no such file", hint="TOPICFOLD_CONFIG names it.") from error
        return {}
    except (OSError, UnicodeDecodeError) as error:
        # A service may have a home that it cannot look into: systemd's ProtectHome= closes all.
        if isinstance(error, PermissionError) and not is_required and not os.path.exists(file):
            return {}
        raise BadSetting(f"{file}: cannot be read: {_why_unread(error)}") from error
    # Only here: reading no file must not cost the import.
    import tomllib

    try:
        table = tomllib.loads(text)
        repr(table)  # a number in hexadecimal may have more digits than Python ever writes
    except RecursionError:
        raise BadSetting(f"{file}: nested too deep to be read") from None
    except ValueError as error:
        raise BadSetting(
            f"{file}: {error}", hint='Values of text need quotes: url = "http://127.0.0.1:8080"'
        ) from error
    return table
