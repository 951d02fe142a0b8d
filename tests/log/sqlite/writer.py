"""A process that appends to a log's file: `writer.py FILE WHO COUNT`."""

from __future__ import annotations

import asyncio
import sys

from topicfold.log.sqlite import SqliteLog


async def write(path: str, who: str, count: int) -> None:
    log = await SqliteLog.open(path, partitions=3)
    for number in range(count):
        log.append(number % 3, f"{who}-{number}".encode(), lambda error: sys.exit(str(error)))
        if number % 5 == 0:
            await log.end_offsets()
    await log.close()


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1], sys.argv[2], int(sys.argv[3])))
