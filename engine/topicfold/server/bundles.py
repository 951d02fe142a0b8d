"""Bundles, the parts of a namespace that Pulsar's brokers divide among themselves. Here a namespace is one bundle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import NamespaceNotFound, PolicyUnmet
from topicfold.model.permissions import ADMINISTER_TENANT, READ_NAMESPACE
from topicfold.server.answers import read_answer
from topicfold.server.asking import settled_if_live
from topicfold.server.node import Node
from topicfold.server.paths import decoded, namespace_in
from topicfold.server.routes import NAMESPACE_PATH, READ_ERRORS, WRITE_ERRORS, Operation
from topicfold.server.routing import no_route
from topicfold.wire.namespace_document import BUNDLES_SCHEMA, ONE_BUNDLE


@dataclass(frozen=True, slots=True)
class Bundles:
    """The handlers. `methods` are those that each path takes that is no bundle but something else of a namespace."""

    node: Node
    methods: dict[str, set[str]]

    async def list(self, request: Request) -> Response:
        """Answer the one bundle of a namespace."""
        return read_answer(ONE_BUNDLE, await settled_if_live(request, self.node, namespace_in(request)))

    async def delete(self, request: Request) -> Response:
        """Refuse to end a part of a namespace.

        Raises:
            HTTPException: 405, the path is no bundle's; it ends something that cannot be deleted.
            PolicyUnmet: there is no such bundle.
        """
        namespace_in(request)
        part = decoded(request.path_params["bundle"])
        if part in self.methods:
            raise no_route(request.method, request.scope["path"], self.methods[part])
        raise PolicyUnmet(f"Invalid bundle range: {part[:200]}")


def operations(node: Node, described: Iterable[Operation]) -> Sequence[Operation]:
    """Return what can be done with bundles; `described` is whatever else can be done with a namespace."""
    methods: dict[str, set[str]] = {}
    for operation in described:
        for path in (operation.path, *operation.aliases):
            if path.startswith(f"{NAMESPACE_PATH}/"):
                methods.setdefault(path.removeprefix(f"{NAMESPACE_PATH}/"), set()).update(operation.methods)
    bundles = Bundles(node, methods)
    return (
        Operation("listBundles", "GET", f"{NAMESPACE_PATH}/bundles", bundles.list, "Read a namespace's only bundle",
                  answer=BUNDLES_SCHEMA, errors=(*READ_ERRORS, NamespaceNotFound),
                  needs=READ_NAMESPACE),
        Operation("deleteBundle", "DELETE", f"{NAMESPACE_PATH}/{{bundle}}", bundles.delete,
                  "Refused: a bundle cannot be deleted on its own", 204, errors=(*WRITE_ERRORS, PolicyUnmet),
                  needs=ADMINISTER_TENANT, is_never_done=True),
    )  # fmt: skip
