"""The picture of a label report: what hides what, and that names stand in it as they are, whatever they hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from tests.full_disk import no_room
from topicfold.cli.label_plot import MAX_NAMESPACES, MAX_OWNERS, draw, picture
from topicfold.errors import InvalidRequest
from topicfold.model.label_report import count_labels, label_report

NAMESPACES = tuple(f"acme/{name}" for name in ("pay", "web", "crm", "erp", "ops", "lab", "adm", "old", "new"))
FORMULA, ESCAPED = r"$\x$", r"\$\x\$"


def drawn(owners: Sequence[str], namespaces: Sequence[str], by: str = "team") -> Figure:
    """Return the picture of one topic for each owner in each namespace, laid out as it is written to a file."""
    counts = count_labels((place, {by: owner}) for place in namespaces for owner in owners)
    figure = picture(label_report(counts, by), "a test")
    figure.draw_without_rendering()
    return figure


def legend_of(figure: Figure) -> Legend | None:
    return next((legend for axes in figure.axes if (legend := axes.get_legend())), None)


def legend_texts(figure: Figure) -> list[str]:
    legend = legend_of(figure)
    return [] if legend is None else [each.get_text() for each in legend.get_texts()]


@pytest.mark.parametrize("namespaces", [2, MAX_NAMESPACES, len(NAMESPACES)])
@pytest.mark.parametrize("owners", [1, 3, 3 * MAX_OWNERS])
@pytest.mark.parametrize("name", ["team", "m" * 25])
def test_the_legend_hides_nothing(name: str, owners: int, namespaces: int) -> None:
    figure = drawn([f"{number}{name}" for number in range(owners)], NAMESPACES[:namespaces], by=name)
    left, _, right = figure.axes
    legend = legend_of(figure)
    assert legend is not None
    box = legend.get_window_extent()
    shown = [*left.patches, *left.texts, *left.get_xticklabels(), *right.get_yticklabels(), *right.patches]
    assert not [each for each in shown if box.overlaps(each.get_window_extent())]
    page = figure.bbox
    assert (page.x0 < box.x0, box.x1 < page.x1, page.y0 < box.y0, box.y1 < page.y1) == (True,) * 4


@pytest.mark.parametrize("owners", [1, 3, 6])
def test_there_is_room_for_as_many_bars_as_there_are(owners: int) -> None:
    figure = drawn([f"o{number}" for number in range(owners)], ["a/b"])
    assert [axes.get_ylim() for axes in figure.axes[::2]] == [pytest.approx((owners - 0.4, -0.6))] * 2


def test_the_legend_takes_no_room_from_the_bars() -> None:
    names = [f"{number}{'m' * 40}" for number in range(2)]
    with_legend, without = (drawn(names, places) for places in ([f"{name}/x" for name in names], ["a/b"]))
    bars = [figure.axes[0].get_window_extent().width / figure.dpi for figure in (with_legend, without)]
    assert bars[0] == pytest.approx(bars[1], abs=0.5)


def test_every_series_is_in_the_legend_also_one_that_begins_with_an_underscore() -> None:
    assert legend_texts(drawn(["ann"], ["_a/_b", "c/d"])) == ["_a/_b", "c/d"]


def test_namespaces_beyond_the_colours_are_one_series() -> None:
    assert legend_texts(drawn(["ann"], NAMESPACES)) == [*sorted(NAMESPACES)[:MAX_NAMESPACES], "2 others"]


def test_one_series_has_no_legend() -> None:
    assert legend_of(drawn(["ann"], ["_a/_b"])) is None


def test_what_would_be_a_formula_is_drawn_as_it_is() -> None:
    figure = drawn([FORMULA], [f"a/{FORMULA}", "a/b"], by=FORMULA)
    left, _, right = figure.axes
    names = [*left.get_yticklabels(), *right.get_yticklabels()]
    assert [each.get_text() for each in names] == [ESCAPED, ESCAPED]
    assert left.get_title(loc="left") == f"Topics by {ESCAPED}"
    assert legend_texts(figure) == [f"a/{ESCAPED}", "a/b"]


def test_so_is_the_key_of_those_who_do_not_have_it() -> None:
    counts = count_labels([("a/b", {"team": "pay"})])
    left, *_ = picture(label_report(counts, FORMULA), "a test").axes
    assert [each.get_text() for each in left.get_yticklabels()] == [f"(no {ESCAPED})"]


def test_what_no_file_could_hold_is_drawn_escaped() -> None:
    left, *_ = drawn(["\x1b[31mred"], ["a/b"]).axes
    assert [each.get_text() for each in left.get_yticklabels()] == [r"\x1b[31mred"]


def test_a_long_key_leaves_room_for_bars() -> None:
    counts = count_labels([("a/b", {"team": "pay"})])
    left, *_ = picture(label_report(counts, "k" * 200), "a test").axes
    assert len(left.get_yticklabels()[0].get_text()) < 40
    assert len(left.get_title(loc="left")) < 40


def test_where_there_is_no_room_the_picture_before_is_left(tmp_path: Path) -> None:
    report = label_report(count_labels([("acme/pay", {"team": "pay"})]), "team")
    (tmp_path / "labels.png").write_bytes(b"before")
    with pytest.raises(InvalidRequest, match="cannot be written: File too large"), no_room():
        draw(report, tmp_path / "labels.png", "a test")
    assert (tmp_path / "labels.png").read_bytes() == b"before"


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    report = label_report(count_labels([("acme/pay", {"team": "pay"})]), "team")
    (tmp_path / "labels.png").mkdir()
    with pytest.raises(InvalidRequest, match="cannot be written: Is a directory"):
        draw(report, tmp_path / "labels.png", "a test")
