"""Values of settings: what a text given by a flag, a variable or a file must be, and what is made of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from topicfold.errors import InvalidName
from topicfold.model.kafka.brokers import wrong_with_brokers
from topicfold.model.labels import broken_key_rule
from topicfold.model.names import check_tenant, parse_namespace
from topicfold.model.policy.table import BY_NAME
from topicfold.text.json_text import read_json

_POLICY_NAMES = {name.lower(): name for name in BY_NAME}


def policy_name(name: str) -> str:
    """Return a policy's name as it is spelt, for that of a variable has no case; what is none as it is."""
    return _POLICY_NAMES.get(name.lower(), name)


def policies(given: Any) -> Any:
    """Return policies under their own names and in their own shapes: the value of a variable is text.

    Raises:
        ValueError: one begins like JSON and is none.
    """
    if not isinstance(given, Mapping):
        return given
    return {policy_name(str(name)): _from_json(value) for name, value in given.items()}


def label_keys(keys: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return `keys` if each can be the key of a label.

    Raises:
        ValueError: one cannot.
    """
    for key in keys or ():
        if broken := broken_key_rule(key):
            raise ValueError(f"{key!r}: {broken}")
    return keys


def separator(text: str) -> str:
    """Return `text` if it can separate the parts of a topic's name.

    Raises:
        ValueError: it cannot.
    """
    if not re.fullmatch(r"[!-)+-.0-\[\]-~]{1,8}", text):
        raise ValueError("must be 1 to 8 visible ASCII characters, none of them * / or a backslash, such as __")
    return text


def words(value: Any) -> Any:
    """Return the words of a text: of a JSON list, or else separated by commas; anything that is no text as it is.

    Raises:
        ValueError: the text begins like a list and is none.
    """
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith("["):
        return [word.strip() for word in value.split(",") if word.strip()]
    try:
        return read_json(value)
    except ValueError:
        raise ValueError("neither words separated by commas nor a JSON list") from None


def path(named: Path) -> Path:
    """Return `named` if something can be there.

    Raises:
        ValueError: no system takes such a path.
    """
    if "\0" in str(named):
        raise ValueError("a path cannot hold a zero character")
    return named


def brokers(text: str | None) -> str | None:
    """Return `text` if Kafka's client would take it for addresses of brokers.

    Raises:
        ValueError: it would not.
    """
    if text is not None and (wrong := wrong_with_brokers(text)):
        raise ValueError(wrong)
    return text


def hosts(given: tuple[str, ...]) -> tuple[str, ...]:
    """Return `given` if each is what a request may bear as Host, with a port or without.

    Raises:
        ValueError: one is not, so it would never be met.
    """
    for host in given:
        if not re.fullmatch(r"(?ai)(?:[\w.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?|[0-9a-f:]*:[0-9a-f.:]+", host):
            raise ValueError(f"{host[:80]!r} is not a host, such as topicfold.example or 10.0.0.7:8443")
    return given


def base_url(text: str | None) -> str | None:
    """Return the address of a node without a slash at its end.

    Raises:
        ValueError: it is not just scheme, host and port.
    """
    if text is None:
        return None
    if "@" in text:
        raise ValueError("it cannot contain a user or password")
    parts = urlsplit(text.rstrip("/"))
    is_plain = not (parts.path or parts.query or parts.fragment) and parts.port != 0
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain or not text.isprintable():
        raise ValueError(f"{text[:80]!r} is not the address of a node, such as http://node1:8080")
    return f"{parts.scheme}://{parts.netloc}"


def owned(text: str) -> str:
    """Return what a node may own: `tenant/namespace`, or `tenant/*` for all namespaces of a tenant.

    Raises:
        ValueError: it is neither.
    """
    try:
        return f"{check_tenant(text.removesuffix('/*'))}/*" if text.endswith("/*") else parse_namespace(text)
    except InvalidName as error:
        raise ValueError(error.reason) from None


def _from_json(value: Any) -> Any:
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return read_json(value)
    except ValueError:
        raise ValueError(f"{value[:80]!r} is not JSON") from None
