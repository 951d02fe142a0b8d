"""Answers a label selector from the label index of a namespace, without looking at topics.

Let P(k,v) be the topics with k=v, K(k) those with a label k, and U all topics. Then `k=a` is P(k,a), `k` is K(k),
`k in (a,b)` is a union over values, `k>n` goes by binary digits (`integer_values`), and each negative requirement
subtracts what its positive counterpart would find. Positive requirements come first, the smallest first; U is only used
if there are none.

Source: Prometheus `tsdb/index` (postings algebra).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import assert_never

from pyroaring import BitMap

from topicfold.model.finding.selector import (
    DoesNotExist,
    Equals,
    Exists,
    GreaterThan,
    In,
    LessThan,
    NotEquals,
    NotIn,
    Positive,
    Requirement,
    Selector,
)
from topicfold.state.indexes.label_index import LabelIndex
from topicfold.state.indexes.postings import Postings


def select(index: LabelIndex, universe: BitMap, selector: Selector) -> BitMap:
    """Return the topics of `universe` that `selector` matches; `index` must hold labels of no others.

    The set may be `universe` or belong to the index: it must not be changed, and is valid until the next fold.

    Cost: set operations in O(smallest positive requirement), and a union over the values that `in` and `notin` name.

    >>> from topicfold.model.finding.selector_text import parse_selector
    >>> index = LabelIndex()
    >>> _ = [index.replace(number, b"", {"tier": tier}) for number, tier in enumerate(("gold", "lead"))]
    >>> list(select(index, BitMap([0, 1, 2]), parse_selector("tier!=lead")))
    [0, 2]
    """
    positives = selector.positives
    found = _fulfilling_all(index, positives) if positives else universe
    refused = [each for requirement in selector.negatives for each in _named(index, requirement)]
    return found - Postings.union(refused) if refused and found else found


def _fulfilling_all(index: LabelIndex, positives: Sequence[Positive]) -> BitMap:
    """Return the topics that fulfil all of `positives`, at least one."""
    sets: list[tuple[int, Sequence[Postings]]] = []
    for requirement in positives:
        named = _named(index, requirement)
        if not named:
            return BitMap()
        sets.append((sum(map(len, named)), named))
    sets.sort(key=itemgetter(0))
    found = Postings.union(sets[0][1])
    for _, named in sets[1:]:
        if not found:
            return found
        found = found & Postings.union(named)
    return found


def _named(index: LabelIndex, requirement: Requirement) -> Sequence[Postings]:
    """Return the non-empty sets whose union a requirement demands or, if it is negative, excludes."""
    # Matched by position they took half as long again, and Python 3.11 kept a string of many a look at a class.
    match requirement:
        case Equals(key=key, value=value) | NotEquals(key=key, value=value):
            found = index.having(key, value)
        case Exists(key=key) | DoesNotExist(key=key):
            found = index.having_key(key)
        case In(key=key, values=values) | NotIn(key=key, values=values):
            return [each for each in (index.having(key, value) for value in values) if each is not None]
        case GreaterThan(key=key):
            found = Postings.around(index.having_above(key, requirement.bound))
        case LessThan(key=key):
            found = Postings.around(index.having_below(key, requirement.bound))
        case _:
            assert_never(requirement)
    return (found,) if found else ()
