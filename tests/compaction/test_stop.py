"""How a job is told to end, whatever Spark is doing at that moment."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JError

from topicfold.compaction.stop import Stop


class Ended:
    """A query of a Spark that the signal ended, too."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def stop(self) -> None:
        raise self.error


@pytest.mark.parametrize("error", [Py4JError("Cannot call methods on a stopped SparkContext"), ConnectionResetError()])
def test_a_signal_that_ended_spark_too_is_no_failure(error: Exception) -> None:
    heard: list[bool] = []
    query: Any = Ended(error)
    stop = Stop(lambda: heard.append(True))
    stop.ends(query)
    stop.say()
    assert stop.is_said
    assert heard
