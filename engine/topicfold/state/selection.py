"""Answers a label selector from the label index of a namespace, without looking at a topic.

With P(k,v) the topics that bear k=v, K(k) those that bear k, and U all: `k=a` is P(k,a), `k` is K(k), `k in (a,b)` a
union over values, `k>n` goes by binary digits (`integer_values`), and each negative requirement takes away what its
positive twin would find. Positives come first, the smallest first; U is touched only where there are none.

Source: Prometheus `tsdb/index` (postings algebra).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import assert_never

from pyroaring import BitMap

from topicfold.model.selector import (
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
from topicfold.state.label_index import LabelIndex
from topicfold.state.postings import Postings


def select(index: LabelIndex, universe: BitMap, selector: Selector) -> BitMap:
    """Return the topics of `universe` that `selector` matches; `index` must hold labels of no others.

    The set may be `universe` or one of the index's own: it must not be changed, and holds until the next fold.

    Cost: O(smallest positive) set steps, and a union over the values that `in` and `notin` name.

    >>> from topicfold.model.selector_text import parse_selector
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
    """Return the topics that fulfil every one of `positives`, of which there is at least one."""
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
    """Return the sets, none of them empty, whose union a requirement demands or, if it is negative, refuses."""
    match requirement:
        case Equals(key, value) | NotEquals(key, value):
            found = index.having(key, value)
        case Exists(key) | DoesNotExist(key):
            found = index.having_key(key)
        case In(key, values) | NotIn(key, values):
            return [each for each in (index.having(key, value) for value in values) if each is not None]
        case GreaterThan(key):
            found = Postings.around(index.having_above(key, requirement.bound))
        case LessThan(key):
            found = Postings.around(index.having_below(key, requirement.bound))
        case _:
            assert_never(requirement)
    return (found,) if found else ()
