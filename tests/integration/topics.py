"""Topics of a real node, and the frames of a short watch of them."""

from __future__ import annotations

import json

from tests import plain_http
from tests.integration.node import Node

TOPICS = "/admin/v2/persistent/public/default"
WATCH = "/api/v1/watch?namespace=public/default&timeoutSeconds=1"


def create(node: Node, *names: str) -> None:
    for name in names:
        plain_http.put(f"{node.url}{TOPICS}/{name}", timeout=10).raise_for_status()
        labels = {"labels": {"team": f"team-{name}"}}
        plain_http.post(f"{node.url}{TOPICS}/{name}/custom-labels", json=labels, timeout=10).raise_for_status()


def watched(node: Node, since: str = "") -> list[dict[str, object]]:
    """Return the frames of a second's watch."""
    query = f"&since={since}" if since else ""
    answer = plain_http.get(f"{node.url}{WATCH}{query}", headers={"Accept": "application/x-ndjson"}, timeout=20)
    answer.raise_for_status()
    return [json.loads(line) for line in answer.text.splitlines() if line]
