"""A look: one query at work in the tables of several namespaces, a slice at a time.

Each table is searched separately, and its result is kept; at the end, only tables that have changed since are searched
again. Otherwise a query over many namespaces would start over in each slice, and waste most of its work.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyroaring import BitMap

from topicfold.model.finding.query import TopicQuery
from topicfold.runtime.slices import IsLate
from topicfold.state.finding import find, prepare
from topicfold.state.topic_table import TopicTable


@dataclass(slots=True)
class Look:
    """What is known of `query`, the expression aside, in the tables that were looked at."""

    query: TopicQuery
    _prepared: set[TopicTable] = field(default_factory=set)
    _sets: dict[TopicTable, tuple[int, BitMap]] = field(default_factory=dict)

    def has_prepared(self, table: TopicTable) -> bool:
        """Return whether nothing is left to be made of a table."""
        return table in self._prepared

    def prepare(self, table: TopicTable, is_late: IsLate) -> bool:
        """Make what `found` would have to make at once; return whether nothing is left of it, and it is not late."""
        if not prepare(table, self.query, is_late):
            return False
        self._prepared.add(table)
        return not is_late()

    def found(self, table: TopicTable) -> BitMap:
        """Return the topics of a table that match, as `find` has it.

        They are not made again while the sum of the topics' hashes is the same, for then the table is, too.
        """
        made = self._sets.get(table)
        if made is None or made[0] != table.digest_sum:
            made = self._sets[table] = table.digest_sum, find(table, self.query)
        return made[1]

    def has_found(self, table: TopicTable) -> bool:
        """Return whether a table was gone through."""
        return table in self._sets
