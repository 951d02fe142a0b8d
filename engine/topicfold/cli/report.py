"""`topicfold report`: what labels are used for, from a server or a snapshot, as tables and as a picture."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from topicfold.cli.command import command, new_app
from topicfold.cli.completion import complete_namespaces
from topicfold.cli.config import OutputFormat, require_none_asked
from topicfold.cli.output import is_unicode, value_text
from topicfold.cli.progress import activity
from topicfold.cli.query_options import AllNamespaces, require_all_or_some
from topicfold.cli.same_server import on_the_same_server
from topicfold.cli.session import Session
from topicfold.errors import InvalidRequest
from topicfold.model.label_report import LabelCounts, LabelReport, Owned, Typo, label_report, share_text
from topicfold.model.namespaces import Namespaces, parse_namespaces
from topicfold.text.counting import counted
from topicfold.text.rfc3339 import moment_of

if TYPE_CHECKING:
    from topicfold.client import Client

app = new_app()

Places = Annotated[
    list[str] | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAMESPACE",
        help="tenant/namespace, or a pattern such as 'acme/*'; repeatable (default: all).",
        autocompletion=complete_namespaces,
    ),
]
Snapshot = Annotated[
    Path | None,
    typer.Option(
        "--snapshot", metavar="DIR", file_okay=False, help="Count in the snapshot in this directory, without a server."
    ),
]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="KEY", help="The label that says who owns a topic (default 'team' or 'owner')."),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Also draw it, into a file that ends in .png or .svg.")
]
Top = Annotated[int, typer.Option("--top", min=1, metavar="N", help="Maximum number of rows in each table.")]

_PLOTS = (".png", ".svg")
_PLACES = 5
_BAR = 20
_EIGHTHS = "▏▎▍▌▋▊▉█"


@command(app, "labels")
def labels(
    session: Session,
    snapshot: Snapshot = None,
    namespaces: Places = None,
    all_namespaces: AllNamespaces = False,
    by: By = None,
    plot: Plot = None,
    top: Top = 20,
) -> None:
    """Show how labels are used. Who owns how many topics, how many have each label, and which look misspelt.

    It covers all namespaces that you may see, with or without -A, or those that -n names. It asks a running server or,
    with --snapshot, reads the tables that 'topicfold compact' writes, without a server.

    \b
    Examples:
      topicfold report labels
      topicfold report labels -n 'acme/*' --by team
      topicfold report labels --snapshot /mnt/snapshot --plot labels.png
      topicfold report labels -o json
    """
    require_all_or_some(namespaces, all_namespaces)
    if plot is not None:
        _require_drawable(plot)
    if snapshot is not None:
        require_none_asked(session.config, "Leave it out, or --snapshot, which is read instead.")
    places = None if namespaces is None else parse_namespaces(namespaces)
    with activity(session.is_progress_shown) as begin:
        begin("counting labels")
        counts, source = _from_snapshot(session, snapshot, places) if snapshot else _from_server(session.client, places)
    if not snapshot:
        session.warn_of_unreadable()
    report = label_report(counts, by)
    _show(session, report, top)
    if not snapshot:
        _tell_unowned(session, report, namespaces)
    if by is not None and by not in {each.key for each in report.keys}:
        session.output.note(f"no topic has the label {by}")
    if plot is not None:
        from topicfold.cli.label_plot import draw

        draw(report, plot, source)
        session.output.note(f"drew {plot}")


def _require_drawable(plot: Path) -> None:
    """Return if a picture can be drawn into that file.

    Raises:
        InvalidRequest: its name does not say in which format, or there is no directory for it.
        ExtraMissing: what draws it is not installed.
    """
    if plot.suffix.lower() not in _PLOTS:
        raise InvalidRequest(f"--plot {plot}: what to draw is not clear", hint="Name a file that ends in .png or .svg.")
    if not plot.parent.is_dir():
        raise InvalidRequest(f"--plot {plot}: there is no directory {plot.parent}", hint="Create it, or name another.")
    if find_spec("matplotlib") is None:
        from topicfold.client.errors import ExtraMissing

        raise ExtraMissing("--plot", "report")


def _from_server(client: Client, namespaces: Namespaces | None) -> tuple[LabelCounts, str]:
    """Return the counts over what one may list there, and in words where they are from."""
    from topicfold.client.bulk import all_namespaces, label_counts

    places = all_namespaces(client) if namespaces is None else namespaces.texts
    return label_counts(client, places), f"a server, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


def _from_snapshot(session: Session, root: Path, namespaces: Namespaces | None) -> tuple[LabelCounts, str]:
    """Return the counts over the newest commit that is whole, and in words where they are from; tell of newer ones.

    Raises:
        ExtraMissing, ExtraBroken: what reads it is not installed, or cannot be imported.
        WrongSnapshot, SnapshotDamaged: there is no commit that is whole.
    """
    try:
        from topicfold.snapshot.label_counts import newest_label_counts
    except ImportError as error:
        from topicfold.client.extras import import_failure

        raise import_failure(error, "reading a snapshot", "snapshot") from error
    commit, counts, damaged = newest_label_counts(root, namespaces)
    written = moment_of(commit.time_ms)
    source = f"commit {commit.sequence} of a snapshot, {written:%Y-%m-%d %H:%M} UTC"
    for each in damaged:
        session.output.warning(f"passed over: {each.reason}. {each.hint}")
    if not session.output.is_for_machines:
        session.output.note(f"counted in {source}")
    return counts, source


def _show(session: Session, report: LabelReport, top: int) -> None:
    output = session.output
    if output.is_for_machines:
        output.show_data(report)
        return
    output.note(f"{counted(report.topics, 'topic')} in {counted(len(report.namespaces), 'namespace')}")
    keys = [
        (each.key, f"{each.topics:,}", f"{share_text(each.share):>4} {_bar(each.share)}", f"{each.values:,}")
        for each in report.keys[:top]
    ]
    names = [each.key for each in report.keys]
    output.show(None, names, ("LABEL", "TOPICS", "COVERAGE", "VALUES"), keys)
    if output.format is OutputFormat.NAME:
        return
    _tell_rest(session, len(keys), len(report.keys))
    owners = [
        (
            f"(no {report.by})" if each.value is None else value_text(each.value),
            f"{each.topics:,}",
            f"{share_text(each.topics / report.topics):>4} {_bar(each.topics / report.topics)}",
            _places(each),
        )
        for place, each in enumerate(report.owners)
        if place < top or each.value is None
    ]
    _section(session, (report.by.upper(), "TOPICS", "SHARE", "IN"), owners, len(report.owners))
    typos = [
        (_label(each.key, each.value), f"{each.topics:,}", _meant(each), f"{each.meant_topics:,}")
        for each in report.typos[:top]
    ]
    _section(session, ("LOOKS MISSPELT", "TOPICS", "MEANT?", "TOPICS"), typos, len(report.typos))


def _section(session: Session, header: Sequence[str], rows: Sequence[Sequence[str]], count: int) -> None:
    if rows:
        sys.stdout.write("\n")
        session.output.show(None, (), header, rows)
    _tell_rest(session, len(rows), count)


def _tell_rest(session: Session, shown: int, count: int) -> None:
    if count > shown:
        session.output.note(f"and {count - shown:,} more; --top {count} shows all")


def _tell_unowned(session: Session, report: LabelReport, namespaces: Sequence[str] | None) -> None:
    """Say beneath the tables what to type to see the topics that nobody owns."""
    is_table = session.output.format is OutputFormat.TABLE
    if is_table and len(report.owners) > 1 and report.owners[-1].value is None:
        where = " -A" if namespaces is None else "".join(f" -n {shlex.quote(each)}" for each in namespaces)
        lists = f"topicfold topics list{where} -l {shlex.quote(f'!{report.by}')} lists those without {report.by}"
        session.output.note(on_the_same_server(lists, session.config))


def _places(owned: Owned) -> str:
    """Return in which namespaces, those with the most first, somebody has how many topics."""
    shown = [f"{name} {number:,}" for name, number in owned.namespaces.items()]
    beyond = [f"{len(shown) - _PLACES:,} more"] if len(shown) > _PLACES else []
    return ", ".join([*shown[:_PLACES], *beyond])


def _meant(typo: Typo) -> str:
    return typo.meant if typo.value is None else _label(typo.key, typo.meant)


def _label(key: str, value: str | None) -> str:
    return key if value is None else f"{key}={value}"


def _bar(share: float) -> str:
    """Return a bar as wide as `share` of `_BAR` columns, in eighths of one where the terminal can show them."""
    if not is_unicode():
        return "#" * round(share * _BAR)
    eighths = max(round(share * _BAR * 8), 1) if share else 0
    full, rest = divmod(eighths, 8)
    return _EIGHTHS[-1] * full + (_EIGHTHS[rest - 1] if rest else "")
