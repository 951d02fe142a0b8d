"""`topicfold history` and `rollback`, and those of namespaces and tenants: who changed what and why; and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli.arguments import Namespace, Tenant, Topic
from topicfold.cli.completion import complete_versions
from topicfold.cli.output import value_text
from topicfold.cli.question import Yes, is_somebody_there, require_yes
from topicfold.cli.session import Session
from topicfold.model.names import is_topic, parse_namespace, parse_topic
from topicfold.text.counting import counted

if TYPE_CHECKING:
    from topicfold.client import Written
    from topicfold.client.call import Call, ChangeOptions
    from topicfold.client.history_answers import HistoryEntry, HistoryPage

Limit = Annotated[int, typer.Option("--limit", min=1, metavar="N", help="Maximum number of changes to show.")]
To = Annotated[
    str,
    typer.Option(
        "--to", metavar="VERSION", help="A VERSION of the history, or an ETag.", autocompletion=complete_versions
    ),
]

_HEADER = ("VERSION", "WHEN", "WHO", "WHY", "CHANGE")
_PAGE = 1_000
_STEP = ("pending",)
_STEPS = {"end": "its Kafka topic is to be deleted"}
"""What the table says of a step that is left to do in Kafka; of others, what the change is says it."""
_MAX_LOOKED_AT = 10_000


@dataclass(frozen=True, slots=True)
class _Subject:
    """What can be rolled back: as it was given, its full name, its history, what no rollback changes or brings back."""

    given: str
    name: str
    ask: Callable[..., HistoryPage]
    roll_back: Callable[[str, str, ChangeOptions], Call[Written]]
    stays: str
    lost: str


def history(session: Session, topic: Topic, limit: Limit = 50) -> None:
    """Show who changed what of a topic. Newest first; also for deleted topics.

    It goes back to the creation of the topic's namespace, across deletions and re-creations of the topic.

    \b
    Examples:
      topicfold history orders
      topicfold history orders --limit 500 -o json
    """
    _show(session, _of_topic(session, topic).ask, limit)


def namespace_history(session: Session, namespace: Namespace, limit: Limit = 50) -> None:
    """Show who changed what of a namespace. Newest first; also for deleted namespaces.

    These are changes of its properties, policies and grants; each of its topics has a history of its own.

    \b
    Examples:
      topicfold namespaces history acme/pay
      topicfold namespaces history acme/pay --limit 500 -o json
    """
    _show(session, _of_namespace(session, namespace).ask, limit)


def tenant_history(session: Session, tenant: Tenant, limit: Limit = 50) -> None:
    """Show who changed what of a tenant. Newest first; also for deleted tenants.

    These are changes of its roles, clusters and grants; each of its namespaces has a history of its own.

    \b
    Example:
      topicfold tenants history acme
    """
    _show(session, partial(session.client.tenant_history, tenant), limit)


def _show(session: Session, ask: Callable[..., HistoryPage], limit: int) -> None:
    entries, gap, has_more = _entries(ask, limit)
    rows = [row for entry in entries for row in _rows(entry)]
    session.output.show(entries, [entry.etag for entry in entries], _HEADER, rows)
    if gap:
        session.output.warning(
            f"earlier changes are not known: {gap}",
            "where a snapshot has it, start the server with --snapshot DIR",
        )
    if has_more:
        session.output.note(f"there are older changes; --limit {limit * 2} shows more")


def rollback(session: Session, topic: Topic, to: To, yes: Yes = False) -> None:
    """Restore an earlier version of a topic. It restores labels, properties and policies; partitions and grants stay.

    On a terminal it shows what it undoes, and asks.

    \b
    Examples:
      topicfold rollback orders --to 1234
      topicfold rollback orders --to 1234 --yes --reason "wrong tier"
    """
    _roll_back(session, _of_topic(session, topic), to, yes)


def namespace_rollback(session: Session, namespace: Namespace, to: To, yes: Yes = False) -> None:
    """Restore an earlier version of a namespace. It restores properties and policies; grants stay, and so do topics.

    \b
    Examples:
      topicfold namespaces rollback acme/pay --to 1234
      topicfold namespaces rollback acme/pay --to 1234 --yes --reason "wrong retention"
    """
    _roll_back(session, _of_namespace(session, namespace), to, yes)


def _roll_back(session: Session, subject: _Subject, to: str, yes: bool) -> None:
    # It imports the table of policies, which other commands would import with this one.
    from topicfold.cli.retention_warning import warning_after

    changes = session.changes
    if yes or changes.get("if_match") or not is_somebody_there():
        follows = warning_after(session, subject.name)
    else:
        changes["if_match"] = _confirm(session, subject, to)
        follows = _told_before
    written = session.client.perform(subject.roll_back(subject.given, to, changes))
    session.show_change("rolled back", subject.name, written, f"it was as in version {to} before", follows)


def _told_before() -> str:
    """Return what is left to say after a change that was asked about."""
    return ""


def _of_topic(session: Session, topic: str) -> _Subject:
    from topicfold.client import calls

    name, ask = str(parse_topic(topic)), partial(session.client.history, topic)
    return _Subject(topic, name, ask, calls.roll_back, "partitions and grants", "message")


def _of_namespace(session: Session, namespace: str) -> _Subject:
    from topicfold.client import calls

    name, ask = parse_namespace(namespace), partial(session.client.namespace_history, namespace)
    return _Subject(namespace, name, ask, calls.roll_back_namespace, "its topics and grants", "topic")


def _entries(ask: Callable[..., HistoryPage], limit: int) -> tuple[list[HistoryEntry], str, bool]:
    """Return up to `limit` changes, why older ones cannot be told if that is so, and whether there are some."""
    entries: list[HistoryEntry] = []
    before = ""
    while True:
        page = ask(limit=min(limit - len(entries), _PAGE), before=before)
        entries += page.entries
        before = page.before
        if not before or len(entries) >= limit:
            return entries, page.gap, bool(before)


def _confirm(session: Session, subject: _Subject, to: str) -> str | None:
    """Show what going back would change, and warn of what Kafka then deletes; return the ETag once somebody said yes.

    It is of what it would be done to; None where the history can be told no more.

    Raises:
        Exit: they said no.
        TopicfoldError: the server would refuse it.
    """
    from topicfold.cli.retention_warning import warning_before
    from topicfold.client.call import tried

    session.client.perform(tried(subject.roll_back(subject.given, to, {})))
    entries, _, _ = _entries(subject.ask, _MAX_LOOKED_AT)
    undone = _after(entries, to)
    version = entries[len(undone)].offset if undone else to
    if any(entry.kind == "deleted" for entry in undone):
        for text in _restored(session, subject.name, version):
            session.output.detail(f"  {text}")
        question = (
            f"This makes {subject.given} as in version {to}, of before it was deleted; {subject.stays} stay, and no "
            f"{subject.lost} comes back."
        )
    else:
        for line in _lines(undone):
            session.output.detail(line)
        count = f"{counted(len(undone), 'change')} of" if undone else "whatever changed on"
        question = f"This undoes {count} {subject.given} since version {to}; {subject.stays} stay."
    if warning := warning_before(session, subject.name, version, undone):
        session.output.warning(warning)
    require_yes(question)
    return entries[0].etag if entries else None


def _restored(session: Session, name: str, version: int | str) -> Iterator[str]:
    """Yield what a topic or a namespace that was made anew gets back of an earlier life, a text for each member."""
    from topicfold.model.differences import part_differences

    client, has_labels = session.client, is_topic(name)
    now = client.get_topic(name) if has_labels else client.get_namespace_record(name)
    past = client.get_topic_at(name, version) if has_labels else client.get_namespace_record(name, at=version)
    for member in (*(("labels",) if has_labels else ()), "properties", "policies"):
        for each in part_differences((member,), getattr(now, member), getattr(past, member)):
            yield _difference_text(*each.shown)


def _lines(entries: Sequence[HistoryEntry]) -> Iterator[str]:
    """Yield the lines that tell changes, what belongs to one version under it."""
    width = max((len(str(entry.offset)) for entry in entries), default=0)
    for entry in entries:
        for version, *others in _rows(entry):
            yield f"  {'  '.join((version.ljust(width), *filter(None, others)))}"


def _after(entries: Sequence[HistoryEntry], to: str) -> Sequence[HistoryEntry]:
    """Return the changes that are newer than the version called `to`; none where it is not among them."""
    for number, entry in enumerate(entries):
        if to.strip('"') in (entry.etag, entry.etag.partition(".")[0], str(entry.offset)):
            return entries[:number]
    return ()


def _rows(entry: HistoryEntry) -> Iterator[tuple[str, ...]]:
    """Yield a row for each member that changed; who, when and why stand in the first.

    The time is as exact as the log has it, and one word: so it may be copied, and --at then means this change, too.
    """
    who = ", ".join(dict.fromkeys(each.actor for each in entry.made_by))
    why = "; ".join(dict.fromkeys(each.reason for each in entry.made_by if each.reason))
    head = (str(entry.offset), entry.time or "–", who, why)
    for text in change_texts(entry) or [entry.kind]:
        yield (*head, text)
        head = ("", "", "", "")


def change_texts(entry: HistoryEntry) -> list[str]:
    """Return what a change was, a text for each member; of one that nobody is to be told of, none."""
    if entry.changes is None:
        return [f"{entry.kind} (what it was cannot be read)"]
    changed = [
        _STEPS.get(each.new, "") if each.path == _STEP else _difference_text(each.path, each.old, each.new)
        for each in entry.changes
    ]
    changed = list(filter(None, changed))
    return changed if entry.kind == "changed" else [entry.kind, *changed]


def _difference_text(path: Sequence[str], old: Any, new: Any) -> str:
    return f"{'.'.join(path)}: {value_text(old)} → {value_text(new)}"
