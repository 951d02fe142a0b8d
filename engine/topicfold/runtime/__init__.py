"""The asyncio loop of a node: follows the log, appends to it, and answers from the folded state."""
