"""One validator for each promise about watching, V1 to V11: what a history breaks of it, in words.

Pure functions of what a client received and of what the log says. Each is shown to find what it looks for by
`test_watch_validators`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.guarantees.watch_history import Frame, History, Positions, Segment, Stream, changes, segments
from tests.guarantees.watch_log import End, Row, Step, WatchedLog
from topicfold.model.topic_hash import topic_list_hash

GONE, FUTURE = 410, 504
MAY_REFUSE = (0, 404, GONE, 503, FUTURE)
"""What a watch may be refused with: no namespace, gone (V7), not ready, the future (V8)."""

Validator = Callable[[History, WatchedLog, int], Iterator[str]]
"""Takes a history, the log and the size of the window; yields what is wrong."""


def v1_ordered(history: History, log: WatchedLog, window: int) -> Iterator[str]:
    """No component of the cursor ever falls in a stream, each frame raises one."""
    for stream in history.streams:
        for segment in segments(stream):
            before = None if segment.reset or segment.items else segment.known
            for frame in segment.frames:
                after = frame.positions or {}
                if set(after) != history.partitions:
                    yield f"{frame.kind} says where {sorted(after)} are, not {sorted(history.partitions)}"
                elif before is not None and any(after[each] < before[each] for each in after):
                    yield f"from {before} back to {after}"
                elif before is not None and after == before:
                    yield f"{frame.kind} raises nothing above {before}"
                before = after


def v2_unique(history: History, log: WatchedLog, window: int) -> Iterator[str]:
    """An event never comes twice in one stream."""
    for stream in history.streams:
        seen: set[tuple[int, int]] = set()
        for frame in changes(stream.frames):
            place = _place(history, frame)
            if place in seen:
                yield f"{frame.kind} {frame.name} of {place} came twice"
            seen.add(place)


def v3_reliable(history: History, log: WatchedLog, window: int) -> Iterator[str]:
    """Between the start and the last cursor of a stream no event is missing that it should have brought."""
    for stream in history.streams:
        for segment in segments(stream):
            if segment.start is not None and segment.frames:
                last = segment.frames[-1].positions or {}
                yield from _missing(history, log, segment.start, last, segment.frames)


def v4_atomic(history: History, log: WatchedLog, window: int) -> Iterator[str]:
    """What one event did is one frame; the end of a namespace is a RESET and no frame."""
    for stream in history.streams:
        for frame in changes(stream.frames):
            partition, offset = _place(history, frame)
            step = _step(log, partition, offset)
            if not isinstance(step, Step) or step.name != frame.name:
                yield f"{frame.kind} {frame.name} stands for {step} at {partition}:{offset}"
        for segment in segments(stream):
            if segment.start is not None and segment.frames:
                last = segment.frames[-1].positions or {}
                yield from (f"went on over {end}" for end in _ends(history, log, segment.start, last))


def v5_resumable(history: History, log: WatchedLog, window: int) -> Iterator[str]:
    """A stream that goes on from a cursor brings exactly the rest, from whatever node."""
    for before, after in zip(history.streams, history.streams[1:], strict=False):
        last = before.last_positions()
        if after.since is None or last is None or after.since != last:
            continue
        first = next(segments(after))
        if first.reset is None and first.items:
            yield f"{len(first.items)} topics of a start state came after {last}"
        brought = {_place(history, frame) for frame in changes(after.frames)}
        known = {_place(history, frame) for frame in changes(before.frames)}
        yield from (f"{place} came again" for place in sorted(brought & known))
    yield from (f"refused with {each.refused}" for each in history.streams if each.refused not in MAY_REFUSE)


def v6_bookmark(history: History, log: WatchedLog, window: int) -> Iterator[str]:
    """A bookmark says that everything before it was sent, and its hash is that of the names that the client holds."""
    held: set[str] | None = None
    for stream in history.streams:
        if stream.since is None:
            held = None
        for segment in segments(stream):
            if segment.reset is not None:
                held = None
            if segment.items or (segment.frames and segment.frames[0].members.get("initial")):
                held = {item.name for item in segment.items}
            for place, frame in enumerate(segment.frames):
                if frame.is_change and held is not None:
                    (held.discard if frame.kind == "DELETED" else held.add)(frame.name)
                if frame.kind != "BOOKMARK" or segment.start is None:
                    continue
                yield from _missing(history, log, segment.start, frame.positions or {}, segment.frames[:place])
                told = frame.members.get("hash")
                if held is not None and told is not None and told != topic_list_hash(held):
                    yield f"hash {told} at {frame.positions}, but the client holds {sorted(held)}"


def v7_gone(history: History, log: WatchedLog, window: int) -> Iterator[str]:
    """A RESET comes if, and only if, the position is out of the window, unreadable, or a namespace has ended.

    It comes, too, where a topic was shown since that position that may be seen no more (V11).
    """
    for stream in history.streams:
        if stream.refused == GONE and not stream.is_unreadable:
            yield from _needless_reset(
                history, log, window, Segment(None, [], [], is_complete=False, known=stream.since)
            )
        parts = list(segments(stream))
        if stream.is_unreadable and parts[0].reset is None and stream.frames:
            yield "an unreadable position without a RESET"
        if stream.since is not None and stream.frames and parts[0].reset is None:
            gone = [each for each in history.partitions if stream.since[each] < stream.node_at[each] - window]
            yield from (f"{stream.since} is out of the window in partition {each}, without a RESET" for each in gone)
        for part in parts:
            if part.reset is None or (stream.is_unreadable and part is parts[0]):
                continue
            if part.start is None and part.known is None:
                continue
            yield from _needless_reset(history, log, window, part)


def v8_future(history: History, log: WatchedLog, window: int) -> Iterator[str]:
    """From beyond the end nothing old ever comes: what is new then, or the error `future`."""
    for stream in history.streams:
        since = stream.since
        if since is None or all(since[each] <= stream.node_at[each] for each in history.partitions):
            if stream.refused == FUTURE:
                yield f"{since} was called the future, at {stream.node_at}"
            continue
        never = any(since[each] > log.ends[each] for each in history.partitions)
        for frame in stream.frames:
            if frame.kind == "ERROR" and frame.members["problem"]["code"] == "future":
                continue
            if never:
                yield f"{frame.kind} came, though the log never reached {since}"
            elif frame.is_change and _place(history, frame)[1] < since[_place(history, frame)[0]]:
                yield f"{frame.kind} {frame.name} is older than {since}"


def v9_start_state(history: History, log: WatchedLog, window: int) -> Iterator[str]:
    """A start state is all that matches at its bookmark's position, each topic once; the tail goes on from there."""
    for stream in history.streams:
        for segment in segments(stream):
            if segment.start is None or not segment.frames[:1] or not segment.frames[0].members.get("initial"):
                continue
            names = [item.name for item in segment.items]
            yield from (f"{name} came twice" for name in sorted({each for each in names if names.count(each) > 1}))
            wanted = _matching(history, log, segment.start)
            yield from (f"{name} is missing at {segment.start}" for name in sorted(set(wanted) - set(names)))
            yield from (f"{name} does not match at {segment.start}" for name in sorted(set(names) - set(wanted)))
            for item in segment.items:
                labels = item.members["topic"]["labels"]
                if item.name in wanted and labels != wanted[item.name].labels:
                    yield f"{item.name} has {labels}, at {segment.start} it had {wanted[item.name].labels}"


