"""A change that is asked for again under its key is the same request to a node of another version: none refuses it.

What tells requests under one key apart is a hash of their meaning, which is in the log. `golden/requests.txt` has the
hashes that the node of 2026-11-25 logged (that of 2026-11-26 for clusters, of 2026-11-27 for limits of offloading, of
2026-11-28 for whole records of namespaces), each with its request, and is never made anew, only added to: should this
fail, whoever asks again while nodes are upgraded would be answered 422.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tests.memory_log import MemoryStore
from tests.server.rest import rest_node
from topicfold.log.codec import decode_audit, decode_event
from topicfold.server.fresh_settings import FRESH_SETTINGS

RECORDED = Path(__file__).parents[1] / "golden" / "requests.txt"
REFUSED = {"deleteBundle"}
"""Changes that are refused whatever the state, so that nothing is logged."""


def requests() -> list[tuple[str, str, str, bytes | None]]:
    """Return hash, method, path and body of each recorded request, in order: some need what others made."""
    lines = [line.split(" ", 3) for line in RECORDED.read_text().splitlines()]
    return [(digest, method, path, body[0].encode() if body else None) for digest, method, path, *body in lines]


def logged(store: MemoryStore) -> Iterator[tuple[str, str]]:
    """Yield the id of each request that a log tells of, and the hash of its meaning."""
    for entry in chain(*store.entries):
        event = decode_event(entry.value)
        trail = event and decode_audit(event.audit)
        if event and trail:
            for operation, audit in zip(event.operations, trail.operations, strict=True):
                yield audit.request_id, operation.body_hash.hex()


async def test_every_request_has_the_meaning_that_earlier_versions_logged() -> None:
    store = MemoryStore(partitions=8)
    async with rest_node(store) as rest:
        for number, (_, method, path, body) in enumerate(requests()):
            await rest.send(method, path, body, idempotency_key=f"key-{number}", x_request_id=f"request-{number}")
    found = dict(logged(store))
    wrong = {
        f"{method} {path}": found.get(f"request-{number}")
        for number, (digest, method, path, _) in enumerate(requests())
        if found.get(f"request-{number}") != digest
    }
    assert wrong == {}


async def test_a_request_of_each_change_is_recorded() -> None:
    async with rest_node(MemoryStore(1)) as rest:
        table = rest.app.table
    operations = [
        table.find({"path": path.partition("?")[0], "method": method}).operation for _, method, path, _ in requests()
    ]
    recorded = {each.handle for each in operations}
    changes = [route.operation for route in table.routes if route.operation.method != "GET"]
    missing = {each.id for each in changes if each.handle not in recorded}
    unkept = {setting.path for setting in FRESH_SETTINGS}
    assert missing == REFUSED | {each.id for each in changes if each.path.rpartition("/")[2] in unkept}
