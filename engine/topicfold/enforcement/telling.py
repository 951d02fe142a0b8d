"""Telling: what an enforcer says of topics. What stays as it is from one look to the next is told once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from topicfold.enforcement.comparing import Difference
from topicfold.enforcement.reports import Report, State


class Telling:
    """Gives each report to `tell`; remembers which topics were passed over last, and which changes Kafka refused."""

    def __init__(self, tell: Callable[[Report], None]) -> None:
        self._tell = tell
        self._passed_over: dict[str, tuple[State, str]] = {}
        self._refused: dict[str, tuple[Sequence[Difference], str]] = {}

    def pass_over(self, name: str, reason: str, state: State = State.SKIPPED) -> None:
        """Tell why nothing is done for a topic, once as long as it stays so."""
        if self._passed_over.get(name) != (state, reason):
            self._tell(Report(state, name, None, reason))
        self._passed_over[name] = (state, reason)

    def reach(self, name: str) -> None:
        """Note that a topic is passed over no more."""
        self._passed_over.pop(name, None)

    def show(self, differences: Iterable[Difference]) -> None:
        """Tell what differs, for that is all that is to be done about it."""
        self._tell_all(State.DIFFERS, differences)

    def refuse(self, name: str, differences: Sequence[Difference], reason: str) -> None:
        """Tell that Kafka did not take the changes of a topic, once as long as these are the same."""
        if self._refused.get(name) != (differences, reason):
            self._tell_all(State.FAILED, differences, reason)
        self._refused[name] = (differences, reason)

    def change(self, name: str, differences: Iterable[Difference]) -> None:
        """Tell that a topic is as it should be now, by these changes."""
        self._refused.pop(name, None)
        self._tell_all(State.CHANGED, differences)

    def topics(self) -> set[str]:
        """Return the topics that something is remembered of."""
        return self._passed_over.keys() | self._refused.keys()

    def forget(self, name: str) -> None:
        """Remember nothing of a topic that is gone."""
        self._passed_over.pop(name, None)
        self._refused.pop(name, None)

    def _tell_all(self, state: State, differences: Iterable[Difference], reason: str = "") -> None:
        for each in differences:
            self._tell(Report(state, each.name, each, reason))
