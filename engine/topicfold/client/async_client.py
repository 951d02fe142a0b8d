"""The asynchronous client. It is apart from the other, so that who needs none loads no asyncio."""

from __future__ import annotations

from topicfold.client.awaiting import AwaitingSender
from topicfold.client.client import Calls


class AsyncClient(AwaitingSender, Calls):
    """`Client` in loops of asyncio: what returns on `Client` is awaited, what is iterated over is with `async for`.

        async with AsyncClient() as client:
            await client.create_topic("orders", labels={"team": "pay"})
            async for topic in client.topics("team=pay"):
                print(topic.name)

    Tasks may share a client, and so may loops, each of which has connections of its own: one that ended without
    `close` leaves them to Python. What is refused before anything is sent, raises when it is called.
    """
