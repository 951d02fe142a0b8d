"""A log that is away is told of, and that it is back; each once."""

from __future__ import annotations

from topicfold.compaction.silence import Silence
from topicfold.errors import LogUnavailable


class Log:
    """One that may be away."""

    def __init__(self) -> None:
        self.is_away = False

    def look(self) -> None:
        if self.is_away:
            raise LogUnavailable("no broker answers")


def test_a_log_that_is_away_is_told_of_once_and_again_when_it_is_back() -> None:
    log, told = Log(), list[str]()
    silence = Silence(log.look, told.append)
    log.is_away = True
    for _ in range(3):
        silence.check()
    assert told == ["no broker answers"]
    log.is_away = False
    for _ in range(3):
        silence.check()
    assert told == ["no broker answers", ""]


def test_a_log_that_answers_is_told_of_to_nobody() -> None:
    log, told = Log(), list[str]()
    Silence(log.look, told.append).check()
    assert told == []
