"""A report on labels as a picture: who owns how much, by namespace, beside how many topics bear each label.

The only importer of matplotlib, which must be installed. Colours are Okabe and Ito's, which people who see colours
differently can tell apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicfold.cli.output import printable, value_text
from topicfold.cli.whole_file import write_whole
from topicfold.errors import InvalidRequest
from topicfold.model.label_report import LabelReport, Owned, share_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_OWNERS, MAX_KEYS, MAX_NAMESPACES = 16, 16, 7
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
_OTHERS = "#BBBBBB"
_INK, _FAINT = "#222222", "#E5E5E5"
_LONGEST = 28
_WIDTH, _FRAME, _ROW = 13, 1.6, 0.34
"""In inches; what is around the bars is as high for any number of them."""


def draw(report: LabelReport, path: Path, source: str) -> None:
    """Draw `report` into a file, whose name says in which format; `source` says where its numbers are from.

    What the file held before is left as it was where that fails.

    Raises:
        InvalidRequest: there is nothing to draw, or the file cannot be written.
    """
    figure, drawn = picture(report, source), BytesIO()
    # Letters that its font does not have are drawn as boxes, which is seen without a warning for each.
    with warnings.catch_warnings(action="ignore"):
        figure.savefig(drawn, dpi=144, format=path.suffix[1:].lower())
    write_whole(path, drawn.getvalue())


def picture(report: LabelReport, source: str) -> Figure:
    """Return the picture of `report`, to be written into a file.

    Raises:
        InvalidRequest: there is nothing to draw.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    if not report.keys:
        raise InvalidRequest("no topic has a label, so there is nothing to draw", hint="Leave --plot out.")
    owners, keys = _owners(report.owners), report.keys[:MAX_KEYS]
    rows = max(len(owners), len(keys))
    height = _FRAME + _ROW * rows
    figure = Figure(figsize=(_WIDTH, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    # The legend has a column of its own, where numbers that reach beyond their axes are not hidden by it.
    left, between, right = figure.subplots(1, 3, width_ratios=(3, 0.01, 2))
    series = _draw_owners(left, owners, report)
    between.set_axis_off()
    if len(series) > 1:
        legend_width, legend_height = _draw_legend(between, series)
        # So it takes no room from the bars.
        height = max(height, _FRAME + legend_height)
        figure.set_size_inches(_WIDTH + legend_width, height)
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    _draw_coverage(right, [each.key for each in keys], [each.share for each in keys])
    for axes in (left, right):
        # Bars are as thick on both sides.
        axes.set_ylim((height - _FRAME) / _ROW - 0.4, -0.6)
    figure.suptitle(
        f"topics: {report.topics:,}  ·  namespaces: {len(report.namespaces):,}  ·  from {source}",
        fontsize=10, color="#555555", x=0.01, ha="left",
    )  # fmt: skip
    return figure


def _owners(owners: Sequence[Owned]) -> list[Owned]:
    """Return as many bars as there is room for: what is beyond as one, and those without an owner last."""
    owned = [each for each in owners if each.value is not None]
    shown, beyond = owned[:MAX_OWNERS], owned[MAX_OWNERS:]
    if beyond:
        together: dict[str, int] = {}
        for each in beyond:
            for name, number in each.namespaces.items():
                together[name] = together.get(name, 0) + number
        shown.append(Owned(f"{len(beyond):,} others", sum(together.values()), together))
    return shown + [each for each in owners if each.value is None]


def _draw_owners(axes: Any, owners: Sequence[Owned], report: LabelReport) -> list[tuple[str, str]]:
    """Draw the bars; return whose each colour is, as names and colours."""
    namespaces = list(report.namespaces)[:MAX_NAMESPACES]
    places = range(len(owners))
    starts = [0] * len(owners)
    series: list[tuple[str, str, list[int]]] = [
        (name, color, [each.namespaces.get(name, 0) for each in owners])
        for name, color in zip(namespaces, _COLORS, strict=False)
    ]
    if len(report.namespaces) > len(namespaces):
        rest = [each.topics - sum(each.namespaces.get(name, 0) for name in namespaces) for each in owners]
        series.append((f"{len(report.namespaces) - len(namespaces):,} others", _OTHERS, rest))
    for _, color, widths in series:
        axes.barh(places, widths, left=starts, color=color, height=0.72, edgecolor="white", linewidth=0.6)
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    for place, each in zip(places, owners, strict=True):
        axes.annotate(
            f"{each.topics:,}  ({share_text(each.topics / report.topics)})", (each.topics, place),
            xytext=(5, 0), textcoords="offset points", va="center", fontsize=9, color=_INK,
        )  # fmt: skip
    by = _short(report.by)
    names = [f"(no {by})" if each.value is None else _short(value_text(each.value)) for each in owners]
    _finish(axes, f"Topics by {by}", "topics", names)
    axes.set_xlim(0, max((each.topics for each in owners), default=1) * 1.18)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    return [(name, color) for name, color, _ in series]


def _draw_legend(axes: Any, series: Sequence[tuple[str, str]]) -> tuple[float, float]:
    """Say which colour is whose, from the upper left of `axes` on; return how wide and how high that is, in inches."""
    from matplotlib.patches import Patch

    legend = axes.legend(
        [Patch(color=color) for _, color in series], [" "] * len(series), title="namespace", loc="upper left",
        bbox_to_anchor=(0, 1), fontsize=9, title_fontsize=9, alignment="left", borderaxespad=0, frameon=False,
    )  # fmt: skip
    # Matplotlib before 3.10 leaves out what is labelled `_…` when the legend is made.
    for text, (name, _) in zip(legend.get_texts(), series, strict=True):
        text.set_text(_short(name))
    box = legend.get_window_extent()
    return float(box.width / axes.figure.dpi), float(box.height / axes.figure.dpi)


def _draw_coverage(axes: Any, keys: Sequence[str], shares: Sequence[float]) -> None:
    places = range(len(keys))
    axes.barh(places, [1] * len(keys), color=_FAINT, height=0.72)
    axes.barh(places, shares, color=_COLORS[0], height=0.72)
    for place, share in zip(places, shares, strict=True):
        axes.annotate(
            share_text(share),
            (1, place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=_INK,
        )
    _finish(axes, "Topics that have the label", "share of topics", [_short(key) for key in keys])
    axes.set_xlim(0, 1.14)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])


def _finish(axes: Any, title: str, unit: str, names: Sequence[str]) -> None:
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold", color=_INK)
    axes.set_yticks(range(len(names)), names, fontsize=10)
    axes.set_xlabel(unit, fontsize=9, color="#555555")
    axes.tick_params(length=0, colors=_INK)
    axes.tick_params(axis="x", labelsize=9)
    axes.xaxis.grid(visible=True, color=_FAINT)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#BBBBBB")


def _short(name: str) -> str:
    """Return a name that leaves room for bars; no `$`, which would begin a formula, nor what SVG cannot hold."""
    name = printable(name)
    text = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    return text.replace("$", r"\$")
