"""A listener to policies, and what makes news for it."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.runtime.nodes import turns
from topicfold.runtime.policy_news import News, PolicyScope
from topicfold.runtime.policy_service import TopicPoliciesService

TTL = "messageTTLInSeconds"
LOCAL, GLOBAL = PolicyScope.LOCAL, PolicyScope.GLOBAL


class Told:
    """A listener; `seen` has the scope of each news, and the time to live in it (None without policies)."""

    def __init__(self) -> None:
        self.seen: list[tuple[PolicyScope, Any]] = []

    async def __call__(self, news: News) -> None:
        self.seen.append((news.scope, None if news.policies is None else news.policies.get(TTL)))


def telling() -> int:
    """Return how many tasks there are that tell somebody something."""
    return sum("Follower" in repr(task.get_coro()) for task in asyncio.all_tasks())


async def ttl(service: TopicPoliciesService, seconds: int | None, *, is_global: bool = False) -> None:
    """Set the time to live of `orders`, or take it off, and have all listeners told."""
    await service.update("orders", lambda old: old.update({TTL: seconds}), is_global=is_global)
    await turns()
