"""The rest: what the window has for a subject after some positions, in parts, made once for all who ask the same.

When a node goes away, all its watchers come to another one at once, and most have the same cursors.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from time import monotonic
from typing import NamedTuple

from topicfold.model.names import local_of_key
from topicfold.model.records import NO_GRANTS
from topicfold.runtime.slices import SLICE_SECONDS
from topicfold.runtime.watching.reset import NAMESPACE_ENDED, OTHER_RIGHTS, Reset
from topicfold.runtime.watching.subject import Subject, borne
from topicfold.runtime.watching.window import Window
from topicfold.state.change import TopicDelta
from topicfold.state.fold import PartitionState

PART = 64
"""Events looked at for one part, at most: a millisecond's work. Parts end at its multiples, wherever one comes from, or
where that millisecond is over: an expression may have to be tried on each name; or where `MAX_PART_BYTES` are."""
MAX_PART_BYTES = 64 * 1024
"""After so much of it a part takes no more: what is written at once is kept for a client that does not read."""
MAX_PARTS = 512
"""Parts that are kept, be there nothing in them."""
MAX_KEPT_BYTES = 10_000_000
"""Of frames in all of them."""

Positions = Mapping[int, int]


class Part(NamedTuple):
    """Frames, and the positions that they come to.

    `said` are the positions of the last frame's cursor, None where there is no frame. `reset`: nothing goes on from
    here, for a namespace has ended, or what follows may not be seen any more.
    """

    frames: tuple[bytes, ...]
    positions: Positions
    said: Positions | None
    reset: Reset | None

    @property
    def size_bytes(self) -> int:
        """How long its frames are together."""
        return sum(map(len, self.frames))


class Rest:
    """Makes parts, and keeps the last of them. `cursor` returns the cursor of positions for a subject."""

    def __init__(
        self, window: Window, states: Mapping[int, PartitionState], cursor: Callable[[Subject, Positions], str]
    ) -> None:
        self._window = window
        self._states = states
        self._cursor = cursor
        self._parts: OrderedDict[object, Part] = OrderedDict()
        self._kept_bytes = 0

    def after(self, subject: Subject, positions: Positions) -> Part:
        """Return the next part after `positions`, none of which may be below the window's floor.

        It comes up to what is folded, or to the next multiple of `PART` in some partition, or ends where a namespace
        does, or time is up, or it has `MAX_PART_BYTES`. Cost: O(`PART` frames), or nothing.
        """
        if not subject.tells_former_lives and (ended := self._ended(subject, positions)) is not None:
            is_named = ended in subject.namespaces.names
            return Part((), positions, None, Reset.of_end(ended) if is_named else NAMESPACE_ENDED)
        # Kept, it would be of no use to anybody, amid the memory of a crowd that has long left.
        if all(self._states[each].position == position for each, position in positions.items()):
            return Part((), positions, None, None)
        whole = subject, tuple(sorted(positions.items()))
        for_now = whole, tuple([self._states[partition].position for partition in sorted(positions)])
        part = self._parts.get(whole) or self._parts.get(for_now)
        if part is None:
            part, is_whole = self._made(subject, positions)
            self._keep(whole if is_whole and subject.viewer is None else for_now, part)
        return part

    def _keep(self, key: object, part: Part) -> None:
        self._parts[key] = part
        self._kept_bytes += part.size_bytes
        while len(self._parts) > MAX_PARTS or self._kept_bytes > MAX_KEPT_BYTES:
            _, oldest = self._parts.popitem(last=False)
            self._kept_bytes -= oldest.size_bytes

    def _ended(self, subject: Subject, after: Positions) -> str | None:
        """Return a namespace of the subject that has ended after these positions, None where none has."""
        ends = (self._window.ended(partition, start, subject.namespaces) for partition, start in after.items())
        return next(filter(None, ends), None)

    def _made(self, subject: Subject, after: Positions) -> tuple[Part, bool]:
        """Return the part, and whether it is the same whatever comes."""
        positions = dict(after)
        frames: list[bytes] = []
        said: Positions | None = None
        size = 0
        until = monotonic() + SLICE_SECONDS
        for partition in sorted(positions):
            folded = self._states[partition].position
            end = (positions[partition] // PART + 1) * PART
            start, last = positions[partition], min(end, folded)
            for effect, audit in self._window.between(partition, start, last, subject.namespaces):
                positions[partition] = effect.offset + 1
                if isinstance(effect, TopicDelta):
                    if self._is_hidden_now(subject, partition, effect):
                        return Part(tuple(frames), positions, said, OTHER_RIGHTS), False
                    kind = subject.kind_of(effect, borne(effect))
                    if kind is not None:
                        cursor = self._cursor(subject, positions)
                        frames.append(subject.encoding.change(kind, effect, audit, cursor))
                        said = positions.copy()
                        size += len(frames[-1])
                    if size >= MAX_PART_BYTES or (subject.query.regex and monotonic() > until):
                        return Part(tuple(frames), positions, said, None), True
                elif subject.is_ended_by(effect):
                    return Part(tuple(frames), positions, said, Reset.of_end(effect.namespace)), True
            positions[partition] = last
            if end <= folded:
                return Part(tuple(frames), positions, said, None), True
        return Part(tuple(frames), positions, said, None), False

    def _is_hidden_now(self, subject: Subject, partition: int, delta: TopicDelta) -> bool:
        """Return whether a topic that could be seen before a change of it, or after, may not be seen today.

        Labels are not asked, so that nobody learns from this which there were. Whoever sees single topics sees one that
        is gone as long as its grants are as they were then.
        """
        namespace, key = delta.namespace, delta.key
        if subject.may_see(namespace, NO_GRANTS):
            return False
        could_before, could_after = (
            row is not None and subject.may_see(namespace, row.grants) for row in (delta.before, delta.after)
        )
        if not (could_before or could_after) or not subject.query.matches_name(local_of_key(key)):
            return False
        table = self._states[partition].topics.get(namespace)
        number = None if table is None else table.numbers.get(key)
        row = None if table is None or number is None else table.shown(number)
        if row is not None:
            return not subject.may_see(namespace, row.grants)
        return self._window.has_other_grants(partition, namespace, key, delta.offset + could_after)
