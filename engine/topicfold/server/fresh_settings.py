"""What Pulsar keeps of a namespace and is not kept here: it is always as in a new namespace.

So it can be read, removed, and set to what it is. Tools do that without being asked: Terraform's provider removes the
creation of topics from every namespace that it makes. Anything else is refused, for nothing would come of it.

Source: Pulsar's `Namespaces` resource and `Policies`, and the defaults of `ServiceConfiguration`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import NamespaceNotFound, PolicyUnmet
from topicfold.model.permissions import ADMINISTER_NAMESPACE, READ_NAMESPACE
from topicfold.runtime.asking import Cut
from topicfold.server.answers import read_answer, read_headers, unwritten_answer
from topicfold.server.asking import settled_if_live
from topicfold.server.bodies import json_body
from topicfold.server.node import Node
from topicfold.server.paths import namespace_in
from topicfold.server.routes import NAMESPACE_PATH, READ_ERRORS, TEXTS, WRITE_ERRORS, Operation

_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}
_NUMBER = {"type": "integer", "format": "int32"}
_OBJECT = {"type": "object"}


@dataclass(frozen=True, slots=True)
class FreshSetting:
    """One setting: its `path`, and its `value` in a new namespace, None for unset.

    `method` sets it, "" where nothing does at this path.
    """

    path: str
    title: str
    schema: dict[str, Any]
    value: Any = None
    method: str = "POST"
    has_delete: bool = True


FRESH_SETTINGS: Sequence[FreshSetting] = (
    FreshSetting("allowedTopicPropertyKeysForMetrics", "properties shown in metrics", TEXTS),
    FreshSetting("antiAffinity", "anti-affinity group", _TEXT),
    FreshSetting("autoTopicCreation", "automatic creation of topics", _OBJECT),
    FreshSetting("encryptionRequired", "requirement of encryption", _FLAG, False, has_delete=False),
    FreshSetting("isAllowAutoUpdateSchema", "permission to update schemas", _FLAG, True, has_delete=False),
    FreshSetting("maxTopicsPerNamespace", "maximum number of topics", _NUMBER, 0),
    FreshSetting("resourcegroup", "resource group", _TEXT, method=""),
    FreshSetting("scalableTopicAutoScalePolicy", "scaling of topics", _OBJECT, method=""),
    FreshSetting("schemaAutoUpdateCompatibilityStrategy", "older compatibility strategy", _TEXT, "Full", "PUT", False),
    FreshSetting("subscriptionAuthMode", "authorization of subscriptions", _TEXT, "None", has_delete=False),
)


@dataclass(frozen=True, slots=True)
class _Handlers:
    node: Node
    setting: FreshSetting

    async def get(self, request: Request) -> Response:
        """Answer what a new namespace has."""
        cut = await self._cut(request)
        if self.setting.value is None:
            return Response(None, 204, read_headers(cut))
        return read_answer(self.setting.value, cut)

    async def set(self, request: Request) -> Response:
        """Do nothing where it is so already.

        Raises:
            PolicyUnmet: it is not.
        """
        given = await json_body(request, self.node)
        cut = await self._cut(request)
        kept = json.dumps(self.setting.value)
        # Numbers and booleans may be texts, as in Pulsar: its Go tools send some so.
        if json.dumps(given) != kept and not (isinstance(self.setting.value, int) and given == kept):
            only = "it is never set" if self.setting.value is None else f"it is always {kept}"
            raise PolicyUnmet(f"{self.setting.path} of a namespace is not kept here: {only}")
        return unwritten_answer(cut.revision)

    async def remove(self, request: Request) -> Response:
        """Do nothing: it is as in a new namespace."""
        return unwritten_answer((await self._cut(request)).revision)

    async def _cut(self, request: Request) -> Cut:
        return await settled_if_live(request, self.node, namespace_in(request))


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with what is not kept of a namespace."""
    return [operation for setting in FRESH_SETTINGS for operation in _operations_of(_Handlers(node, setting))]


def _operations_of(handlers: _Handlers) -> Iterator[Operation]:
    setting = handlers.setting
    path = f"{NAMESPACE_PATH}/{setting.path}"
    noun = f"Namespace{setting.path[0].upper()}{setting.path[1:]}"
    title = f"a namespace's {setting.title}, which Topicfold does not keep"
    is_unset = setting.value is None
    changing = (*WRITE_ERRORS, NamespaceNotFound)
    yield Operation(
        f"get{noun}", "GET", path, handlers.get, f"Read {title}", 204 if is_unset else 200,
        answer=None if is_unset else setting.schema, errors=(*READ_ERRORS, NamespaceNotFound), needs=READ_NAMESPACE,
    )  # fmt: skip
    if setting.method:
        yield Operation(
            f"set{noun}", setting.method, path, handlers.set, f"Set {title}", 204, body=setting.schema,
            without_body="nothing is changed" if is_unset else "", errors=(*changing, PolicyUnmet),
            needs=ADMINISTER_NAMESPACE,
        )  # fmt: skip
    if setting.has_delete:
        yield Operation(
            f"remove{noun}", "DELETE", path, handlers.remove, f"Remove {title}", 204, errors=changing,
            needs=ADMINISTER_NAMESPACE,
        )  # fmt: skip
