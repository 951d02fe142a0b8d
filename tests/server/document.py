"""The OpenAPI document that is checked in: `python -m tests.server.document` writes it anew."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.memory_log import MemoryStore
from tests.server.rest import rest_node

DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.json"


async def current_document() -> dict[str, Any]:
    """Return the document as a running node serves it, without the version."""
    async with rest_node(MemoryStore(1)) as node:
        document: dict[str, Any] = (await node.send("GET", "/openapi.json")).json()
    document["info"]["version"] = "0"
    return document


def as_text(document: dict[str, Any]) -> str:
    """Return the document as it is checked in: sorted, so that a difference is one of meaning."""
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(as_text(asyncio.run(current_document())))
