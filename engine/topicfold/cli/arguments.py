"""Arguments and options that several commands take, and how their text is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import typer

from topicfold.cli.completion import complete_namespaces, complete_tenants, complete_topics, complete_versions
from topicfold.errors import InvalidRequest
from topicfold.model.labels import parse_pairs
from topicfold.model.system_topics import EVENTS_TOPIC

Topic = Annotated[
    str,
    typer.Argument(
        metavar="TOPIC",
        help="persistent://tenant/namespace/topic, tenant/namespace/topic, or a name in public/default.",
        autocompletion=complete_topics,
    ),
]
Namespace = Annotated[
    str, typer.Argument(metavar="NAMESPACE", help="tenant/namespace.", autocompletion=complete_namespaces)
]
Tenant = Annotated[str, typer.Argument(metavar="TENANT", help="A tenant.", autocompletion=complete_tenants)]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="VERSION",
        help="As it was then: a VERSION of 'topicfold history', a position, or a time (2h means 2h ago).",
        autocompletion=complete_versions,
    ),
]
Partitions = Annotated[int, typer.Option("--partitions", "-p", min=1, metavar="N", help="Number of partitions.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Also delete everything inside.")]
LogFile = Annotated[
    str | None, typer.Option("--log", metavar="FILE", help="File with the server's log (default topicfold.db).")
]
KafkaBootstrap = Annotated[
    str | None, typer.Option("--kafka", metavar="HOST:PORT", help="Kafka cluster with the server's log instead.")
]
KafkaTopic = Annotated[
    str | None, typer.Option("--kafka-topic", metavar="TOPIC", help=f"The log's topic there (default {EVENTS_TOPIC}).")
]
KafkaSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--kafka-setting",
        "--server-setting",
        metavar="KEY=VALUE",
        help="A librdkafka setting, such as security.protocol=SSL; repeatable.",
    ),
]


def read_labels(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """Return the labels that an option, given once or several times, names.

    Raises:
        InvalidRequest: a text is no pair.
    """
    return parse_pairs(list(texts or ()), option)


def read_keys(texts: Sequence[str] | None) -> list[str]:
    """Return the keys of labels that `--labels` names.

    Raises:
        InvalidRequest: a word is a key with a value, or ends as `kubectl label` has keys that it removes.
    """
    keys = read_words(texts)
    for word in keys:
        key = re.split("[:=]", word, maxsplit=1)[0].rstrip("-")
        if key != word:
            raise InvalidRequest(f"--labels: {word!r} is not the key of a label", hint=f"Write the key alone: {key}")
    return keys


def read_words(texts: Sequence[str] | None) -> list[str]:
    """Return the words of an option that takes several, separated by commas or given again."""
    return [word.strip() for text in texts or () for word in text.split(",") if word.strip()]


def read_settings(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """Return settings `KEY=VALUE`, each text one of them, the value taken as it stands.

    Raises:
        InvalidRequest: a text is none.
    """
    settings: dict[str, str] = {}
    for text in texts or ():
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            # What follows may be a secret, parted from its name by another sign.
            name = re.split(r"[:\s]", key.strip(), maxsplit=1)[0]
            raise InvalidRequest(f"{option}: {name!r} has no value", hint="Write KEY=VALUE.")
        settings[key.strip()] = value
    return settings
