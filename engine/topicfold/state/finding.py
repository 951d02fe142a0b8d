"""Finding: a query against the indexes of one namespace.

>>> from topicfold.model.query import TopicQuery
>>> table = TopicTable(lambda schema, payload: None)
>>> find(table, TopicQuery())
BitMap([])
"""

from __future__ import annotations

from collections.abc import Callable

from pyroaring import BitMap

from topicfold.model.query import TopicQuery
from topicfold.model.selector import GreaterThan, LessThan
from topicfold.state.selection import select
from topicfold.state.topic_table import TopicTable

_STEP = 512


def prepare(table: TopicTable, query: TopicQuery, is_late: Callable[[], bool]) -> bool:
    """Make what `find` would otherwise have to make at once, until it is late, and some at least.

    Returns whether nothing is left to be made; it then holds for the table's life, as long as some topic bears the keys
    that are compared with numbers. Cost: 3 µs a value of such a key, once.
    """
    for each in query.selector.positives:
        if isinstance(each, GreaterThan | LessThan):
            while not table.index.make_comparable(each.key, _STEP):
                if is_late():
                    return False
    return True


def find(table: TopicTable, query: TopicQuery) -> BitMap:
    """Return the topics that `query` means, without those whose end is decided.

    Only its regular expression is left to be tried on names, a few at a time: a number's name never changes.

    The set may be one of the indexes' own: it must not be changed, and holds until the next fold.

    Cost: set steps only, microseconds for a million topics, if it was prepared.
    """
    found = select(table.index, table.live, query.selector)
    if query.patterns:
        matching = table.names.expand(query.patterns)
        found = matching if query.selector.is_empty else matching & found
    if table.ending:
        found = found - table.ending
    return found - table.system if table.system and not query.with_system_topics else found
