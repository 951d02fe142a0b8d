"""Settings of commands that open a log themselves: flags before environment before file, and what is wrong with them.

The packages that such commands need are not those of the client; a missing one is named with the command that
installs it.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from topicfold.cli.arguments import read_settings
from topicfold.cli.config import ENVIRONMENT_PREFIX, Config, check_keys, flag_of
from topicfold.cli.server_names import SERVER_FLAGS, SERVER_SETTINGS
from topicfold.errors import BadSetting, InvalidRequest

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_core import ErrorDetails

    from topicfold.settings import Settings


_EXTRA_OF_SETTING = {"kafka_bootstrap": "kafka", "cluster_bootstrap": "kafka", "snapshot": "snapshot"}
_PACKAGE_OF_EXTRA = {"server": "pydantic_settings", "kafka": "confluent_kafka", "snapshot": "pyarrow"}
"""A package of each by which it is known to be there."""
_EXAMPLES: Mapping[str, str] = {
    "POLICY_DEFAULTS": '{"messageTTLInSeconds": 3600}',
    "OWNERS": '{"public/default": "http://node1:8080"}',
}
_SETTING = re.compile(rf"\b(?:{'|'.join(each for each in SERVER_SETTINGS if '_' in each)}|^superusers|^owners)\b")
"""What is a setting wherever a sentence has it; the others are words, too."""


@contextmanager
def needed_packages(doing: str, given: Mapping[str, Any], *extras: str) -> Iterator[None]:
    """Import in this block what is needed for `doing` something: a server's packages, and those of `extras`.

    What only some settings need is imported by what they are for, so `doing` it may be in the block, too.

    Raises:
        ExtraMissing, ExtraBroken: a package is not installed, or cannot be imported.
    """
    try:
        yield
    except ImportError as error:
        from topicfold.client.extras import import_failure

        raise import_failure(error, doing, *_needed_extras(given, *extras)) from error


def given_settings(
    flags: Mapping[str, Any], kafka_setting: list[str] | None, cluster_setting: list[str] | None
) -> dict[str, Any]:
    """Return the settings that the flags name. A log in a file puts Kafka out of force, wherever it is set.

    Raises:
        InvalidRequest: the flags contradict each other, or one is malformed.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    if "log_file" in given and "kafka_bootstrap" in given:
        raise InvalidRequest("the log is either in a file or on Kafka", hint="Give --log or --kafka, not both.")
    if "log_file" in given:
        given["kafka_bootstrap"] = None
    if kafka_setting:
        given["kafka_settings"] = read_settings(kafka_setting, "--kafka-setting")
    if cluster_setting:
        given["cluster_settings"] = read_settings(cluster_setting, "--cluster-setting")
    return given


def server_settings(config: Config, given: Mapping[str, Any], doing: str) -> Settings:
    """Return the settings that follow from flags, environment and file.

    Raises:
        BadSetting: a setting that cannot work.
        InvalidRequest: flags about a log on Kafka, and the log is in a file.
        ExtraMissing: a cluster or a snapshot is named, and the package for it is not installed.
    """
    settings = _validated(config, given)
    if settings.kafka_bootstrap is None and (useless := {"kafka_settings", "kafka_topic"} & given.keys()):
        raise InvalidRequest(
            f"{_flag_of(min(useless))} is for a log on Kafka, this one is in a file",
            hint="Name the cluster with --kafka HOST:PORT, or leave it out.",
        )
    if settings.cluster is None and (useless := {"adopt_only", "cluster_settings"} & given.keys()):
        raise InvalidRequest(
            f"{_flag_of(min(useless))} is for a Kafka cluster, and none is named",
            hint="Name it with --kafka HOST:PORT or --cluster-bootstrap HOST:PORT, or leave it out.",
        )
    needed = _needed_extras(dict(settings))
    if any(importlib.util.find_spec(_PACKAGE_OF_EXTRA[each]) is None for each in needed):
        from topicfold.client.errors import ExtraMissing

        raise ExtraMissing(doing, *needed)
    return settings


def named_snapshot(settings: Settings) -> Path:
    """Return the directory of the snapshot that a command works on: that which servers start from, or a flag names.

    Raises:
        InvalidRequest: none is named.
    """
    if settings.snapshot is None:
        raise InvalidRequest("no snapshot is named", hint="Name its directory: --snapshot DIR, or TOPICFOLD_SNAPSHOT.")
    return settings.snapshot


