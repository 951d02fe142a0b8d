"""Tables of text: columns that line up, and on a terminal cells that are wrapped so that all of a row can be seen.

Where stdout is no terminal every row is one line, for `grep` and `awk`. A few cells that are far wider than the others
of their column cost only their own rows: there these are wrapped, or no longer line up.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import zip_longest

Row = Sequence[str]

_GAP = "  "
_INDENT = "    "
_LEAST_LAST = 30
_LEAST = 12
_LONG = 40
# A cell is parted behind one of the first of these rather than of the next, there rather than between the words of
# a name such as maxMessageSize, and there rather than anywhere.
_BREAKS = (", ;", "=./", "_-")
_WORD = re.compile("[^, ;]+[,;]?")
_WORDS_IN_ONE = re.compile(r"[a-z](?=[A-Z])")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z?")
# What tables are made of beside letters of the alphabet; for all else rich knows, and costs much to import.
_NARROW = frozenset("–→…")


def table_lines(header: Row, rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table, the header's first; on a terminal no wider than that, if it is not very narrow.

    There cells that are wider than nine in ten are wrapped, if that leaves the last column room for its cells, or else
    for its words; then the last column is, then the widest of the others are, nowhere within a time: it can be copied
    whole. A last column too narrow for its words, as for names of policies, has
    lines of its own below the others. Elsewhere a long cell, of over twice that width, pushes its own row.
    """
    table = [header, *rows]
    columns = _widths(table)
    if not sys.stdout.isatty():
        return list(_lines(table, [lined_up(column) for column in columns], lambda cell, width: [cell]))
    leasts, room = _leasts(table), _room()
    usual = [max(_usual(column), least) for column, least in zip(columns, leasts, strict=True)]
    widest = [max(column) for column in columns]
    word = _usual([_word(row[-1]) for row in table])
    wanted = usual[-1] if _total(usual) <= room else word
    *others, _ = _narrowed([*widest[:-1], wanted], usual, room)
    fitted = _fitted([*others, widest[-1]], leasts, room)
    if fitted[-1] < usual[-1] and fitted[-1] < word <= room - len(_INDENT):
        return list(_stacked(table, _narrowed([*widest[:-1], _width(header[-1])], leasts, room), room))
    return list(_lines(table, fitted, _wrapped))


def left_out(header: Row, rows: Sequence[Row], spare: Collection[str]) -> list[str]:
    """Return which of the `spare` columns a terminal is too narrow for, where the last column is wrapped already."""
    widths = dict(zip(header, map(_usual, _widths([header, *rows])), strict=True))
    widths[header[-1]] = min(widths[header[-1]], _LEAST_LAST)
    found: list[str] = []
    for name in spare if sys.stdout.isatty() else ():
        if _total(list(widths.values())) > _room():
            del widths[name]
            found.append(name)
    return found


def without(columns: Collection[str], header: Row, rows: Sequence[Row]) -> tuple[Row, Sequence[Row]]:
    """Return header and rows of a table without some of its columns."""
    kept = [place for place, name in enumerate(header) if name not in columns]
    first, *others = ([row[place] for place in kept] for row in (header, *rows))
    return first, others


def _room() -> int:
    return shutil.get_terminal_size().columns


def _fitted(widths: list[int], leasts: list[int], room: int) -> list[int]:
    """Return the widths of columns so that a line fits into `room`, unless each is as narrow as one may be."""
    last = min(widths[-1], max(room - _total([*widths[:-1], 0]), _LEAST_LAST))
    return _narrowed([*widths[:-1], last], leasts, room)


def _narrowed(widths: list[int], leasts: list[int], room: int) -> list[int]:
    """Return the widths of columns, all but the last one narrowed, the widest first, until a line fits or all are."""
    fitted = list(widths)
    while _total(fitted) > room and (wide := [n for n, width in enumerate(fitted[:-1]) if width > leasts[n]]):
        widest = max(wide, key=fitted.__getitem__)
        next_to = _second([fitted[n] for n in wide])
        fitted[widest] = max(fitted[widest] - (_total(fitted) - room), next_to, leasts[widest])
    return fitted


def _leasts(table: Sequence[Row]) -> list[int]:
    """Return how narrow each column may be: a time in it is never broken."""
    times = ((len(time) for cell in column for time in _TIME.findall(cell)) for column in zip(*table, strict=True))
    return [max(_LEAST, *column, 0) for column in times]


def _widths(table: Sequence[Row]) -> list[list[int]]:
    return [[_width(cell) for cell in column] for column in zip(*table, strict=True)]


def _usual(column: Sequence[int]) -> int:
    """Return the width that nine in ten cells of a column have at most; of fewer than ten, all.

    >>> _usual([5, 40, 7]), _usual([5, 6, 7, 8, 9, 10, 11, 12, 13, 400])
    (40, 13)
    """
    return sorted(column)[-1 - len(column) // 10]


def lined_up(column: Sequence[int]) -> int:
    """Return the width of a column whose cells have these, so that all line up but those over twice the usual width."""
    most = max(2 * _usual(column), _LONG)
    return max(width for width in column if width <= most)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _second(widths: Sequence[int]) -> int:
    """Return what the widest column may lose no more than before another is as wide: one less than the second."""
    return sorted(widths)[-2] - 1 if len(widths) > 1 else 0


def _lines(table: Sequence[Row], widths: Sequence[int], part: Callable[[str, int], list[str]]) -> Iterator[str]:
    for row in table:
        parted = [part(cell, width) for cell, width in zip(row, widths, strict=True)]
        for pieces in zip_longest(*parted, fillvalue=""):
            yield _GAP.join(_padded(*each) for each in zip(pieces, widths, strict=True)).rstrip()


def _stacked(table: Sequence[Row], widths: Sequence[int], room: int) -> Iterator[str]:
    """Yield the lines of a table whose last column is below the others, but for the header's."""
    header, *rows = table
    yield from _lines([header], widths, _wrapped)
    for row in rows:
        yield from filter(None, _lines([row[:-1]], widths[:-1], _wrapped))
        yield from (f"{_INDENT}{piece}" for piece in _wrapped(row[-1], room - len(_INDENT)) if piece)


def _word(cell: str) -> int:
    """Return the width of the longest part of a cell that is only broken where it must be."""
    return max(map(_width, _WORD.findall(cell)), default=0)


def _wrapped(cell: str, width: int) -> list[str]:
    """Return the pieces of a cell, none wider than `width`."""
    pieces: list[str] = []
    while _width(cell) > width:
        end = _fitting(cell, width)
        ends = (max(cell.rfind(mark, 0, end) for mark in marks) + 1 for marks in _BREAKS)
        words = (found.end() for found in _WORDS_IN_ONE.finditer(cell, 0, end + 1))
        end = _outside_a_time(cell, next(filter(None, ends), max(words, default=end)))
        pieces.append(cell[:end].rstrip())
        cell = cell[end:].lstrip(" ")
    return [*pieces, cell]


def _outside_a_time(cell: str, end: int) -> int:
    """Return `end`, or where a time begins that lies across it, if that is not at the beginning.

    At the beginning it fits, so it was broken at a point of its own: then return where it ends.
    """
    for time in _TIME.finditer(cell):
        if time.start() < end < time.end():
            return time.start() or time.end()
    return end


def _fitting(cell: str, width: int) -> int:
    """Return how many characters of `cell` fit, at least one."""
    end = width
    while end > 1 and _width(cell[:end]) > width:
        end -= 1
    return end


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    """Return how many columns a terminal gives `text`."""
    if text.isascii() or all(each < "\u0300" or each in _NARROW for each in text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