def v10_isolated(history: History, log: WatchedLog, window: int) -> Iterator[str]:
    """What is kept for a client that does not read is bounded; once it reads it gets the rest (V3, V5)."""
    for stream in history.streams:
        if stream.most_held > stream.may_hold:
            yield f"{stream.most_held} bytes were kept for one client, at most {stream.may_hold} may be"


def v11_filtered(history: History, log: WatchedLog, window: int) -> Iterator[str]:
    """Only matching topics come that the client may see, as what they are to it, with nothing that it may not see."""
    for stream in history.streams:
        for frame in changes(stream.frames):
            step = _step(log, *_place(history, frame))
            if not isinstance(step, Step):
                yield f"{frame.kind} {frame.name} without an event"
                continue
            kind = history.asked.kind(step)
            row = step.before if frame.kind == "DELETED" else step.after
            if frame.kind != kind:
                yield f"{frame.kind} {frame.name} should be {kind}: {step}"
            elif row is None or frame.members["topic"]["labels"] != row.labels:
                yield f"{frame.kind} {frame.name} shows other labels than {row}"
            elif frame.kind == "MODIFIED" and step.before and frame.members["old"]["labels"] != step.before.labels:
                yield f"{frame.kind} {frame.name} shows other old labels than {step.before}"
            elif _was_hidden_for_good(history, log, stream, step):
                yield f"{frame.kind} {frame.name} tells of a topic that may be seen no more: {step}"


VALIDATORS: tuple[Validator, ...] = (
    v1_ordered, v2_unique, v3_reliable, v4_atomic, v5_resumable, v6_bookmark, v7_gone, v8_future, v9_start_state,
    v10_isolated, v11_filtered,
)  # fmt: skip


def violations(history: History, log: WatchedLog, window: int) -> list[str]:
    """Return what a history breaks, each with the promise that it breaks."""
    return [f"{each.__name__}: {said}" for each in VALIDATORS for said in each(history, log, window)]


