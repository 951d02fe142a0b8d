"""`topicfold policies`: labels and policies of topics in files: written out, compared, and made so.

Each topic is changed by one update, on the condition that it is still as it was when it was compared.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from topicfold.cli.command import CREATION_OPTIONS, command, new_app
from topicfold.cli.exit_codes import ExitCode
from topicfold.cli.progress import progress
from topicfold.cli.session import Session
from topicfold.errors import InvalidRequest
from topicfold.model.labels import parse_pairs
from topicfold.model.names import parse_topic

if TYPE_CHECKING:
    from topicfold.client.applying import Applied
    from topicfold.client.desired import Desired, Step

app = new_app()

SAMPLE = 10

Namespaces = Annotated[list[str], typer.Argument(metavar="NAMESPACE…", help="tenant/namespace, one or several.")]
Target = Annotated[Path | None, typer.Option("--file", "-f", metavar="FILE", help="Write here instead of stdout.")]
Files = Annotated[
    list[Path], typer.Option("--file", "-f", metavar="FILE|DIR", help="YAML or JSON files, or folders of them.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, do nothing.")]
Prune = Annotated[
    bool,
    typer.Option(
        "--prune", help="Take labels and policies off topics that -l selects and no file names. No topic is deleted."
    ),
]
Selector = Annotated[
    str | None, typer.Option("--selector", "-l", metavar="K=V,K=V", help="Labels of the topics to prune.")
]
ConfirmCount = Annotated[
    int | None, typer.Option("--confirm-count", metavar="N", help="How many topics will be pruned: no question then.")
]


@command(app, "export")
def export(session: Session, namespaces: Namespaces, file: Target = None) -> None:
    """Write topics to a file. Labels, properties and policies of all topics of some namespaces, as YAML.

    \b
    Examples:
      topicfold policies export public/default > policies.yaml
      topicfold policies export acme/pay acme/ship -f policies.yaml
    """
    from topicfold.client.desired_files import write_topics

    text = write_topics(session.client.find_topics(namespaces).topics)
    if file is None:
        sys.stdout.write(text)
    else:
        _write(file, text)
        session.output.note(f"wrote {file}")


@command(app, "diff")
def diff(session: Session, file: Files) -> None:
    """Show where topics differ from files. Field by field, old → new; exit code 1 if any does.

    \b
    Example:
      topicfold policies diff -f policies.yaml
    """
    from topicfold.client.applying import topics_of
    from topicfold.client.desired import steps

    desired = _read(file)
    found = list(steps(desired, topics_of(session.client, desired)))
    _show(session, found)
    session.output.note(f"{_topics(len(found))} of {len(desired)} differ")
    if found:
        raise typer.Exit(ExitCode.FAILED)


@command(app, "apply", CREATION_OPTIONS)
def apply(
    session: Session,
    file: Files,
    dry_run: DryRun = False,
    prune: Prune = False,
    selector: Selector = None,
    confirm_count: ConfirmCount = None,
) -> None:
    """Make topics what files say. One update a topic, for as many as differ.

    What an entry leaves out of labels, properties, local and global policies stays as it is. What it names is replaced
    whole: 'labels: {team: pay}' means this label and no other. A topic that is missing is made. Run it again after an
    interruption: what is done already does not differ any more.

    \b
    Examples:
      topicfold policies apply -f policies.yaml --dry-run
      topicfold policies apply -f policies/ --reason "quarterly review"
      topicfold policies apply -f policies.yaml --prune -l team=payments
    """
    from topicfold.client.applying import topics_of
    from topicfold.client.desired import steps

    if prune != (selector is not None):
        raise InvalidRequest(
            "--prune needs a selector" if prune else "a selector is for --prune",
            hint="Give both, say --prune -l team=payments, or neither.",
        )
    desired = _read(file)
    found = list(steps(desired, topics_of(session.client, desired)))
    pruned = _pruning(session, desired, selector) if selector is not None else []
    _show(session, [*found, *pruned])
    if dry_run:
        session.output.note(f"would change {_topics(len(found))}, prune {len(pruned)}")
        return
    if pruned:
        _confirm(session, pruned, confirm_count)
    _apply(session, [*found, *pruned])


def _read(files: Sequence[Path]) -> list[Desired]:
    from topicfold.client.desired_files import files_under, read_files

    desired = read_files(path for each in files for path in files_under(each))
    if not desired:
        raise InvalidRequest("no topic is named in these files", hint="topicfold policies export shows how they look.")
    return desired


def _pruning(session: Session, desired: Sequence[Desired], selector: str) -> list[Step]:
    from topicfold.client.desired import pruning

    labels = parse_pairs([selector], "--selector")
    if not labels:
        raise InvalidRequest("--selector: an empty one would mean every topic", hint="Name a label, say team=payments.")
    namespaces = sorted({parse_topic(each.name).namespace for each in desired})
    return list(pruning(session.client.find_topics(namespaces, labels=labels).topics, desired))


def _confirm(session: Session, pruned: Sequence[Step], confirm_count: int | None) -> None:
    """Return if whoever runs this knows how many topics lose their labels and policies.

    Raises:
        InvalidRequest: they said another number, or nobody can be asked.
    """
    if confirm_count is None:
        if not sys.stdin.isatty():
            raise InvalidRequest(
                f"{_topics(len(pruned))} would be pruned, and nobody is there to ask",
                hint=f"Look at --dry-run, then give --confirm-count {len(pruned)}.",
            )
        for step in pruned[:SAMPLE]:
            sys.stderr.write(f"  {step.topic}\n")
        sys.stderr.write(f"These {SAMPLE} and others" if len(pruned) > SAMPLE else "These")
        sys.stderr.write(" lose their labels and policies. Type how many topics that are: ")
        sys.stderr.flush()
        typed = sys.stdin.readline().strip()
        confirm_count = int(typed) if typed.isdecimal() else -1
    if confirm_count != len(pruned):
        raise InvalidRequest(
            f"not confirmed: {_topics(len(pruned))} would be pruned; nothing was changed",
            hint="Look at --dry-run, then say that number.",
        )


def _apply(session: Session, found: Sequence[Step]) -> None:
    from topicfold.client.applying import apply_steps

    is_shown = session.config["progress"] and not session.output.is_quiet
    outcomes: list[Applied] = []
    reason = session.changes.get("reason")
    try:
        with progress("apply policies", len(found), is_shown) as step:
            for outcome in apply_steps(session.client, found, reason or "topicfold policies apply"):
                outcomes.append(outcome)
                step()
    except KeyboardInterrupt:
        session.output.note(f"interrupted after {_topics(len(outcomes))}; run it again, it goes on from there")
        raise
    failed = [outcome for outcome in outcomes if outcome.problem]
    for outcome in sorted(failed, key=lambda each: each.topic):
        session.output.failure(f"{outcome.topic}: {outcome.problem}", "")
    session.output.note(f"changed {_topics(len(outcomes) - len(failed))}, {len(failed)} failed")
    if failed:
        raise typer.Exit(ExitCode.PARTLY_FAILED)


def _show(session: Session, found: Sequence[Step]) -> None:
    data = [
        {
            "topic": step.topic,
            "new": step.etag is None,
            "problem": step.problem,
            "differences": [{"field": each.field, "old": each.old, "new": each.new} for each in step.differences],
        }
        for step in found
    ]
    session.output.show(data, [step.topic for step in found], ("TOPIC", "FIELD", "OLD → NEW"), list(_rows(found)))


def _rows(found: Sequence[Step]) -> Iterator[tuple[str, str, str]]:
    from topicfold.cli.output import value_text

    for step in found:
        for number, each in enumerate(step.differences):
            change = str(each.new) if not each.field else f"{value_text(each.old)} → {value_text(each.new)}"
            yield step.topic if number == 0 else "", each.field or "(topic)", change


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text)
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be written: {error.strerror}") from None


def _topics(count: int) -> str:
    return f"{count} topic{'' if count == 1 else 's'}"
