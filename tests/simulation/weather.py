"""What befalls appends, deliveries and queries of the fake log in one run, drawn from the run's seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import NamedTuple


class Fate(NamedTuple):
    """What becomes of one append: after how many seconds copies of it land, and when the sender hears a failure.

    `fails_after` None means that it hears nothing, as on success.
    """

    lands: tuple[float, ...]
    fails_after: float | None


@dataclass(frozen=True, slots=True)
class Weather:
    """Shares (0 to 1) of appends and queries that go wrong, and typical times.

    A lost acknowledgement is an append that lands and yet fails; a late one lands long after its sender gave up. A
    silent loss is one of which nobody ever hears.
    """

    lost: float = 0.0
    silent: float = 0.0
    lost_ack: float = 0.0
    late: float = 0.0
    duplicated: float = 0.0
    query_fails: float = 0.0
    query_slow: float = 0.0
    append_seconds: float = 0.002
    query_seconds: float = 0.002
    late_seconds: float = 5.0
    deliver_seconds: float = 0.002
    batch: int = 16

    def fate(self, rng: Random) -> Fate:
        """Draw what becomes of one append; times differ, so appends overtake one another."""
        roll = rng.random()
        soon = rng.uniform(0.1, 2.0) * self.append_seconds
        heard = rng.uniform(0.1, 3.0) * self.append_seconds
        if roll < self.lost:
            return Fate((), None if rng.random() < self.silent else heard)
        roll -= self.lost
        if roll < self.lost_ack:
            return Fate((soon,), heard)
        roll -= self.lost_ack
        if roll < self.late:
            return Fate((rng.expovariate(1 / self.late_seconds),), None if rng.random() < self.silent else heard)
        roll -= self.late
        if roll < self.duplicated:
            copies = [rng.expovariate(1 / (rng.choice((0.001, 0.01, 1.0)))) for _ in range(rng.randint(1, 4))]
            return Fate((soon, *copies), None)
        return Fate((soon,), None)


CALM = Weather()


def drawn(rng: Random) -> Weather:
    """Draw the weather of a run: from fair, where nodes only compete, to storms."""
    violence = rng.choice((0.0, 0.3, 1.0, 1.0, 2.0))
    return Weather(
        lost=violence * rng.uniform(0, 0.1),
        silent=rng.choice((0.0, 0.3, 1.0)),
        lost_ack=violence * rng.uniform(0, 0.15),
        late=violence * rng.uniform(0, 0.12),
        duplicated=violence * rng.uniform(0, 0.12),
        query_fails=violence * rng.choice((0.0, 0.0, 0.05, 0.2)),
        query_slow=violence * rng.choice((0.0, 0.05, 0.2)),
        append_seconds=rng.choice((0.001, 0.005, 0.02, 0.05)),
        query_seconds=rng.choice((0.001, 0.02, 0.1)),
        late_seconds=rng.choice((0.05, 0.5, 5.0)),
        deliver_seconds=rng.choice((0.001, 0.005, 0.02)),
        batch=rng.choice((1, 3, 16)),
    )
