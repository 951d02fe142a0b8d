"""Listeners: who is told when the policies of a topic or a namespace change.

Each listener is called in a task of its own (`policy_news`), outside the reader's publish step: none waits for another,
and what one raises is only logged. Plain functions are called in threads. Without listeners, the reader has no cost.
"""

from __future__ import annotations

import asyncio

from topicfold.errors import NotReady
from topicfold.model.events import AggregateKind
from topicfold.runtime.engine import Engine
from topicfold.runtime.policy_news import Follower, Listener, namespace_of
from topicfold.runtime.task_end import end_tasks
from topicfold.state.change import Change, Outcome


class Listeners:
    """Who listens to what, on one node."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._by_name: dict[str, dict[Listener, Follower]] = {}
        self._telling: dict[asyncio.Task[None], Follower] = {}
        self._is_closed = False

    def __len__(self) -> int:
        """Return how many listen, each counted for every name it listens to."""
        return sum(map(len, self._by_name.values()))

    def add(self, name: str, listener: Listener, *, replay: bool) -> None:
        """Tell `listener` of `name` from now on, with `replay` first what there is now, local before global.

        Until the log is folded up to the end it had at the start, nothing is told, and what ended in it ends nothing.
        Later a topic's end, or its namespace's, is told as news without policies, and ends the listening. To add a
        listener again does nothing.

        Raises:
            NotReady: closed.
        """
        if self._is_closed:
            raise NotReady("this node is stopping", hint="Listen on another node.")
        if not self._by_name:
            self._engine.reader.listen(self._publish)
        followers = self._by_name.setdefault(name, {})
        if listener not in followers:
            followers[listener] = Follower(self._engine, name, listener, replay=replay)
            self._wake(followers[listener])

    def remove(self, name: str, listener: Listener) -> None:
        """Begin no call of `listener` for `name` any more; one that has begun is left to end."""
        self._by_name.get(name, {}).pop(listener, None)
        self._forget_if_empty(name)
        for follower in list(self._telling.values()):
            if (follower.name, follower.listener) == (name, listener):
                follower.stop()

    async def close(self) -> None:
        """End all calls, those that have begun too, and take no more listeners; a thread's call is left to end.

        A listener may have this called, and goes on to its end.
        """
        self._is_closed = True
        self._engine.reader.leave(self._publish)
        self._by_name.clear()
        for follower in self._telling.values():
            follower.stop()
        await end_tasks(self._telling)

    def _publish(self, partition: int, change: Change) -> None:
        """Have those told whom a change may concern; called by the reader."""
        event = change.event
        if event is None or change.outcome is not Outcome.ACCEPTED:
            return
        for follower in self._by_name.get(event.name, {}).values():
            self._wake(follower)
        if change.is_end and self._engine.readiness.can_be_read(partition):
            self._end(event.name)
            if event.aggregate_kind == AggregateKind.NAMESPACE:
                for name in [name for name in self._by_name if namespace_of(name) == event.name]:
                    self._end(name)

    def _end(self, name: str) -> None:
        """Let go of those who listen to `name`, which has ended; they are told so."""
        for follower in self._by_name.pop(name, {}).values():
            follower.has_ended = True
            self._wake(follower)
        self._forget_if_empty(name)

    def _forget_if_empty(self, name: str) -> None:
        if name in self._by_name and not self._by_name[name]:
            del self._by_name[name]
        if not self._by_name:
            self._engine.reader.leave(self._publish)

    def _wake(self, follower: Follower) -> None:
        task = follower.wake()
        if task is not None:
            self._telling[task] = follower
            task.add_done_callback(self._telling.pop)
