"""All of our asyncio: following the log, writing to it, and answering from what is folded."""
