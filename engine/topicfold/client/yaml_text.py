"""Writing YAML: characters that steer a terminal, or turn text around on it, are escaped, in all they may stand in.

What is read back is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    try:
        written: str = yaml.dump(data, Dumper=_DUMPER, **options)
    except UnicodeEncodeError:
        # libyaml takes no surrogates, which stand for bytes that are no UTF-8: in the name of a file, for one.
        written = yaml.dump(data, Dumper=_PYTHONS_OWN, **options)
    return escape_steering(written)


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
# libyaml's, where PyYAML was built with it: a list of 20,000 topics takes a quarter of the time.
_DUMPER = _dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper))
