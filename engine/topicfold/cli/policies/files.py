"""`topicfold policies`: policies of namespaces and topics, and labels, in files: written out, compared, and made so.

Each is changed by one update, on the condition that it is still as it was when it was compared.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli.command import REASON_OPTION, command, new_app
from topicfold.cli.completion import complete_namespaces
from topicfold.cli.config import OutputFormat
from topicfold.cli.exit_codes import ExitCode
from topicfold.cli.output import is_unicode
from topicfold.cli.progress import activity, progress
from topicfold.cli.query_options import PastTime, chosen_namespaces, namespaces_in_one_query
from topicfold.cli.question import ask, give_up, is_somebody_there
from topicfold.cli.same_server import server_flags
from topicfold.cli.session import Session
from topicfold.cli.steps import counted_by_kind, counted_together, made_so, show_steps, summed_up
from topicfold.cli.whole_file import write_whole
from topicfold.errors import Forbidden, InvalidRequest, NamespaceNotFound, TopicfoldError
from topicfold.process.collection import no_collection
from topicfold.text.counting import counted

if TYPE_CHECKING:
    from topicfold.cli.output import Output
    from topicfold.client.answers import Namespace
    from topicfold.client.applying import Applied
    from topicfold.client.desired import Desired, Step

app = new_app()

SAMPLE = 10
_NAMED = 3
"""So many namespaces are named, and more are counted."""
STDOUT = "-"

Namespaces = Annotated[
    list[str],
    typer.Argument(
        metavar="NAMESPACE…",
        help="One or several of tenant/namespace, or patterns such as 'acme/*'.",
        autocompletion=complete_namespaces,
    ),
]
# Text, as a Path forgets the slash of a directory.
Target = Annotated[str, typer.Option("--file", "-f", metavar="FILE|-", help="File to write; - is stdout.")]
Files = Annotated[
    list[Path],
    typer.Option(
        "--file",
        "-f",
        metavar="FILE|DIR|-",
        help="YAML or JSON files, folders of them (hidden ones are skipped), or - for stdin.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would change, and what the server would refuse; change nothing.")
]
Prune = Annotated[
    bool,
    typer.Option(
        "--prune",
        help="Remove labels and policies from topics that -l selects and no file names, in the namespaces they name. "
        "No topic is deleted.",
    ),
]
Selector = Annotated[
    str | None, typer.Option("--selector", "-l", metavar="SELECTOR", help="Label selector of the topics to prune.")
]
ConfirmCount = Annotated[
    int | None,
    typer.Option(
        "--confirm-count", metavar="N", help="Number of topics to prune, instead of confirming it at the prompt."
    ),
]


@command(app, "export")
def export(session: Session, namespaces: Namespaces, file: Target = STDOUT, at: PastTime = None) -> None:
    """Write namespaces to a file. Their properties and policies, and labels and policies of all their topics.

    It is YAML; with -o json it prints JSON on stdout, which 'diff' and 'apply' accept as well. Grants are not written:
    'topicfold namespaces permissions' shows them.

    With --at it writes all in full as it was then, so that applying the file undoes later changes.

    \b
    Examples:
      topicfold policies export public/default > policies.yaml
      topicfold policies export acme/pay acme/ship -f policies.yaml
      topicfold policies export 'acme/*' --at 2h -f before.yaml
    """
    from topicfold.client.desired_files import entries_of, write_lists

    if file.endswith("/"):
        raise InvalidRequest(f"-f {file} is a directory", hint=f"Name a file in it: -f {file}policies.yaml")
    with activity(session.is_progress_shown) as begin, no_collection():
        begin(f"asking the server for the topics of {', '.join(namespaces)}")
        places = namespaces_in_one_query(session, namespaces, is_all=False, by_name=at is not None)
        topics = session.client.find_topics(namespaces=places, with_system_topics=True, at=at).topics
        owners = _entries_of_namespaces(session, namespaces, at)
    lists = {"namespaces": owners, "topics": entries_of(topics, is_whole=at is not None)}
    names = [*(owner["name"] for owner in owners), *(topic.name for topic in topics)]
    if file != STDOUT:
        with activity(session.is_progress_shown) as begin:
            begin(f"writing {counted_by_kind(names)} to {file}")
            write_whole(Path(file), write_lists(lists).encode())
        session.output.note(f"wrote {counted_by_kind(names)} to {file}")
    elif session.output.format is OutputFormat.TABLE:
        sys.stdout.write(write_lists(lists, is_ascii=not is_unicode()))
    else:
        session.output.show({kind: [*entries] for kind, entries in lists.items()}, names, (), ())


def _entries_of_namespaces(session: Session, given: list[str], at: str | None) -> list[dict[str, Any]]:
    """Return what files say of namespaces, without those that did not exist then, or may not be read: this is told."""
    from topicfold.client.bulk import each_at_once
    from topicfold.client.desired_files import entry_of_namespace

    def ask(name: str) -> Namespace | None:
        try:
            return session.client.get_namespace_record(name, at=at)
        except NamespaceNotFound:
            if at is None:
                raise
        except Forbidden:
            session.output.note(f"left out namespace {name}: to read its policies needs read-policies on it")
        return None

    names = chosen_namespaces(session, given, is_all=False, by_name=True)
    found = [each for each in each_at_once("export", ask, names) if each is not None]
    return [entry_of_namespace(each) for each in sorted(found, key=lambda each: each.name)]


@command(app, "diff")
def diff(session: Session, file: Files) -> None:
    """Show where namespaces and topics differ from files. Field by field, old → new; exits with 1 if any differs.

    Fields are named as in the file and in 'topicfold history'. What would be removed is marked.

    \b
    Example:
      topicfold policies diff -f policies.yaml
    """
    desired, found = _compared(session, file)
    show_steps(session.output, found)
    differ = "differs" if len(found) == 1 else "differ"
    compared = counted_together(each.name for each in desired)
    session.output.note(f"{len(found):,} of {compared} {differ}{summed_up(found)}")
    if found:
        raise typer.Exit(ExitCode.FAILED)


@command(app, "apply", REASON_OPTION)
def apply(
    session: Session,
    file: Files,
    dry_run: DryRun = False,
    prune: Prune = False,
    selector: Selector = None,
    confirm_count: ConfirmCount = None,
) -> None:
    """Make namespaces and topics match files. One update for each that differs, namespaces first.

    Labels, properties, local and global policies that an entry leaves out stay as they are. Those that it names are
    replaced as a whole: 'labels: {team: pay}' means this label and no other. Missing topics are created, missing
    namespaces are not. After an interruption, run it again: what is finished no longer differs.

    \b
    A file:
      namespaces:
      - name: acme/pay
        policies: {retentionPolicies: {retentionTimeInMinutes: 1440, retentionSizeInMB: -1}}
      topics:
      - name: persistent://acme/pay/orders
        partitions: 12
        labels: {team: pay, tier: gold}
        policies: {local: {messageTTLInSeconds: 3600}}

    \b
    Examples:
      topicfold policies apply -f policies.yaml --dry-run
      topicfold policies apply -f policies/ --reason "quarterly review"
      topicfold policies apply -f policies.yaml --prune -l 'team=payments,tier notin (gold)'
    """
    from topicfold.cli.retention_warning import warning_of
    from topicfold.client.applying import apply_steps, try_steps
    from topicfold.client.desired import namespaces_of

    if prune != (selector is not None):
        raise InvalidRequest(
            "--prune needs a selector" if prune else "a selector is for --prune",
            hint="Give both, say --prune -l team=payments, or neither.",
        )
    desired, found = _compared(session, file)
    namespaces = namespaces_of(desired) if prune else []
    pruned = _pruning(session, desired, selector, namespaces) if selector is not None else []
    planned = [*found, *pruned]
    if pruned and not dry_run:
        _confirm(session.output, pruned, namespaces, confirm_count)
    reason = session.changes.get("reason") or "topicfold policies apply"
    outcomes = try_steps(session.client, planned) if dry_run else apply_steps(session.client, planned, reason)
    again = _again(session, file, selector, dry_run)
    outcome_of = _done(session, "try policies" if dry_run else "apply policies", planned, outcomes, again)
    problems = {name: each.problem for name, each in outcome_of.items()}
    changed, taken_off = ([step for step in some if not problems[step.name]] for some in (found, pruned))
    done = [*changed, *taken_off]
    refused = f"{len(planned) - len(done):,}"
    create, change, take_off = ("create", "change", "prune") if dry_run else ("created", "changed", "pruned")
    made = made_so(changed, create, change)
    made += f", {take_off} {_counted_in(taken_off, namespaces)}" if prune else ""
    would = f"would {made}{summed_up(done)}; {refused} would be refused"
    session.output.note(would if dry_run else f"{made}, {refused} failed")
    if warning := warning_of(done):
        session.output.note(warning)
    if taken := [each.taken for each in outcome_of.values() if each.taken]:
        session.output.note(_took_over(sorted(taken)))
    if len(done) < len(planned):
        told = sorted((name, problem) for name, problem in problems.items() if problem)
        lines = [problem if name in problem else f"{name}: {problem}" for name, problem in told]
        session.output.failure("\n".join(lines), f"once this is fixed: {again}")
        raise typer.Exit(ExitCode.PARTLY_FAILED)


def _compared(session: Session, files: Sequence[Path]) -> tuple[list[Desired], list[Step]]:
    """Return what files say, and what has to be done on the server; shows meanwhile where it is."""
    from topicfold.client.applying import records_of
    from topicfold.client.desired import steps
    from topicfold.client.desired_files import STDIN

    with activity(session.is_progress_shown and STDIN not in files) as begin, no_collection():
        begin(f"reading {', '.join(map(str, files))}")
        desired = _read(files)
        compared = counted_by_kind(each.name for each in desired)
        begin(f"asking the server for {compared}")
        there = records_of(session.client, desired)
        begin(f"comparing {compared}")
        return desired, list(steps(desired, there))


def _read(files: Sequence[Path]) -> list[Desired]:
    from topicfold.client.desired_files import HOW_FILES_LOOK, files_under, read_files

    desired = read_files(path for each in files for path in files_under(each))
    if not desired:
        raise InvalidRequest("no namespace or topic is named in these files", hint=HOW_FILES_LOOK)
    return desired


def _pruning(session: Session, desired: Sequence[Desired], selector: str, namespaces: Sequence[str]) -> list[Step]:
    from topicfold.client.bulk import topics_in
    from topicfold.client.desired import pruning
    from topicfold.client.find_calls import demands_nothing

    if demands_nothing(selector):
        raise InvalidRequest("--selector: an empty one would mean every topic", hint="Name a label, say team=payments.")
    return list(pruning(topics_in(session.client, namespaces, selector=selector), desired))


def _counted_in(pruned: Sequence[Step], namespaces: Sequence[str]) -> str:
    """Return how many topics are pruned, and where was looked for them."""
    more = len(namespaces) - _NAMED
    others = f" and {more:,} more" if more > 0 else ""
    return f"{counted(len(pruned), 'topic')} in {', '.join(namespaces[:_NAMED])}{others}"


def _confirm(output: Output, pruned: Sequence[Step], namespaces: Sequence[str], confirm_count: int | None) -> None:
    """Return if whoever runs this knows how many topics lose their labels and policies.

    Raises:
        InvalidRequest: `confirm_count` is another number, or is not given, and nobody can be asked.
        Exit: they typed another number, or pressed Ctrl-C.
    """
    if confirm_count is None:
        if not is_somebody_there():
            raise InvalidRequest(
                f"{_counted_in(pruned, namespaces)} would be pruned, and there is no terminal to confirm it on",
                hint=f"Look at --dry-run, then give --confirm-count {len(pruned)}.",
            )
        for step in pruned[:SAMPLE]:
            output.detail(f"  {step.name}")
        these = f"These {SAMPLE} and others" if len(pruned) > SAMPLE else "These"
        typed = ask(f"{these} lose their labels and policies. Type how many topics that are: ")
        if not typed.isdecimal() or int(typed) != len(pruned):
            give_up()
    elif confirm_count != len(pruned):
        raise InvalidRequest(
            f"not confirmed: {_counted_in(pruned, namespaces)} would be pruned; nothing was changed",
            hint="Look at --dry-run, then say that number.",
        )


def _took_over(taken: Sequence[str]) -> str:
    """Return which Kafka topics were there before."""
    more = len(taken) - SAMPLE
    named = ", ".join(taken[:SAMPLE]) + (f" and {more:,} more" if more > 0 else "")
    were, their = ("was", "its") if len(taken) == 1 else ("were", "their")
    return f"took over {counted(len(taken), 'Kafka topic')}, which {were} there before, with {their} messages: {named}"


def _done(
    session: Session, job: str, planned: Sequence[Step], outcomes: Iterable[Applied], again: str
) -> dict[str, Applied]:
    """Return what became of each step, by name; shows how far it is, then the steps that were done.

    Whatever ends it before is told with how much is left, and what to type `again`.
    """
    done: dict[str, Applied] = {}
    try:
        with progress(job, len(planned), session.is_progress_shown) as step:
            for outcome in outcomes:
                done[outcome.name] = outcome
                step()
    except (KeyboardInterrupt, TopicfoldError):
        known = f"{len(done):,} of {counted_together(each.name for each in planned)}"
        left = len(planned) - len(done)
        session.output.note(f"{job}: stopped; the outcome of {known} is known, {left:,} left. To continue: {again}")
        raise
    finally:
        problems = {name: each.problem for name, each in done.items()}
        show_steps(session.output, [step for step in planned if step.name in done], problems)
    return done


def _again(session: Session, files: Sequence[Path], selector: str | None, dry_run: bool) -> str:
    """Return what to type to apply the same files to the same server once more; a token is not repeated."""
    words = ["topicfold", "policies", "apply", *(word for each in files for word in ("-f", str(each)))]
    words += ["--dry-run"] if dry_run else []
    words += ["--prune", "-l", selector] if selector is not None else []
    words += ["--reason", reason] if (reason := session.changes.get("reason")) else []
    return shlex.join([*words, *server_flags(session.config)])
