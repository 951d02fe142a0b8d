"""Grants in the window: those of a topic that has many are kept as what differs from a list that its events share.

A topic may have 12,000 grants, and events about it mostly change none of them, or one. Each event's own copies took
457 KB; so they take 3 KB where each event changes one, and next to nothing where it changes none.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from topicfold.model.records import Grants
from topicfold.state.change import TopicDelta, TopicRow

MANY = 32
"""Topics with no more grants than these are kept with the event."""

Actions = tuple[str, ...]
Changed = Mapping[str, Actions | None]


class KeptGrants(NamedTuple):
    """The grants of a topic after some event: a packed list, and what is otherwise by then; None where it is gone."""

    whole: bytes
    changed: Changed
    grants: Grants
    offset: int


class Around(NamedTuple):
    """The topic's grants before and after an event as they are kept, None where it has not many.

    `added_bytes` are those of the lists that no event before has.
    """

    before: KeptGrants | None
    after: KeptGrants | None
    added_bytes: int


class ManyGrants:
    """What topics with many grants had after the last event about them, in the order of the log, for one partition."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], KeptGrants] = {}

    def around(self, delta: TopicDelta) -> Around | None:
        """Return how the grants around the next event are kept, None where neither side has many.

        Cost: O(grants), where they are many.
        """
        before, after = _many(delta.before), _many(delta.after)
        if before is None and after is None:
            if self._last:
                self._last.pop((delta.namespace, delta.key), None)
            return None
        topic = delta.namespace, delta.key
        last = self._last.pop(topic, None)
        was = None if before is None else _kept(last, before, delta.offset)
        now = None if after is None else _kept(was, after, delta.offset)
        if now is not None:
            self._last[topic] = now
        added = {each.whole for each in (was, now) if each is not None} - {last.whole if last is not None else b""}
        return Around(was, now, sum(map(len, added)))

    def drop_below(self, oldest: int) -> None:
        """Forget topics about which no event from `oldest` on was. Cost: O(1), amortized."""
        last = self._last
        while last and last[next(iter(last))].offset < oldest:
            del last[next(iter(last))]


class ChangedGrants(Mapping[str, Actions]):
    """Grants as a list has them, but for some."""

    def __init__(self, whole: Grants, changed: Changed) -> None:
        self._whole = whole
        self._changed = changed

    def __getitem__(self, role: str) -> Actions:
        """Return what `role` may do."""
        actions = self._changed[role] if role in self._changed else self._whole[role]
        if actions is None:
            raise KeyError(role)
        return actions

    def __iter__(self) -> Iterator[str]:
        """Yield each role once."""
        changed = self._changed
        yield from (role for role in self._whole if role not in changed)
        yield from (role for role, actions in changed.items() if actions is not None)

    def __len__(self) -> int:
        """Return the number of roles. Cost: O(roles)."""
        return sum(1 for _ in self)


def _many(row: TopicRow | None) -> Grants | None:
    return row.grants if row is not None and len(row.grants) > MANY else None


def _kept(last: KeptGrants | None, grants: Grants, offset: int) -> KeptGrants:
    if last is not None:
        if last.grants is grants or last.grants == grants:
            return last._replace(grants=grants, offset=offset)
        roles = {role for role, _ in last.grants.items() ^ grants.items()}
        changed = {**last.changed} | {role: grants.get(role) for role in roles}
        if len(changed) ** 2 <= len(grants):
            return KeptGrants(last.whole, changed, grants, offset)
    return KeptGrants(marshal.dumps(dict(grants)), {}, grants, offset)
