"""The grant index of a namespace: role → actions → the topics that grant exactly these actions to it.

What actions allow is not known here: the caller goes through a role's sets, which are few, however many topics there
are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from topicfold.model.records import NO_GRANTS, Grants
from topicfold.state.indexes.postings import Postings

Actions = Sequence[str]

Filing = tuple[str, Actions]
"""What topics are filed under: a role, and the actions that they grant to it."""

_NONE: Mapping[Actions, Postings] = {}
_LOOKED_AT = 512
"""How many members of postings are checked in a step."""


class GrantIndex:
    """Which topics grant what to whom.

    >>> index = GrantIndex()
    >>> index.replace(4, NO_GRANTS, {"ann": ("consume",), "bob": ("watch",)})
    >>> {actions: list(topics) for actions, topics in index.to("ann").items()}
    {('consume',): [4]}
    """

    __slots__ = ("_topics",)

    def __init__(self) -> None:
        self._topics: dict[str, dict[Actions, Postings]] = {}

    def replace(self, number: int, old: Grants, new: Grants) -> None:
        """Replace the `old` grants of topic `number` by `new` ones. Cost: O(grants of this topic)."""
        for role, actions in old.items():
            if new.get(role) != actions:
                self._discard(number, role, actions)
        for role, actions in new.items():
            if old.get(role) != actions:
                self._topics.setdefault(role, {}).setdefault(actions, Postings()).add(number)

    def to(self, role: str) -> Mapping[Actions, Postings]:
        """Return the topics with grants to `role`, by the actions granted; no set is empty. Not to be changed."""
        return self._topics.get(role, _NONE)

    def lists(self, number: int, grants: Grants) -> bool:
        """Return whether topic `number` is listed under each of its `grants`."""
        found = (self.to(role).get(actions) for role, actions in grants.items())
        return all(topics is not None and number in topics for topics in found)

    def misfiled(self, grants: Mapping[int, Grants]) -> Iterator[Filing | None]:
        """Check all lists step by step; yield those that are empty or list a topic that does not grant this.

        `grants` are the topics' grants by number. Yields None after every other step. The index may change between
        steps.
        """
        for role in list(self._topics):
            for actions in list(self.to(role)):
                start, topics = 0, self.to(role).get(actions)
                while topics is not None and (numbers := topics.part(start, _LOOKED_AT)):
                    if any(_of(grants, number, role) != actions for number in numbers):
                        yield role, actions
                        break
                    start = numbers[-1] + 1
                    yield None
                    topics = self.to(role).get(actions)
                else:
                    yield (role, actions) if topics is not None and not len(topics) else None

    def strangers(self, filing: Filing, grants: Mapping[int, Grants]) -> list[int] | None:
        """Return the topics that are listed there but do not grant this; None if there is no list. Cost: O(members)."""
        role, actions = filing
        topics = self.to(role).get(actions)
        return None if topics is None else [number for number in topics if _of(grants, number, role) != actions]

    def _discard(self, number: int, role: str, actions: Actions) -> None:
        """Remove `number` from a set; drop the set, and the role, if they are empty now."""
        topics = self._topics[role][actions]
        topics.discard(number)
        if not len(topics):
            del self._topics[role][actions]
            if not self._topics[role]:
                del self._topics[role]


def _of(grants: Mapping[int, Grants], number: int, role: str) -> Actions | None:
    return grants.get(number, NO_GRANTS).get(role)
