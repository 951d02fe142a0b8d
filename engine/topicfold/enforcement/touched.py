"""Touched: which topics and namespaces events were about, until an enforcer looks at them."""

from __future__ import annotations

import asyncio

from topicfold.model.events import AggregateKind
from topicfold.state.change import Change, Outcome


class Touched:
    """Names of topics and namespaces that accepted events were about, since they were taken last."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._ended: set[str] = set()
        self._are_there = asyncio.Event()

    def note(self, change: Change) -> None:
        """Note what a folded change was about, and whether its life ended."""
        event = change.event
        if event is None or change.outcome is not Outcome.ACCEPTED:
            return
        if event.aggregate_kind in (AggregateKind.TOPIC, AggregateKind.NAMESPACE):
            self._names.add(event.name)
            if change.is_end:
                self._ended.add(event.name)
            self._are_there.set()

    async def wait(self) -> None:
        """Return once there are any."""
        await self._are_there.wait()

    def take(self) -> tuple[set[str], set[str]]:
        """Return the names, and which of them had a life that ended; none are there then."""
        names, self._names = self._names, set()
        ended, self._ended = self._ended, set()
        self._are_there.clear()
        return names, ended
