"""Verdicts in bulk: which of a topic's events are accepted, by the chain that their bases form.

An event is accepted if and only if its base is the topic's version. As long as no event loses, that is a comparison
of each event with its neighbour, done for all topics at once. Only topics with an event that lost are walked.

    topic a   base 0 id 1 · base 1 id 2                  all neighbours fit: both accepted
    topic b   base 0 id 3 · base 0 id 4 · base 3 id 5    the second does not: walked; 3 and 5 accepted
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topicfold.compaction.folding.spans import Bytes, Flags, Numbers, rows_at


@dataclass(frozen=True, slots=True)
class Chains:
    """Events grouped by topic and life of its namespace; each group is in the order of the log.

    `order` sorts events into groups; `starts` are the places in that order where groups begin; `group` is the number
    of the group at each place.
    """

    order: Numbers
    starts: Numbers
    group: Numbers

    def at(self, places: Numbers) -> Chains:
        """Return the chains with only these places, which must rise; the chains are renumbered."""
        return chains_of_groups(self.order[places], self.group[places])


def chains_of(topic: Numbers) -> Chains:
    """Return the chains of events that are in the order of the log, given the number of each event's topic."""
    order = np.argsort(topic, kind="stable")
    return chains_of_groups(order, topic[order])


def chains_of_groups(order: Numbers, marks: Numbers) -> Chains:
    """Return the chains of events sorted by `order`, one chain for each run of equal `marks`."""
    starts = np.flatnonzero(np.append(True, marks[1:] != marks[:-1])) if len(order) else order
    group = np.zeros(len(order), dtype=np.int64)
    group[starts[1:]] = 1
    return Chains(order, starts, np.cumsum(group))


def accepted(chains: Chains, ids: Bytes, bases: Bytes, versions: Bytes) -> Flags:
    """Return which events, in the chains' order, are accepted.

    `ids` and `bases` are the events', in the order of the log; `versions` has the version of each chain's topic before
    the chain.
    """
    ids, bases = rows_at(_pairs(ids), chains.order), rows_at(_pairs(bases), chains.order)
    current = np.empty_like(ids)
    current[1:] = ids[:-1]
    current[chains.starts] = _pairs(versions)
    fits: Flags = (bases == current).all(axis=1)
    contended = np.unique(chains.group[~fits])
    ends = np.append(chains.starts[1:], len(fits))
    for chain in contended.tolist():
        _walk(fits, ids, bases, current, chains.starts[chain], ends[chain])
    return fits


def last_up_to(chains: Chains, chosen: Flags) -> Numbers:
    """Return for each place the last chosen place in its chain up to and including it, −1 if there is none."""
    places = np.where(chosen, np.arange(len(chosen)), -1)
    last = np.maximum.accumulate(places) if len(places) else places
    found: Numbers = np.where(last >= chains.starts[chains.group], last, -1) if len(places) else places
    return found


def _walk(fits: Flags, ids: Bytes, bases: Bytes, current: Bytes, start: int, end: int) -> None:
    """Judge the events of one chain in turn."""
    version = current[start].tobytes()
    of_ids, of_bases = ids[start:end].tobytes(), bases[start:end].tobytes()
    for place in range(end - start):
        is_next = of_bases[place * 16 : place * 16 + 16] == version
        fits[start + place] = is_next
        if is_next:
            version = of_ids[place * 16 : place * 16 + 16]


def _pairs(ids: Bytes) -> np.ndarray:
    """Return each id as two numbers, which compare eight times faster than sixteen bytes."""
    return np.ascontiguousarray(ids).view(np.uint64).reshape(-1, 2)
