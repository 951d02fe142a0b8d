"""The grant index of a namespace: role → actions → the topics that grant just these to it.

What actions allow is not known here: whoever asks goes through the few sets of a role, however many topics grant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from topicfold.model.records import NO_GRANTS, Grants
from topicfold.state.postings import Postings

Actions = Sequence[str]

Filing = tuple[str, Actions]
"""What topics are filed under: a role, and what they grant to it."""

_NONE: Mapping[Actions, Postings] = {}
_LOOKED_AT = 512
"""So many members of postings are looked at in a step."""


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
        """Give topic `number`, which had `old` grants, `new` ones instead. Cost: O(grants of this topic)."""
        for role, actions in old.items():
            if new.get(role) != actions:
                self._discard(number, role, actions)
        for role, actions in new.items():
            if old.get(role) != actions:
                self._topics.setdefault(role, {}).setdefault(actions, Postings()).add(number)

    def to(self, role: str) -> Mapping[Actions, Postings]:
        """Return the topics with grants to `role` by what these are; none of the sets is empty. Not to be changed."""
        return self._topics.get(role, _NONE)

    def lists(self, number: int, grants: Grants) -> bool:
        """Return whether topic `number` is listed under each of its `grants`."""
        found = (self.to(role).get(actions) for role, actions in grants.items())
        return all(topics is not None and number in topics for topics in found)

    def misfiled(self, grants: Mapping[int, Grants]) -> Iterator[Filing | None]:
        """Look step by step at all who are listed; yield under what somebody is who does not grant it, or nobody.

        `grants` are those of the topics by number. Yields None after the other steps; the index may change between two.
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
        """Return who is listed there and does not grant it, None where there is no list. Cost: O(members)."""
        role, actions = filing
        topics = self.to(role).get(actions)
        return None if topics is None else [number for number in topics if _of(grants, number, role) != actions]

    def _discard(self, number: int, role: str, actions: Actions) -> None:
        """Take `number` out of a set; forget the set, and the role, if they are empty now."""
        topics = self._topics[role][actions]
        topics.discard(number)
        if not len(topics):
            del self._topics[role][actions]
            if not self._topics[role]:
                del self._topics[role]


def _of(grants: Mapping[int, Grants], number: int, role: str) -> Actions | None:
    return grants.get(number, NO_GRANTS).get(role)
