"""The tables of topics as they are folded now, for everything that reads, lists, finds or watches.

Also holds what is needed to go through a table in slices: cuts, and the names on which an expression was tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from topicfold.model.events import partition_of
from topicfold.model.namespaces import Namespaces
from topicfold.runtime.cut import Cuts
from topicfold.runtime.finding.tried_names import Outcomes
from topicfold.state.change import Change
from topicfold.state.fold import PartitionState
from topicfold.state.topic_table import TopicTable


class Tables:
    """Those of all live namespaces of one node."""

    def __init__(self, states: Mapping[int, PartitionState], partitions: int) -> None:
        self.cuts = Cuts()
        self.outcomes = Outcomes()
        self._states = states
        self._partitions = partitions

    def of(self, namespace: str) -> TopicTable | None:
        """Return the topics of a namespace, None where it is not live."""
        return self._states[partition_of(namespace, self._partitions)].topics.get(namespace)

    def live(self, namespaces: Namespaces) -> Iterator[tuple[str, TopicTable]]:
        """Yield those of `namespaces` that are live now, with their topics. The fold must not go on in between."""
        if namespaces.are_all:
            for state in self._states.values():
                yield from state.topics.items()
            return
        for namespace in namespaces.names:
            table = self.of(namespace)
            if table is not None:
                yield namespace, table
        if namespaces.patterns:
            yield from self._live_by_patterns(namespaces)

    def publish(self, partition: int, change: Change) -> None:
        """Have the cuts that are open keep what a record replaced; called by the reader for each. Cost: O(1)."""
        if change.effect is not None:
            self.cuts.publish(change.effect)

    def _live_by_patterns(self, namespaces: Namespaces) -> Iterator[tuple[str, TopicTable]]:
        """Yield those that only patterns mean. Cost: O(all namespaces of the tenants that are meant)."""
        for state in self._states.values():
            tenants = (state.names_of.get(each, ()) for each in namespaces.tenants)
            those = state.topics if namespaces.can_be_of_any_tenant else chain.from_iterable(tenants)
            for namespace in filter(namespaces.match, those):
                table = state.topics.get(namespace)
                if table is not None and namespace not in namespaces.names:
                    yield namespace, table
