"""Topics to be found, and what finds over HTTP answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.server.rest import RestNode
from topicfold.model.names import parse_topic
from topicfold.model.records import TopicRecord, frozen
from topicfold.server.finding.find import FIND_PATH


async def make(rest: RestNode, *names: str, **labels: str) -> None:
    """Make topics with these labels."""
    for name in names:
        record = TopicRecord(labels=frozen(labels))
        await rest.node.writing.create_topic(parse_topic(name), record, rest.node.asked())


async def find_all(rest: RestNode, query: str = "") -> list[str]:
    """Return the full names that a query finds at once."""
    return names_in(await rest.get(f"{FIND_PATH}?{query}"))


async def pages(rest: RestNode, query: str) -> list[Any]:
    """Return all pages of a query."""
    found_pages = [await rest.get(f"{FIND_PATH}?{query}")]
    while after := found_pages[-1].get("continue"):
        found_pages.append(await rest.get(f"{FIND_PATH}?{query}&continue={after}"))
    return found_pages


def names_in(*answers: Mapping[str, Any]) -> list[str]:
    """Return the names of the items in answers."""
    return [item["name"] for answer in answers for item in answer["items"]]
