"""All groups of watchers of one node, by what they watch and by the namespaces that it is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from topicfold.model.events import partition_of
from topicfold.runtime.watch_group import Group, Member, Subject
from topicfold.runtime.watch_index import WatchIndex
from topicfold.state.label_index import LabelIndex


class Groups:
    """Groups come with their first member and go with the last.

    `labels` gives the label index of a live namespace, by which queries are filed under what is rare.
    """

    def __init__(self, partitions: int, separator: str, labels: Callable[[str], LabelIndex | None]) -> None:
        self._partitions = partitions
        self._separator = separator
        self._labels = labels
        self._groups: dict[Subject, Group] = {}
        self._indexes: dict[str, WatchIndex] = {}

    def find(self, subject: Subject) -> Group | None:
        """Return the group of `subject`, None where nobody watches that."""
        return self._groups.get(subject)

    def index(self, namespace: str) -> WatchIndex | None:
        """Return the groups that watch a namespace, None for none."""
        return self._indexes.get(namespace)

    def partitions(self, subject: Subject) -> frozenset[int]:
        """Return the partitions in which the subject's namespaces lie."""
        return frozenset(partition_of(each, self._partitions) for each in subject.namespaces)

    def join(self, watcher: Member, number: int, positions: Mapping[int, int]) -> Group:
        """Make `watcher` a member of its subject's group; frames up to `number` are known to it, and `positions`."""
        subject = watcher.subject
        group = self._groups.get(subject)
        if group is None:
            group = self._groups[subject] = Group(subject, self.partitions(subject), positions)
            for namespace in subject.namespaces:
                index = self._indexes.get(namespace)
                if index is None:
                    index = self._indexes[namespace] = WatchIndex(self._separator)
                index.add(group, subject.query, self._labels(namespace))
        group.members[watcher] = number
        return group

    def leave(self, group: Group, watcher: Member) -> None:
        """Take `watcher` out of its group; nothing happens where it has left."""
        if group.members.pop(watcher, None) is None or group.members:
            return
        del self._groups[group.subject]
        for namespace in group.subject.namespaces:
            index = self._indexes[namespace]
            index.discard(group, group.subject.query)
            if not index:
                del self._indexes[namespace]

    def __iter__(self) -> Iterator[Group]:
        return iter(list(self._groups.values()))
