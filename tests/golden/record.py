"""Made the recorded log, once: `python -m tests.golden.record`. A new recording is a new log, not a repair.

The digests belong to the bytes in `log.hex`, not to this script: they must never change, the script may.
"""

from __future__ import annotations

from random import Random

from tests.golden.replay import DIGESTS, LOG, digests
from tests.state.histories import WHATS, Step, log_of
from topicfold.log.codec import encode_event
from topicfold.model.events import Event

SEED, RECORDS = 428, 1_000
NAMES = [0, 0, 0, 3, 3, 1, 2, 4, 5]
DISTANCES = [0] * 9 + [1, 2, 3]


def values(random: Random) -> list[bytes]:
    """Return the values of a log with records of every kind, garbage too."""
    plan = [
        Step(
            random.choice(WHATS),
            random.choice(NAMES),
            random.choice(DISTANCES),
            random.choice(DISTANCES),
            random.randrange(8),
        )
        for _ in range(RECORDS - 1)
    ]
    made: list[bytes] = []
    for event in log_of(plan):
        made.append(garbage(random, made) if event is None else value_of(event))
    return made


def value_of(event: Event) -> bytes:
    """Return the bytes of `event`."""
    return encode_event(event._replace(audit=b"golden"))


def garbage(random: Random, before: list[bytes]) -> bytes:
    """Return noise, nothing, or an earlier record that lost its end or had a byte changed."""
    damaged = bytearray(random.choice(before) or b"TFE1")
    damaged[random.randrange(len(damaged))] ^= 0x40
    return random.choice([random.randbytes(random.randrange(80)), b"", bytes(damaged), bytes(damaged[:-3])])


if __name__ == "__main__":
    made = values(Random(SEED))
    LOG.write_text("".join(f"{value.hex()}\n" for value in made))
    DIGESTS.write_text("".join(f"{line}\n" for line in digests(made)))
