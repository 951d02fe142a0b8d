"""`topicfold serve`: hand the settings to the server. All else about serving is in `topicfold.server`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli.arguments import KafkaSettings, read_settings
from topicfold.cli.command import command
from topicfold.cli.config import ENVIRONMENT_PREFIX, SERVER_SETTINGS, Config, check_keys
from topicfold.cli.session import Session
from topicfold.errors import BadSetting, InvalidRequest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from topicfold.settings import Settings

LogFile = Annotated[
    str | None, typer.Option("--log", metavar="FILE", help="Keep the log in this file (default topicfold.db).")
]
KafkaBootstrap = Annotated[
    str | None, typer.Option("--kafka", metavar="HOST:PORT", help="Keep the log on this Kafka cluster instead.")
]
KafkaTopic = Annotated[
    str | None, typer.Option("--kafka-topic", metavar="TOPIC", help="The log's topic there (default __change_events).")
]
Host = Annotated[
    str | None,
    typer.Option(help="Address to serve on: loopback only, without authentication (default 127.0.0.1)."),
]
Port = Annotated[
    int | None, typer.Option(min=0, max=65535, help="Port to serve on; 0 takes a free one (default 8080).")
]


def add_to(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app, "serve")(serve)


def serve(
    session: Session,
    log: LogFile = None,
    kafka: KafkaBootstrap = None,
    kafka_topic: KafkaTopic = None,
    host: Host = None,
    port: Port = None,
    kafka_setting: KafkaSettings = None,
) -> None:
    """Run a server, on a log in a file or on a Kafka cluster.

    More settings: TOPICFOLD_PARTITIONS, _ALLOWED_HOSTS, _ALLOWED_CUSTOM_LABEL_KEYS,
    _MAX_CUSTOM_LABEL_VALUE_LENGTH, _REQUEST_TIMEOUT_SECONDS, or the same in lower case under [server] in the
    configuration file.

    \b
    Examples:
      topicfold serve
      topicfold serve --log /var/lib/topicfold/events.db --port 8081
      topicfold serve --kafka broker1:9092,broker2:9092 --kafka-setting security.protocol=SSL
    """
    flags = {"log_file": log, "kafka_bootstrap": kafka, "kafka_topic": kafka_topic, "host": host, "port": port}
    raise typer.Exit(_serve(session.config, _given(flags, kafka_setting)))


def _given(flags: Mapping[str, Any], kafka_setting: list[str] | None) -> dict[str, Any]:
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
    return given


def _serve(config: Config, given: Mapping[str, Any]) -> int:
    """Run the server with the settings that follow from flags, environment and file; return its exit code.

    Raises:
        ExtraMissing: the packages for serving are not installed.
        BadSetting: a setting that cannot work.
        InvalidRequest: flags about Kafka, and the log is in a file.
    """
    try:
        from topicfold.server.run import serve as run
        from topicfold.settings import Settings
    except ModuleNotFoundError as error:
        raise _missing(error, given) from error
    settings = _settings(Settings, config, given)
    if settings.kafka_bootstrap is None and (useless := {"kafka_settings", "kafka_topic"} & given.keys()):
        raise InvalidRequest(
            f"--{min(useless).replace('_', '-').removesuffix('s')} is for a log on Kafka, this one is in a file",
            hint="Name the cluster with --kafka HOST:PORT, or leave it out.",
        )
    if settings.kafka_bootstrap and importlib.util.find_spec("confluent_kafka") is None:
        raise _extra_missing(is_on_kafka=True)
    return run(settings)


def _settings(settings_class: type[Settings], config: Config, given: Mapping[str, Any]) -> Settings:
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    check_keys(config.server, SERVER_SETTINGS, config.file)
    # The class itself looks at the environment, but takes what it is called with first: so the file must give way.
    names = {name for name in config.server if not os.environ.get(ENVIRONMENT_PREFIX + name.upper())}
    from_file = {name: config.server[name] for name in names}
    try:
        return settings_class(**{**from_file, **given})
    except ValidationError as error:
        raise BadSetting("; ".join(map(_reason, error.errors()))) from None
    except SettingsError:
        # Only tables come this far as text.
        raise BadSetting(
            f"{ENVIRONMENT_PREFIX}KAFKA_SETTINGS is no JSON object",
            hint="""Write it like '{"security.protocol": "SSL"}'.""",
        ) from None


def _reason(error: ErrorDetails) -> str:
    """Return in our words what pydantic has against a setting; what is in a table may be secret and is not shown."""
    name = ".".join(map(str, error["loc"]))
    shown = f"{error['input']!r} " if len(error["loc"]) == 1 else ""
    match error["type"]:
        case "int_parsing" | "int_from_float" | "int_type":
            return f"{name}: {shown}is not a whole number"
        case "float_parsing" | "float_type":
            return f"{name}: {shown}is not a number"
        case "value_error":
            return f"{name}: {error['msg'].removeprefix('Value error, ')}"
        case _:
            return f"{name}: {shown}{error['msg'].replace('Input should', 'should', 1)}"


def _missing(error: ModuleNotFoundError, given: Mapping[str, Any]) -> Exception:
    """Return what a missing module means: an extra that is not installed, or, if it is our own, a fault of ours."""
    if (error.name or "").partition(".")[0] == "topicfold":
        return error
    return _extra_missing(is_on_kafka="kafka_bootstrap" in given)


def _extra_missing(is_on_kafka: bool) -> Exception:
    from topicfold.client.errors import ExtraMissing

    return ExtraMissing("serving", "server", *(["kafka"] if is_on_kafka else []))
