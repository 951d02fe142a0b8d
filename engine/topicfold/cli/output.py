"""Printing: data on stdout in the wanted format, everything else on stderr.

Machine formats are written plainly: never coloured, wrapped or cut, whatever stdout is. Tables line up and keep their
lines whole, but for names that are `fitted` to a terminal; characters that would steer a terminal are shown escaped.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from topicfold.cli.config import ColorMode, OutputFormat

_BOLD, _RED, _DIM, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[2m", "\x1b[0m"
_COLUMN_GAP = "  "
_ROOM_BESIDE_NAME = 30

Row = Sequence[str]


class Output:
    """Prints in one format. `is_quiet` drops notes, never data, warnings or failures."""

    def __init__(self, output_format: OutputFormat, color: ColorMode, is_quiet: bool) -> None:
        self.format = output_format
        self.is_quiet = is_quiet
        self._color = color

    def show(self, data: Any, names: Sequence[str], header: Row, rows: Sequence[Row]) -> None:
        """Print `data` as JSON, or `names` one a line, or `rows` under `header`, whichever is wanted."""
        match self.format:
            case OutputFormat.JSON:
                self._write(to_json(data))
            case OutputFormat.NAME:
                self._write("".join(f"{name}\n" for name in names))
            case OutputFormat.TABLE:
                self._write(self._table(header, rows))

    def show_line(self, data: Any, text: str) -> None:
        """Print `data` as JSON, or `text` on a line of its own."""
        self._write(to_json(data) if self.format is OutputFormat.JSON else f"{_shown(text)}\n")

    def note(self, text: str) -> None:
        """Tell people something on stderr, unless they want quiet."""
        if not self.is_quiet:
            sys.stderr.write(f"{_shown(text)}\n")

    def warning(self, text: str) -> None:
        """Say on stderr what is amiss with data that is shown all the same, or with the settings."""
        sys.stderr.write(_styled("warning:", _DIM, is_colored_on(sys.stderr, self._color)) + f" {_shown(text)}\n")

    def failure(self, reason: str, hint: str) -> None:
        """Say on stderr in one line what was wrong, and in a second what to do next."""
        is_colored = is_colored_on(sys.stderr, self._color)
        sys.stderr.write(_styled("error:", _RED, is_colored) + f" {_shown(reason)}\n")
        if hint:
            sys.stderr.write(_styled("hint:", _DIM, is_colored) + f" {_shown(hint)}\n")

    def _table(self, header: Row, rows: Sequence[Row]) -> str:
        if not rows:
            return ""
        lines = [[_shown(cell) for cell in row] for row in (header, *rows)]
        widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
        texts = [_COLUMN_GAP.join(_padded(*cell) for cell in zip(line, widths, strict=True)).rstrip() for line in lines]
        texts[0] = _styled(texts[0], _BOLD, is_colored_on(sys.stdout, self._color))
        return "\n".join(texts) + "\n"

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)


def to_json(data: Any) -> str:
    """Return `data` as indented JSON, in ASCII where stdout cannot take more."""
    is_unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    return json.dumps(data, indent=2, ensure_ascii=not is_unicode) + "\n"


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
    """Return labels for a cell of a table, in order of keys; commas inside values escaped, as `--labels` takes them."""
    return ",".join(f"{key}={_escaped(value)}" for key, value in sorted(labels.items()))


def value_text(value: Any) -> str:
    """Return a JSON value for a cell of a table: texts as they are, objects on one line, nothing as a dash."""
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def counted(partitions: int) -> str:
    """Return a number of partitions in words."""
    return f"{partitions} partition{'' if partitions == 1 else 's'}"


def fitted(name: str) -> str:
    """Return `name`, on a terminal cut so that further columns have room beside it."""
    if not sys.stdout.isatty():
        return name
    columns = max(shutil.get_terminal_size().columns - _ROOM_BESIDE_NAME, _ROOM_BESIDE_NAME)
    return name if len(name) <= columns else f"{name[: columns - 1]}…"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(",", "\\,")


def _styled(text: str, style: str, is_colored: bool) -> str:
    return f"{style}{text}{_PLAIN}" if is_colored else text


def _shown(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    """Return how many columns a terminal gives `text`."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
