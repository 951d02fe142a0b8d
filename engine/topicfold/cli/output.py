"""Printing: data on stdout in the wanted format, everything else on stderr.

Machine formats are written plainly: never coloured, wrapped or cut, whatever stdout is. Tables line up, fitted to a
terminal by `tables`. Characters that would steer a terminal are written escaped in all formats: whoever may set a
property or a label chooses its text.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any, TextIO

from topicfold.cli.config import ColorMode, OutputFormat
from topicfold.cli.tables import Row, left_out, table_lines, without
from topicfold.errors import shortened
from topicfold.model.steering import escape_steering, in_one_line

_BOLD, _RED, _DIM, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[2m", "\x1b[0m"
_PARTING = re.compile(r"[\\,]|^ | \Z")


class Output:
    """Prints in one format. `is_quiet` drops notes, never data, warnings or failures."""

    def __init__(self, output_format: OutputFormat, color: ColorMode, is_quiet: bool) -> None:
        self.format = output_format
        self.is_quiet = is_quiet
        self._color = color

    def show(
        self, data: Any, names: Iterable[str], header: Row, rows: Iterable[Row], *, spare: Collection[str] = ()
    ) -> None:
        """Print `data` as JSON or YAML, or `names` one a line, or `rows` under `header`, whichever is wanted.

        What is not is not gone through: of a million topics it need not be made.
        `spare` are columns that a narrow terminal is not shown, the first of them first; it is told of them.
        """
        match self.format:
            case OutputFormat.JSON | OutputFormat.YAML:
                self.show_data(data)
            case OutputFormat.NAME:
                sys.stdout.writelines(f"{in_one_line(name)}\n" for name in names)
            case OutputFormat.TABLE:
                sys.stdout.write(self._table(header, rows, spare))

    def show_line(self, data: Any, text: str) -> None:
        """Print `data` as JSON or YAML, or `text` on a line of its own."""
        if self.is_for_machines:
            self.show_data(data)
        else:
            sys.stdout.write(f"{printable(text)}\n")

    def show_event(self, data: Any, name: str, text: str) -> None:
        """Print one of many things that happen, at once: a line of JSON, a document of YAML, a name, or a line of text.

        Of what has no name or no text there, nothing.
        """
        match self.format:
            case OutputFormat.JSON:
                sys.stdout.write(_json(data_of(data)))
            case OutputFormat.YAML:
                sys.stdout.write(f"---\n{to_yaml(data_of(data))}")
            case OutputFormat.NAME:
                sys.stdout.write(f"{in_one_line(name)}\n" if name else "")
            case OutputFormat.TABLE:
                sys.stdout.write(f"{printable(text)}\n" if text else "")
        sys.stdout.flush()

    def show_data(self, data: Any) -> None:
        """Print `data` as one value: YAML if that is wanted, else JSON, a list of it some members at a time."""
        is_yaml = self.format is OutputFormat.YAML
        if isinstance(data, list | tuple) and data:
            sys.stdout.writelines(_yaml_of_members(data) if is_yaml else _json_of_members(data))
        elif is_yaml:
            sys.stdout.write(to_yaml(data_of(data)))
        else:
            sys.stdout.write(to_json(data_of(data)))

    @property
    def is_for_machines(self) -> bool:
        """Whether values are wanted, and not text for people."""
        return self.format in (OutputFormat.JSON, OutputFormat.YAML)

    def note(self, text: str) -> None:
        """Tell people something on stderr, unless they want quiet."""
        if not self.is_quiet:
            say(printable(text))

    def detail(self, text: str) -> None:
        """Say on stderr, in a line, what a question is about."""
        say(printable(text))

    def warning(self, text: str, hint: str = "") -> None:
        """Say on stderr what is amiss with data that is shown all the same, or with the settings, and what to do."""
        say(_styled("warning:", _DIM, is_colored_on(sys.stderr, self._color)) + f" {printable(text)}")
        self._hint(hint)

    def failure(self, reason: str, hint: str) -> None:
        """Say on stderr what was wrong, each thing in a line, and in the last what to do next."""
        is_colored = is_colored_on(sys.stderr, self._color)
        for line in shortened(reason).split("\n"):
            say(_styled("error:", _RED, is_colored) + f" {printable(line)}")
        self._hint(hint)

    def _hint(self, hint: str) -> None:
        if hint:
            say(_styled("hint:", _DIM, is_colored_on(sys.stderr, self._color)) + f" {printable(hint)}")

    def _table(self, header: Row, found: Iterable[Row], spare: Collection[str]) -> str:
        rows: Sequence[Row] = [[printable(cell) for cell in row] for row in found]
        if not rows:
            return ""
        if missing := left_out(header, rows, spare):
            header, rows = without(missing, header, rows)
            names = f"{'column' if len(missing) == 1 else 'columns'} {', '.join(missing)}"
            self.note(f"left out: {names}; a wider terminal shows it all, and so does -o json")
        lines = table_lines(header, rows)
        lines[0] = _styled(lines[0], _BOLD, is_colored_on(sys.stdout, self._color))
        return "\n".join(lines) + "\n"


def plain_output() -> Output:
    """Return what prints where no settings are known, or they cannot be."""
    return Output(OutputFormat.TABLE, ColorMode.AUTO, is_quiet=False)


def say(line: str) -> None:
    """Write a line on stderr; where that cannot be written, there is nobody to tell."""
    with suppress(OSError):
        sys.stderr.write(f"{line}\n")


def data_of(value: Any) -> Any:
    """Return what JSON says of a value: the members of records under the names that the REST API gives them."""
    if is_dataclass(value) and not isinstance(value, type):
        return {_camel(each.name): data_of(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: data_of(each) for name, each in value.items()}
    return [data_of(each) for each in value] if isinstance(value, list | tuple) else value


def to_yaml(data: Any) -> str:
    """Return `data` as YAML, its members in their order, in ASCII where stdout cannot take more."""
    from topicfold.client.yaml_text import write_yaml

    return write_yaml(data, is_ascii=not is_unicode()).removesuffix("...\n")


def to_json(data: Any) -> str:
    """Return `data` as indented JSON, in ASCII where stdout cannot take more."""
    return _json(data, 2)


def _yaml_of_members(members: Sequence[Any]) -> Iterator[str]:
    """Yield a list that is not empty as `to_yaml` writes it, without nodes for all of it."""
    from topicfold.client.yaml_text import yaml_of_members

    return yaml_of_members(map(data_of, members), is_ascii=not is_unicode())


def _json_of_members(members: Sequence[Any]) -> Iterator[str]:
    """Yield a list that is not empty as `to_json` writes it, without a copy of all of it."""
    before = "[\n  "
    for each in members:
        yield before + to_json(data_of(each)).removesuffix("\n").replace("\n", "\n  ")
        before = ",\n  "
    yield "\n]\n"


def _json(data: Any, indent: int | None = None) -> str:
    text = json.dumps(data, indent=indent, ensure_ascii=not is_unicode())
    return escape_steering(text) + "\n"


def is_colored_on(stream: TextIO, color: ColorMode) -> bool:
    """Return whether `stream` gets colours: by flag, then NO_COLOR, then FORCE_COLOR, then on a terminal."""
    if color is not ColorMode.AUTO:
        return color is ColorMode.ALWAYS
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def labels_text(labels: Mapping[str, str]) -> str:
    """Return labels for a cell of a table, in order of keys; what `--labels` would part or pass over is escaped."""
    return ",".join(f"{key}={escaped(value)}" for key, value in sorted(labels.items()))


def escaped(value: str) -> str:
    """Return a label's value with a backslash before what would part values, or be passed over, where some are listed.

    >>> escaped("a,b ")
    'a\\\\,b\\\\ '
    """
    return _PARTING.sub(lambda found: f"\\{found[0]}", value)


def value_text(value: Any) -> str:
    """Return a JSON value for a cell of a table: texts as they are, objects on one line, nothing as a dash.

    >>> value_text("pay"), value_text(""), value_text(None)
    ('pay', '""', '–')
    """
    if value is None:
        return "–"
    return value if value and isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def escape_what_stdout_cannot_take() -> None:
    """Have characters that stdout's encoding does not have written as escapes, rather than fail what prints them."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not is_unicode():
        sys.stdout.reconfigure(errors="backslashreplace")


def is_unicode() -> bool:
    """Return whether stdout can take every character."""
    return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"


def _camel(name: str) -> str:
    # What is true or not is an adjective there.
    first, *others = name.removeprefix("is_").split("_")
    return first + "".join(map(str.capitalize, others))


def _styled(text: str, style: str, is_colored: bool) -> str:
    return f"{style}{text}{_PLAIN}" if is_colored else text


def printable(text: str) -> str:
    """Return `text` with what cannot be printed as escapes."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
