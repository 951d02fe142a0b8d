"""Those who listen to the policies of topics, and what each was told."""

from __future__ import annotations

from typing import NamedTuple

from tests.simulation.node import Node
from topicfold.model.policy.resolve import Policies
from topicfold.runtime.policy_news import News, PolicyScope


class Heard(NamedTuple):
    """News, and how far the node had folded when they were told."""

    position: int
    scope: PolicyScope
    policies: Policies | None


class Ear:
    """One listener on one life of one node."""

    def __init__(self, node: Node, topic: str, partition: int) -> None:
        assert node.engine is not None
        assert node.service is not None
        self.topic = topic
        self.partition = partition
        self.heard: list[Heard] = []
        self._node = node
        self._state = node.engine.states[partition]
        self._service = node.service
        self.began = self.position

    async def __call__(self, news: News) -> None:
        self.heard.append(Heard(self.position, news.scope, news.policies))

    async def listen(self) -> None:
        """Register."""
        self._service.register_listener(self.topic, self)

    @property
    def position(self) -> int:
        """How far its node has folded."""
        return self._state.position

    @property
    def must_know(self) -> bool:
        """Whether the node lives on since it was registered, and has been ready."""
        engine = self._node.engine
        lives_on = engine is not None and self._node.service is self._service
        return lives_on and engine.readiness.can_be_read(self.partition)

    @property
    def is_listening(self) -> bool:
        """Whether it is told still: a topic's end ends that."""
        return self in self._service._listeners._by_name.get(self.topic, {})
