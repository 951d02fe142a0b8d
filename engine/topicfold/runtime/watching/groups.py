"""All groups of watchers of one node, by what they watch and by the namespaces that it is in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from topicfold.model.namespaces import Namespaces
from topicfold.runtime.watching.group import Group, Member
from topicfold.runtime.watching.index import WatchIndex
from topicfold.runtime.watching.subject import Subject
from topicfold.state.indexes.label_index import LabelIndex

_MAX_KNOWN = 10_000


class Groups:
    """Groups come with their first member and go with the last.

    `labels` gives the label indexes of live namespaces, by which queries are filed under what is rare.
    """

    def __init__(self, partitions: int, separator: str, labels: Callable[[Namespaces], Iterable[LabelIndex]]) -> None:
        self._partitions = partitions
        self._separator = separator
        self._labels = labels
        self._groups: dict[Subject, Group] = {}
        self._named: dict[str, WatchIndex] = {}
        self._by_patterns: dict[Namespaces, WatchIndex] = {}
        self._known: dict[str, Sequence[WatchIndex]] = {}
        """What `indexes` has found for namespaces, by the patterns that are watched now."""

    def find(self, subject: Subject) -> Group | None:
        """Return the group of `subject`, None where nobody watches that."""
        return self._groups.get(subject)

    def indexes(self, namespace: str) -> Sequence[WatchIndex]:
        """Return the indexes with the groups that watch a namespace, none where nobody does."""
        named = self._named.get(namespace)
        if not self._by_patterns:
            return () if named is None else (named,)
        known = self._known.get(namespace)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = tuple(index for meant, index in self._by_patterns.items() if namespace in meant)
            self._known[namespace] = known
        return known if named is None else (named, *known)

    def partitions(self, subject: Subject) -> frozenset[int]:
        """Return the partitions in which the subject's namespaces lie."""
        return subject.namespaces.partitions(self._partitions)

    def join(self, watcher: Member, number: int, positions: Mapping[int, int]) -> Group:
        """Make `watcher` a member of its subject's group; frames up to `number` are known to it, and `positions`."""
        subject = watcher.subject
        group = self._groups.get(subject)
        if group is None:
            group = self._groups[subject] = Group(subject, self.partitions(subject), positions)
            self._file(group)
        group.members[watcher] = number
        return group

    def leave(self, group: Group, watcher: Member) -> None:
        """Take `watcher` out of its group; nothing happens where it has left."""
        if group.members.pop(watcher, None) is None or group.members:
            return
        del self._groups[group.subject]
        namespaces, query = group.subject.namespaces, group.subject.query
        if namespaces.patterns:
            index = self._by_patterns[namespaces]
            index.discard(group, query)
            if not index:
                del self._by_patterns[namespaces]
                self._known.clear()
            return
        for namespace in namespaces.names:
            index = self._named[namespace]
            index.discard(group, query)
            if not index:
                del self._named[namespace]

    def _file(self, group: Group) -> None:
        namespaces, query = group.subject.namespaces, group.subject.query
        if namespaces.patterns:
            index = self._by_patterns.get(namespaces)
            if index is None:
                index = self._by_patterns[namespaces] = WatchIndex(self._separator)
                self._known.clear()
            index.add(group, query, self._labels(namespaces))
            return
        for namespace in namespaces.names:
            index = self._named.get(namespace)
            if index is None:
                index = self._named[namespace] = WatchIndex(self._separator)
            index.add(group, query, self._labels(Namespaces((namespace,))))

    def __iter__(self) -> Iterator[Group]:
        return iter(list(self._groups.values()))
