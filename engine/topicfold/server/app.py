"""The application: all operations of one node, behind the guard.

Routes and answers are ours. FastAPI makes traces, and is imported where there are to be some: it would be a sixth of
what a server costs before it serves.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from topicfold.runtime.engine import Engine
from topicfold.runtime.finding.listings import Listings
from topicfold.runtime.kafka.upkeep import Upkeep
from topicfold.server import (
    bundles,
    clusters,
    doctor,
    document,
    fresh_settings,
    grants,
    health,
    history,
    label_metrics,
    labels,
    namespace_properties,
    namespaces,
    native_namespaces,
    native_topics,
    operations,
    properties,
    tenants,
    topics,
    watch,
)
from topicfold.server.auth.authenticator import Authenticator
from topicfold.server.auth.door import Door
from topicfold.server.auth.setup import Security, security_of
from topicfold.server.dispatch import Dispatch
from topicfold.server.finding import explain, find
from topicfold.server.guard import Guard
from topicfold.server.metrics import Metrics
from topicfold.server.node import Node
from topicfold.server.ownership import Ownership
from topicfold.server.policies import effective, offload_limits
from topicfold.server.policies import namespaces as namespace_policies
from topicfold.server.policies import topics as topic_policies
from topicfold.server.routing import RouteTable
from topicfold.server.tracing import TracedRoutes, is_traced
from topicfold.settings import Settings


class Application:
    """Our own routes, which are in `table`. `authenticator` None: nobody has to say who asks."""

    def __init__(self, table: RouteTable, entry: ASGIApp, authenticator: Authenticator | None, node: Node) -> None:
        self.is_traced = isinstance(table, TracedRoutes)
        self.table = table
        self.authenticator = authenticator
        self.node = node
        self._entry = entry
        if self.is_traced:
            from topicfold.server.traced import Traced

            self._entry = Traced(entry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._entry(scope, receive, send)


def create_app(
    engine: Engine,
    settings: Settings,
    upkeep: Upkeep | None = None,
    listings: Listings | None = None,
    security: Security | None = None,
) -> Application:
    """Return the REST API of `engine`, which the caller starts before and stops after; `upkeep` and `listings` too.

    `security` None: it is read from the files that `settings` name.

    Raises:
        BadSetting: that cannot work.
    """
    authenticator, _, certificate_ends = security or security_of(settings)
    node = Node.of(engine, settings, upkeep, listings, certificate_ends)
    metrics = Metrics(engine, upkeep, certificate_ends)
    described = (
        *health.operations(node, metrics),
        *doctor.operations(node),
        *tenants.operations(node),
        *clusters.operations(node),
        *namespaces.operations(node),
        *namespace_policies.operations(node),
        *offload_limits.operations(node),
        *fresh_settings.operations(node),
        *namespace_properties.operations(node),
        *grants.operations(node),
        *topics.operations(node),
        *labels.operations(node),
        *topic_policies.operations(node),
        *properties.operations(node),
        *native_topics.operations(node),
        *native_namespaces.operations(node),
        *find.operations(node),
        *label_metrics.operations(node),
        *explain.operations(node),
        *effective.operations(node),
        *history.operations(node),
        *operations.operations(node),
        *watch.operations(node),
    )
    described = (*described, *bundles.operations(node, described))
    routes = TracedRoutes if is_traced() else RouteTable
    table = routes((*described, *document.operations(described)))
    door = Door(authenticator, node.authorizer) if authenticator and node.authorizer else None
    entry = Dispatch(table, node.engine, Ownership.of(settings), door)
    return Application(table, Guard(entry, settings.served_hosts, metrics), authenticator, node)
