"""Finding: a query against the indexes of one namespace.

>>> from topicfold.model.query import TopicQuery
>>> table = TopicTable(lambda schema, payload: None)
>>> find(table, TopicQuery())
BitMap([])
"""

from __future__ import annotations

from pyroaring import BitMap

from topicfold.model.query import TopicQuery
from topicfold.state.selection import select
from topicfold.state.topic_table import TopicTable


def find(table: TopicTable, query: TopicQuery) -> BitMap:
    """Return the topics that `query` means, without those whose end is decided.

    Only its regular expression is left to be tried on names, a few at a time: a number's name never changes.

    The set may be one of the indexes' own: it must not be changed, and holds until the next fold.

    Cost: set steps only, microseconds for a million topics.
    """
    found = select(table.index, table.live, query.selector)
    if query.patterns:
        matching = table.names.expand(query.patterns)
        found = matching if query.selector.is_empty else matching & found
    if table.ending:
        found = found - table.ending
    return found - table.system if table.system and not query.with_system_topics else found
