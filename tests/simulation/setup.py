"""What one run is made of, all of it drawn from the seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.simulation.weather import Weather, drawn


@dataclass(frozen=True, slots=True)
class Setup:
    """The size of the world and how hard life in it is. Shares are between 0 and 1, times in virtual seconds.

    `turnover` weighs births and deaths of namespaces and tenants. With `level`, one partition moves to level 2 and some
    nodes know it.
    """

    nodes: int
    partitions: int
    clients: int
    operations: int
    client_ring: int
    server_ring: int
    weather: Weather
    trouble_every_seconds: float
    crashes: bool
    garbage: bool
    unreadable: bool
    level: bool
    topics_per_namespace: int
    pause_seconds: float
    keyed: float
    conditional: float
    topics_only: bool
    begins_full: bool
    turnover: int


def setup_of(seed: int) -> tuple[Setup, Random]:
    """Return the run that `seed` means, and the generator that decides the rest of it."""
    rng = Random(seed)
    has_small_rings = rng.random() < 0.3
    return Setup(
        nodes=rng.choice((2, 2, 3, 3, 4, 5)),
        partitions=rng.choice((1, 2, 3)),
        clients=rng.randint(2, 6),
        operations=rng.randint(30, 80),
        client_ring=rng.randint(1, 8) if has_small_rings else 1_000,
        server_ring=rng.randint(1, 8) if has_small_rings else 1_000,
        weather=drawn(rng),
        trouble_every_seconds=rng.choice((0.05, 0.3, 1.0)),
        crashes=rng.random() < 0.7,
        garbage=rng.random() < 0.5,
        unreadable=rng.random() < 0.2,
        level=rng.random() < 0.15,
        topics_per_namespace=rng.choice((1, 1, 2)),
        pause_seconds=rng.choice((0.0, 0.01, 0.1)),
        keyed=rng.choice((0.0, 0.3, 0.7, 1.0)),
        conditional=rng.choice((0.0, 0.1, 0.4)),
        topics_only=rng.random() < 0.3,
        begins_full=rng.random() < 0.8,
        turnover=rng.choice((1, 1, 1, 4)),
    ), rng
