"""Results: rows of a number of ours beside somebody else's, their ratio, and the goal it has to meet.

A number is a median with its spread, lowest to highest, over repetitions that alternated with those beside it. The
ratio is taken pair by pair, so a minute in which the machine was slow touches both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

_PLAIN_WIDTH = 250


class Spread(NamedTuple):
    """A median and what it lies between."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on the median of our number or of the ratio."""

    of: Literal["ours", "ratio"]
    comparison: Literal["≤", "≥", "="]
    bound: float

    def is_met(self, value: float) -> bool:
        """Whether `value` keeps the bound."""
        match self.comparison:
            case "≤":
                return value <= self.bound
            case "≥":
                return value >= self.bound
            case "=":
                return value == self.bound

    def __str__(self) -> str:
        return f"{self.of} {self.comparison} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `beside` says what `theirs` is; a row without a goal is there for context."""

    name: str
    what: str
    unit: str
    ours: Spread
    beside: str
    theirs: Spread
    ratio: Spread
    goal: Goal | None

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        if self.goal is None:
            return None
        return self.goal.is_met(self.ours.median if self.goal.of == "ours" else self.ratio.median)

    def as_json(self) -> dict[str, object]:
        """Return the row in JSON's types."""
        return {
            "name": self.name,
            "what": self.what,
            "unit": self.unit,
            "ours": self.ours._asdict(),
            "beside": self.beside,
            "theirs": self.theirs._asdict(),
            "ratio": self.ratio._asdict(),
            "goal": None if self.goal is None else str(self.goal),
            "met": self.met,
        }


def row(
    name: str, unit: str, ours: Sequence[float], beside: str, theirs: Sequence[float], goal: Goal | None = None
) -> Row:
    """Return the row of repetitions that alternated: the first of `ours` ran beside the first of `theirs`.

    `name` is the benchmark's name, a colon, and what of it is measured. One of theirs may stand beside many of ours.
    """
    benchmark, _, what = name.partition(": ")
    beside_each = theirs if len(theirs) == len(ours) else [median(theirs)] * len(ours)
    ratio = [mine / other for mine, other in zip(ours, beside_each, strict=True)]
    return Row(benchmark, what, unit, spread(ours), beside, spread(theirs), spread(ratio), goal)


def spread(samples: Sequence[float]) -> Spread:
    """Return the median of `samples` with the lowest and the highest.

    >>> spread([3.0, 1.0, 2.0])
    Spread(median=2.0, low=1.0, high=3.0)
    """
    return Spread(median(samples), min(samples), max(samples))


def percentile(samples: Sequence[float], percent: float) -> float:
    """Return the smallest sample that `percent` of all samples do not exceed."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def print_table(header: str, rows: Iterable[Row]) -> None:
    """Print `header` and the rows as a table that lines up, on standard output."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("benchmark")
    table.add_column("measured")
    for title in ("ours", "unit", "beside", "theirs", "ratio", "goal"):
        table.add_column(title, justify="left" if title in ("unit", "beside") else "right")
    table.add_column("met")
    before = ""
    for each in rows:
        table.add_row(
            each.name if each.name != before else "",
            each.what,
            _shown(each.ours),
            each.unit,
            each.beside,
            _shown(each.theirs),
            _shown(each.ratio),
            str(each.goal or ""),
            {True: "met", False: "MISSED", None: ""}[each.met],
        )
        before = each.name
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _PLAIN_WIDTH
    console.print(header, markup=False)
    console.print(table)


def _shown(numbers: Spread) -> str:
    middle, low, high = (_short(number) for number in numbers)
    return middle if low == high else f"{middle} ({low}–{high})"


def _short(number: float) -> str:
    """Return three significant digits, whole numbers with their thousands parted.

    >>> _short(1234.5), _short(0.01234)
    ('1,234', '0.0123')
    """
    if abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}" if abs(number) >= 1e-4 or not number else f"{number:.1e}"