def entries_in_variables(name: str) -> dict[str, str]:
    """Return the entries of a table that have variables of their own: TOPICFOLD_KAFKA_SETTINGS__security.protocol.

    They are put among the entries of the table, as a variable or else the file has it, and go before these.
    """
    start = f"{ENVIRONMENT_PREFIX}{name.upper()}__"
    said = {each.upper(): text for each, text in sorted(os.environ.items()) if text}
    return {each[len(start) :].lower(): text for each, text in said.items() if each.startswith(start)}


def without(value: Any, entries: Mapping[str, str]) -> Any:
    """Return a table without what has an entry in a variable, whose name has no case; what is no table as it is."""
    if not isinstance(value, dict):
        return value
    return {key: each for key, each in value.items() if key.lower() not in entries}


def _validated(config: Config, given: Mapping[str, Any]) -> Settings:
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from topicfold.settings import Settings

    check_keys(config.server, SERVER_SETTINGS, config.file)
    # The class itself looks at the environment, but takes what it is called with first: so the file must give way.
    names = {name for name in config.server if not os.environ.get(ENVIRONMENT_PREFIX + name.upper())}
    from_file = {name: without(config.server[name], entries_in_variables(name)) for name in names}
    try:
        return Settings(**{**from_file, **given})
    except ValidationError as error:
        raise BadSetting("; ".join(_reason(each, config, given) for each in error.errors())) from None
    except SettingsError as error:
        # Only tables come this far as text; pydantic quotes the name of the one it cannot read.
        name = str(error).split('"')[1].upper()
        example = _EXAMPLES.get(name, '{"security.protocol": "SSL"}')
        raise BadSetting(
            f"{ENVIRONMENT_PREFIX}{name} is not a JSON object", hint=f"Write it like '{example}'."
        ) from None


def _flag_of(name: str) -> str:
    return SERVER_FLAGS.get(name, flag_of(name))


def _spoken(name: str, config: Config, given: Mapping[str, Any]) -> str:
    """Return what a setting is called where its value is said: by a flag, a variable or the file."""
    if name in given:
        return _flag_of(name)
    variable = ENVIRONMENT_PREFIX + name.upper()
    if os.environ.get(variable):
        return variable
    return f"{config.file}: {name}" if name in config.server else name


def _spoken_in(message: str, config: Config, given: Mapping[str, Any]) -> str:
    """Return a sentence about settings with each called as it is said; what to add is a flag where another is one."""
    is_by_flag = any(name in given for name in _SETTING.findall(message))

    def called(found: re.Match[str]) -> str:
        spoken = _spoken(found[0], config, given)
        return _flag_of(found[0]) if is_by_flag and spoken == found[0] else spoken

    return _SETTING.sub(called, message)


def _reason(error: ErrorDetails, config: Config, given: Mapping[str, Any]) -> str:
    """Return in our words what pydantic has against a setting; what is in a table, or was to be one, may be secret."""
    setting, *entry = map(str, error["loc"]) if error["loc"] else [""]
    name = ".".join([_spoken(setting, config, given), *entry])
    shown = f"{error['input']!r} " if len(error["loc"]) == 1 and error["type"] != "dict_type" else ""
    match error["type"]:
        case "int_parsing" | "int_from_float" | "int_type":
            return f"{name}: {shown}is not a whole number"
        case "float_parsing" | "float_type":
            return f"{name}: {shown}is not a number"
        case "dict_type":
            return f"{name}: should be keys with values, not a text or a list"
        case "value_error":
            message = error["msg"].removeprefix("Value error, ")
            return f"{name}: {message}" if setting else _spoken_in(message, config, given)
        case _:
            return f"{name}: {shown}{error['msg'].replace('Input should', 'should', 1)}"


def _needed_extras(settings: Mapping[str, Any], *extras: str) -> list[str]:
    """Return all extras that a command needs, so that nobody installs one only to be told of the next."""
    named = [extra for setting, extra in _EXTRA_OF_SETTING.items() if settings.get(setting) is not None]
    return list(dict.fromkeys(["server", *extras, *named]))
