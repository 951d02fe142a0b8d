"""A log that is away is told of, and that it is back; each once."""

from __future__ import annotations

from topicfold.compaction.silence import Silence
from topicfold.errors import LogUnavailable

ASKING = {"isTriggerActive": True, "isDataAvailable": False}
FOLDING = {"isTriggerActive": True, "isDataAvailable": True}
RESTING = {"isTriggerActive": False, "isDataAvailable": False}


class Log:
    """One that may be away."""

    def __init__(self) -> None:
        self.is_away = False
        self.looks = 0

    def look(self) -> None:
        self.looks += 1
        if self.is_away:
            raise LogUnavailable("no broker answers")


def test_a_log_that_is_away_while_it_is_asked_is_told_of_once_and_again_when_it_is_back() -> None:
    log, told = Log(), list[str]()
    silence = Silence(log.look, told.append)
    log.is_away = True
    for _ in range(3):
        silence.check(ASKING)
    assert told == ["no broker answers"]
    log.is_away = False
    for status in (FOLDING, ASKING, RESTING):
        silence.check(status)
    assert told == ["no broker answers", ""]


def test_a_log_that_answers_is_told_of_to_nobody() -> None:
    log, told = Log(), list[str]()
    Silence(log.look, told.append).check(ASKING)
    assert (log.looks, told) == (1, [])


def test_nobody_looks_at_the_log_of_a_stream_that_rests_or_folds() -> None:
    log, told = Log(), list[str]()
    log.is_away = True
    silence = Silence(log.look, told.append)
    for status in (RESTING, FOLDING):
        silence.check(status)
    assert (log.looks, told) == (0, [])