def _place(history: History, frame: Frame) -> tuple[int, int]:
    """Return partition and offset of the event that a frame tells of, as its cursor has it."""
    partition = history.partition_of[frame.namespace]
    return partition, (frame.positions or {})[partition] - 1


def _step(log: WatchedLog, partition: int, offset: int) -> Step | End | None:
    return next((step for step in log.steps[partition] if step.offset == offset), None)


def _steps(log: WatchedLog, partition: int, start: Positions, end: Positions) -> Iterator[Step | End]:
    return (each for each in log.steps[partition] if start[partition] <= each.offset < end[partition])


def _missing(history: History, log: WatchedLog, start: Positions, end: Positions, frames: list[Frame]) -> Iterator[str]:
    """Yield where the changes among `frames` are not those that the log has between two positions."""
    for partition in history.partitions:
        wanted = [
            (step.offset, kind, step.name)
            for step in _steps(log, partition, start, end)
            if isinstance(step, Step) and (kind := history.asked.kind(step))
        ]
        told = [
            (_place(history, frame)[1], frame.kind, frame.name)
            for frame in changes(frames)
            if history.partition_of[frame.namespace] == partition
        ]
        if wanted != told:
            missing = [each for each in wanted if each not in told]
            yield f"partition {partition}, {start} to {end}: missing {missing}, told {told}"


def _ends(history: History, log: WatchedLog, start: Positions, end: Positions) -> list[End]:
    return [
        step
        for partition in history.partitions
        for step in _steps(log, partition, start, end)
        if isinstance(step, End)
        and step.namespace in history.asked.namespaces
        and (step.had_topics or step.namespace in history.asked.texts)
    ]


def _needless_reset(history: History, log: WatchedLog, window: int, part: Segment) -> Iterator[str]:
    """Yield what is wrong with a RESET, or a 410 in its place; one that was cut off may be as of the log's end."""
    known, start = part.known, part.start or log.ends
    if known is None:
        yield f"a RESET of a stream that went on from nothing: {part.reset}"
        return
    if any(known[each] < start[each] - window for each in history.partitions):
        return
    if not _ends(history, log, known, start) and not _has_hidden(history, log, known, start):
        yield f"a RESET inside the window, from {known} to {start}: {part.reset.members if part.reset else GONE}"


def _later(log: WatchedLog, partition: int, step: Step) -> list[Step]:
    steps = log.steps[partition]
    return [each for each in steps if isinstance(each, Step) and each.name == step.name and each.offset > step.offset]


def _has_hidden(history: History, log: WatchedLog, start: Positions, end: Positions) -> bool:
    """Return whether a topic that could be seen between two positions may not be later, or had other grants then."""
    asked = history.asked
    for partition in history.partitions:
        for step in _steps(log, partition, start, end):
            if not isinstance(step, Step) or step.namespace not in asked.namespaces:
                continue
            if not any(row is not None and asked.may_see(step.namespace, row) for row in (step.before, step.after)):
                continue
            for each in (step, *_later(log, partition, step)):
                if each.offset >= end[partition] or each.after is None:
                    continue
                if not asked.may_see(each.namespace, each.after):
                    return True
                if each is not step and each.before is not None and each.before.grants != each.after.grants:
                    return True
    return False


def _was_hidden_for_good(history: History, log: WatchedLog, stream: Stream, step: Step) -> bool:
    """Return whether a topic had become one that may not be seen when the stream began, and was no other meanwhile."""
    partition = history.partition_of[step.namespace]
    end = (stream.node_left_at or log.ends)[partition]
    if stream.since is None or step.offset >= stream.node_at[partition]:
        return False
    since = (each for each in log.steps[partition] if step.offset <= each.offset < end)
    all_of_it = [
        each for each in since
        if (each.name == step.name if isinstance(each, Step) else each.namespace == step.namespace)
    ]  # fmt: skip
    known = [each for each in all_of_it if each.offset < stream.node_at[partition]]
    rows = [each.after if isinstance(each, Step) else None for each in all_of_it[len(known) - 1 :]]
    return all(row is not None and not history.asked.may_see(step.namespace, row) for row in rows)


def _matching(history: History, log: WatchedLog, at: Positions) -> dict[str, Row]:
    matching: dict[str, Row] = {}
    for partition in history.partitions:
        namespaces = [each for each in history.asked.namespaces if history.partition_of[each] == partition]
        for name, row in log.at(partition, at[partition], namespaces).items():
            namespace = "/".join(name.partition("://")[2].split("/")[:2])
            if history.asked.shows(namespace, name, row):
                matching[name] = row
    return matching
