"""`topicfold watch`: which topics match, and how that changes, a line for each change as it happens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, assert_never

import typer

from topicfold.cli.config import OutputFormat
from topicfold.cli.history import change_texts
from topicfold.cli.output import labels_text, value_text
from topicfold.cli.query_options import (
    NOTHING_YET,
    AllNamespaces,
    Match,
    Namespaces,
    Regex,
    Selector,
    SystemTopics,
    namespaces_to_follow,
)
from topicfold.cli.session import Session
from topicfold.cli.silence import telling_of_lost_log
from topicfold.cli.stdout_reader import ending_without_reader
from topicfold.cli.tables import lined_up
from topicfold.errors import Forbidden, InvalidRequest, TopicfoldError

if TYPE_CHECKING:
    from topicfold.client import Added, Deleted, Frame, Modified, Watch
    from topicfold.client import Match as FoundTopic
    from topicfold.client.history_answers import HistoryEntry

Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="CURSOR", help="Resume after this cursor, of a watch that covered these namespaces."
    ),
]
Initial = Annotated[bool, typer.Option("--initial/--no-initial", help="Start with the topics that match now.")]

_CURSOR_HINT = (
    "give the cursor that 'topicfold watch' ended with, or one of its -o json; without --since, it starts now"
)
_KIND_WIDTH = len("MODIFIED")
_HELD_BACK = 1_000
"""So many of the topics that match at the start are shown together at the most, sorted, their names lined up."""
_CHANGES_LOOKED_AT = 20


def watch(
    session: Session,
    selector: Selector = None,
    namespaces: Namespaces = None,
    all_namespaces: AllNamespaces = False,
    match: Match = None,
    regex: Regex = None,
    since: Since = None,
    initial: Initial = True,
    include_system_topic: SystemTopics = False,
) -> None:
    """Show the topics that match, then every change. Each line: time, what happened, topic, labels, and who did it.

    A change that left the labels alone is shown as 'topicfold history' shows it, to whoever may read that.

    It runs until interrupted, across restarts of servers, and then prints the cursor to resume from with --since. On
    stderr it reports when no server answers and when one does again; after ten seconds without a change it warns if the
    server cannot reach its log. -o json prints one object per line, each with a cursor, which is empty for the topics
    that match at the start. DELETED means that a topic no longer matches, because it was deleted or its labels changed,
    and shows the labels with which it matched.

    \b
    Examples:
      topicfold watch -l team=pay
      topicfold watch -l 'tier in (gold,silver)' -n 'acme/team-*' --match 'eu__**' --no-initial -o json
    """
    if since == "":
        raise InvalidRequest("--since is empty", hint=_CURSOR_HINT)
    follow(
        session,
        session.client.watch(
            selector,
            namespaces=namespaces_to_follow(session, namespaces, all_namespaces),
            match=match or None,
            regex=regex,
            with_system_topics=include_system_topic,
            since=since or "",
            initial=initial,
        ),
    )


def follow(session: Session, frames: Watch) -> None:
    """Print what a watch tells, until it is interrupted or nobody reads.

    Interrupted, or where there is no room for what it prints, it says from where to go on.

    Each change is either shown and behind the cursor that is said at the end, or neither.

    Raises:
        TopicfoldError: the server's refusal; where that is all there was, there is nothing to go on from.
        BrokenPipeError: nobody reads.
        OSError: it cannot be written.
    """
    from topicfold.client import Bookmark, Reset
    from topicfold.process.signals import interrupts_between_steps

    lines, has_begun, shown = Lines(), False, frames.cursor
    untold: set[str] = set()
    most = _HELD_BACK if session.output.format is OutputFormat.TABLE else 0
    held: list[Frame] = []
    try:
        with (
            interrupts_between_steps() as step,
            frames,
            ending_without_reader(frames.close),
            telling_of_lost_log(session) as hear,
        ):
            for frame in frames:
                hear()
                # Not within the step: an interrupt does not wait for the answer.
                otherwise = _changed_otherwise(session, frame, untold)
                with step():
                    if isinstance(frame, Bookmark) and frame.is_initial and not has_begun:
                        session.output.note(NOTHING_YET)
                    has_begun = True
                    if isinstance(frame, Reset):
                        held.clear()
                    held.append(frame)
                    if not frames.cursor and len(held) < most:
                        continue
                    lines.line_up(held)
                    for each in sorted(held, key=name_in):
                        session.output.show_event(frame_data(each), name_in(each), lines.text(each, otherwise))
                    held, shown, most = [], frames.cursor, 0
    except TopicfoldError:
        if has_begun:
            _say_where(session, shown)
        raise
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, OSError):
        _say_where(session, shown)
        raise


def _changed_otherwise(session: Session, frame: Frame, untold: set[str]) -> str:
    """Return what a change was that left the labels alone, "" where that is not for people, or not to be read.

    Of topics whose history is refused, which are `untold`, it is asked once: the server's audit has each refusal.
    """
    from topicfold.client import Modified

    if session.output.format is not OutputFormat.TABLE or not isinstance(frame, Modified):
        return ""
    if frame.topic.name in untold or label_changes(frame.old_labels, frame.topic.labels):
        return ""
    try:
        entry = _entry_of(session, frame.topic)
        if entry is None:
            # Another node than the one that told of it may lag behind.
            session.catch_up()
            entry = _entry_of(session, frame.topic)
        return ", ".join(change_texts(entry)) if entry else ""
    except Forbidden:
        untold.add(frame.topic.name)
    except TopicfoldError:
        pass
    return ""


def _entry_of(session: Session, topic: FoundTopic) -> HistoryEntry | None:
    """Return what made a version of a topic, as far as that is among its newest changes."""
    entries = session.client.history(topic.name, limit=_CHANGES_LOOKED_AT).entries
    return next((entry for entry in entries if entry.etag == topic.version), None)


def _say_where(session: Session, cursor: str) -> None:
    if cursor:
        session.output.note(f"go on with --since {cursor}")


class Lines:
    """Frames as lines for people; names line up, but for those that are far longer than others."""

    def __init__(self) -> None:
        self._name_width = 0

    def line_up(self, frames: Iterable[Frame]) -> None:
        """Make room for the names of frames that are shown together."""
        self._name_width = lined_up([self._name_width, *(len(name_in(frame)) for frame in frames)])

    def text(self, frame: Frame, otherwise: str = "") -> str:
        """Return what to show of a frame, "" for nothing; `otherwise` is what else changed where no label did."""
        from topicfold.client import Bookmark, Reset
        from topicfold.clock import wall_clock_ms
        from topicfold.text.rfc3339 import time_text

        kind = type(frame).__name__.upper().ljust(_KIND_WIDTH)
        match frame:
            case Bookmark():
                return ""
            case Reset():
                return f"{time_text(wall_clock_ms())}  {kind}  {frame.reason}"
        name, time = frame.topic.name, frame.time or time_text(wall_clock_ms())
        self.line_up([frame])
        what, who = _labels(frame, otherwise), f"by {', '.join(frame.actors)}" if frame.actors else ""
        return "  ".join(filter(None, (time, kind, name.ljust(self._name_width), what, who))).rstrip()


def name_in(frame: Frame) -> str:
    """Return the name of the topic that a frame tells of, "" of none."""
    from topicfold.client import Bookmark, Reset

    return "" if isinstance(frame, Bookmark | Reset) else frame.topic.name


def frame_data(frame: Frame) -> dict[str, Any]:
    """Return a frame as the REST API has it."""
    from topicfold.client import Added, Bookmark, Deleted, Modified, Reset

    head = {"type": type(frame).__name__.upper(), "cursor": frame.cursor}
    match frame:
        case Added() | Modified() | Deleted():
            old = {"old": {"labels": frame.old_labels}} if isinstance(frame, Modified) else {}
            return {**head, "topic": frame.topic, **old, "actors": frame.actors, "time": frame.time}
        case Bookmark():
            return {**head, "initial": frame.is_initial, "hash": frame.names_hash}
        case Reset():
            return {**head, "reason": frame.reason}
        case _:
            assert_never(frame)


def _labels(frame: Added | Modified | Deleted, otherwise: str) -> str:
    from topicfold.client import Modified

    if not isinstance(frame, Modified):
        return labels_text(frame.topic.labels)
    changed = label_changes(frame.old_labels, frame.topic.labels)
    return ", ".join(changed) or otherwise or "(labels as before)"


def label_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return what differs, by key.

    >>> label_changes({"tier": "gold", "old": "x"}, {"tier": "silver", "team": "pay"})
    ['old: x → –', 'team: – → pay', 'tier: gold → silver']
    >>> label_changes({"tier": "gold"}, {"tier": ""})
    ['tier: gold → ""']
    """
    keys = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    return [f"{key}: {value_text(old.get(key))} → {value_text(new.get(key))}" for key in keys]
