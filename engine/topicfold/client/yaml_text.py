"""Writing YAML: characters that steer a terminal, or turn text around on it, are escaped, in all they may stand in.

What is read back is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import yaml

from topicfold.model.steering import escape_steering, steers

_AT_ONCE = 256


def write_yaml(data: Any, *, is_ascii: bool, default_flow_style: bool | None = False) -> str:
    """Return `data` as YAML, its members in their order; with `is_ascii` all other characters are escaped too."""
    options: dict[str, Any] = {
        "sort_keys": False,
        "allow_unicode": not is_ascii,
        "default_flow_style": default_flow_style,
    }
    # libyaml takes no surrogates, which stand for bytes that are no UTF-8, and escapes emoji, which anybody can read.
    with suppress(UnicodeEncodeError):
        written: str = yaml.dump(data, Dumper=_LIBYAMLS, **options)
        if is_ascii or "\\U" not in written:
            return escape_steering(written)
    return escape_steering(yaml.dump(data, Dumper=_PYTHONS_OWN, **options))


def yaml_of_members(
    members: Iterable[Any], *, is_ascii: bool, default_flow_style: bool | None = False
) -> Iterator[str]:
    """Yield the list of these members as `write_yaml` writes it, some members at a time; nothing where there is none.

    PyYAML has a node for each value until all are written, ten times the text.
    """
    left = iter(members)
    while some := list(islice(left, _AT_ONCE)):
        yield write_yaml(some, is_ascii=is_ascii, default_flow_style=default_flow_style)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Represent a text, in double quotes where it has something to be escaped: nowhere else can that be."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if steers(text) else None)


def _dumper(base: Any) -> Any:
    made: Any = type("_Dumper", (base,), {})
    made.add_representer(str, _represent_text)
    return made


_PYTHONS_OWN = _dumper(yaml.SafeDumper)
# Where PyYAML was built with it: a list of 20,000 topics takes a quarter of the time.
_LIBYAMLS = _dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper))
