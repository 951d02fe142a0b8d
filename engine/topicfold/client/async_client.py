"""The asynchronous client, in a module of its own so that programs that do not need it do not load asyncio."""

from __future__ import annotations

from topicfold.client.client import Calls
from topicfold.client.transport.awaiting import AwaitingSender


class AsyncClient(AwaitingSender, Calls):
    """`Client` for asyncio: await the methods that return a value, and iterate over the others with `async for`.

        async with AsyncClient() as client:
            await client.create_topic("orders", labels={"team": "pay"})
            async for topic in client.topics("team=pay"):
                print(topic.name)

    A client can be shared between tasks, and between event loops, each of which gets connections of its own; if a loop
    ends without `close`, Python cleans them up. Errors found before anything is sent are raised by the call itself,
    not by `await`.
    """
