"""Random queries and random changes, and who is to be sent what of them, by trying every query that names a label.

Each change gives a topic a label `n` that no other change gives, by which its frames are told apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from urllib.parse import urlencode

from tests.benchmarks.watch_writer import Write

TEAMS, REGIONS, OWNERS = 200, 5, 500
TIERS = ("gold", "silver", "bronze")

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RandomQuery:
    """Labels of which each must have one of some values, and labels that must not have a value."""

    wanted: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unwanted: tuple[tuple[str, str], ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Return whether a topic with these labels is meant."""
        return all(labels.get(key) in values for key, values in self.wanted) and all(
            labels.get(key) != value for key, value in self.unwanted
        )

    @property
    def selector(self) -> str:
        """It as a label selector."""
        wanted = [f"{key} in ({','.join(values)})" for key, values in self.wanted]
        return ",".join([*wanted, *(f"{key}!={value}" for key, value in self.unwanted)])

    def __str__(self) -> str:
        """Return it as a request has it."""
        return urlencode({"labelSelector": self.selector}) if self.selector else ""


EVERYTHING = RandomQuery()


def random_queries(count: int, everything: int, random: Random) -> list[RandomQuery]:
    """Return `count` queries; the first `everything` of them mean every topic, the others few."""
    queries = [EVERYTHING] * everything
    while len(queries) < count:
        team = ("team", (f"team-{random.randrange(TEAMS)}",))
        match random.randrange(5):
            case 0 | 1:
                owners = {f"owner-{random.randrange(OWNERS)}" for _ in range(random.choice((1, 1, 2, 3)))}
                queries.append(RandomQuery((("owner", tuple(sorted(owners))),)))
            case 2:
                queries.append(RandomQuery((team, ("tier", (random.choice(TIERS),)))))
            case 3:
                queries.append(RandomQuery((team, ("tier", TIERS[:2])), (("region", f"r{random.randrange(REGIONS)}"),)))
            case _:
                queries.append(RandomQuery((team,), (("tier", random.choice(TIERS)),)))
    return queries


def random_labels(number: str, random: Random) -> dict[str, str]:
    """Return labels for the change that is called `number`."""
    return {
        "team": f"team-{random.randrange(TEAMS)}",
        "tier": random.choice(TIERS),
        "region": f"r{random.randrange(REGIONS)}",
        "owner": f"owner-{random.randrange(OWNERS)}",
        "n": number,
    }


class Judge:
    """Knows which frames each watch is due, and of which change a frame tells."""

    def __init__(self, queries: Sequence[RandomQuery], topics: Sequence[Write]) -> None:
        """Take the query of each watch, and what the topics bear when the watches start."""
        self._queries = queries
        self._naming: dict[tuple[str, str], set[RandomQuery]] = {}
        for query in queries:
            for key, values in query.wanted[:1]:
                for value in values:
                    self._naming.setdefault((key, value), set()).add(query)
        self._bearing: dict[str, Labels] = dict(topics)
        self._after: dict[str, str] = {}

    def due(self, writes: Sequence[Write]) -> list[list[str]]:
        """Return for each watch the numbers of those of `writes` that it is sent a frame of, in order.

        Remembers what the topics bear then.
        """
        due: dict[RandomQuery, list[str]] = {query: [] for query in (EVERYTHING, *self._queries)}
        for topic, labels in writes:
            before = self._bearing[topic]
            self._after[before["n"]] = labels["n"]
            self._bearing[topic] = labels
            for query in {EVERYTHING}.union(
                *(self._naming.get(each, ()) for each in (*before.items(), *labels.items()))
            ):
                if query.matches(labels) or query.matches(before):
                    due[query].append(labels["n"])
        return [due[query] for query in self._queries]

    def number_of(self, line: bytes) -> str:
        """Return the number of the change that a frame tells of; a DELETED shows the labels from before it."""
        frame = json.loads(line)
        number: str = frame["topic"]["labels"]["n"]
        return self._after[number] if frame["type"] == "DELETED" else number
