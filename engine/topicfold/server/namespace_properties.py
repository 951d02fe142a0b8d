"""A namespace's properties under `/admin/v2`, as Pulsar has them: free text by name, all at once or one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import NamespaceNotFound
from topicfold.model.permissions import ADMINISTER_NAMESPACE, READ_NAMESPACE
from topicfold.model.records import EMPTY, frozen
from topicfold.model.updates import of_namespace
from topicfold.server.absence import said_of_absent_namespace
from topicfold.server.answers import UNCHANGED, read_headers, record_answer, written_answer
from topicfold.server.asking import asked_to_write, settled_namespace
from topicfold.server.bodies import json_body
from topicfold.server.node import Node
from topicfold.server.paths import decoded, namespace_in
from topicfold.server.records import properties_in
from topicfold.server.routes import NAMESPACE_PATH, READ_ERRORS, TEXT_BY_NAME, UNREADABLE, WRITE_ERRORS, Operation

Change = Callable[[Mapping[str, str]], Mapping[str, str]]

_PLAIN = "text/plain"


@dataclass(frozen=True, slots=True)
class NamespaceProperties:
    """The handlers."""

    node: Node

    async def get(self, request: Request) -> Response:
        """Answer all properties."""
        name = namespace_in(request)
        record, etag, cut = await settled_namespace(request, self.node, name)
        return record_answer(dict(record.properties), cut, etag)

    async def set(self, request: Request) -> Response:
        """Set or change some properties and keep the others."""
        given = properties_in(await json_body(request, self.node))
        return await self._change(request, lambda old: {**old, **given}, dict(given))

    async def clear(self, request: Request) -> Response:
        """Remove all properties."""
        return await self._change(request, lambda _: EMPTY, None)

    async def get_one(self, request: Request) -> Response:
        """Answer one property as plain text; an empty body where there is none of that name."""
        name = namespace_in(request)
        key = decoded(request.path_params["key"])
        record, etag, cut = await settled_namespace(request, self.node, name)
        value = record.properties.get(key)
        return Response(value, 200, read_headers(cut, etag), None if value is None else _PLAIN)

    async def set_one(self, request: Request) -> Response:
        """Set or change one property; the path says its value."""
        key, value = decoded(request.path_params["key"]), decoded(request.path_params["value"])
        return await self._change(request, lambda old: {**old, key: value}, {key: value})

    async def remove_one(self, request: Request) -> Response:
        """Remove one property, and answer what it was; it is no error if there is none.

        Sent again under its key it removes nothing, whatever is there by then, and says so.
        """
        key = decoded(request.path_params["key"])
        removed: str | None = None

        def change(old: Mapping[str, str]) -> Mapping[str, str]:
            nonlocal removed
            removed = old.get(key)
            return {each: old[each] for each in old if each != key}

        answer = await self._change(request, change, key)
        return answer if removed is None else Response(removed, 200, answer.headers, _PLAIN)

    async def _change(self, request: Request, change: Change, meaning: Any) -> Response:
        name = namespace_in(request)
        asked = asked_to_write(request, self.node, "properties", meaning)
        update = of_namespace(name, lambda old: replace(old, properties=frozen(change(old.properties))))
        with said_of_absent_namespace(name):
            return written_answer(await self.node.writing.change_namespace(name, update, asked))


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with a namespace's properties."""
    properties = NamespaceProperties(node)
    reading = (*READ_ERRORS, NamespaceNotFound, *UNREADABLE)
    changing = (*WRITE_ERRORS, NamespaceNotFound, *UNREADABLE)
    return (
        Operation("getNamespaceProperties", "GET", f"{NAMESPACE_PATH}/properties", properties.get,
                  "Read a namespace's properties", answer=TEXT_BY_NAME, empty=UNCHANGED, errors=reading,
                  needs=READ_NAMESPACE),
        Operation("setNamespaceProperties", "PUT", f"{NAMESPACE_PATH}/properties", properties.set,
                  "Set properties, and keep the others", 204, body=TEXT_BY_NAME, without_body="nothing is set",
                  errors=changing, needs=ADMINISTER_NAMESPACE),
        Operation("clearNamespaceProperties", "DELETE", f"{NAMESPACE_PATH}/properties", properties.clear,
                  "Remove all properties", 204, errors=changing, needs=ADMINISTER_NAMESPACE),
        Operation("getNamespaceProperty", "GET", f"{NAMESPACE_PATH}/property/{{key}}", properties.get_one,
                  "Read a property as plain text", media_types=(_PLAIN,), empty={200: "The property is not set."},
                  errors=reading, needs=READ_NAMESPACE),
        Operation("setNamespaceProperty", "PUT", f"{NAMESPACE_PATH}/property/{{key}}/{{value}}", properties.set_one,
                  "Set a property", 204, errors=changing, needs=ADMINISTER_NAMESPACE),
        Operation("removeNamespaceProperty", "DELETE", f"{NAMESPACE_PATH}/property/{{key}}", properties.remove_one,
                  "Remove a property; answers its value as plain text", media_types=(_PLAIN,),
                  empty={204: "Nothing was removed, or it was when the request was first sent."},
                  errors=changing, needs=ADMINISTER_NAMESPACE),
    )  # fmt: skip
