"""Whether who asks may do what a request wants: before its handler, and before anything is known of what exists.

A refusal is true at some moment after the request arrived, and says nothing that only somebody let in could know. A
right that was just taken away may still be used on a node that has not folded that yet. The fold knows nothing of
this: verdicts are the same whoever asked.

Source: Pulsar's `AuthorizationService`; etcd #14571, where authorization inside the fold made members differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyroaring import BitMap
from starlette.requests import Request

from topicfold.errors import Forbidden, InvalidRequest
from topicfold.model.names import TopicName
from topicfold.model.namespaces import Namespaces
from topicfold.model.permissions import ADMINISTER_NAMESPACE, MANAGE_TOPIC, Access, Need, Permission, Right, Scope
from topicfold.runtime.engine import Engine
from topicfold.runtime.reading import Reading
from topicfold.runtime.slices import Slice
from topicfold.runtime.tenancy import namespaces_of
from topicfold.server.auth.principal import Principal, principal_of
from topicfold.server.auth.remedy import remedy_on
from topicfold.server.auth.rights import Rights, Roles
from topicfold.server.auth.viewer import Viewer
from topicfold.server.paths import namespaces_in, tenant_in, topic_in
from topicfold.server.queries import query_of
from topicfold.server.routes import GLOBAL, Operation

_STRANGER = Principal("", frozenset())

Place = str | TopicName
"""A tenant, a namespace or a topic."""


class Authorizer:
    """Decides over requests by the grants that this node has folded. `superusers` are roles that may do everything."""

    def __init__(self, engine: Engine, reading: Reading, superusers: Iterable[str]) -> None:
        self._engine = engine
        self._reading = reading
        self._rights = Rights(engine)
        self._superusers = frozenset(superusers)

    def permits(self, principal: Principal, operation: Operation, request: Request) -> bool:
        """Return whether `principal` may do `operation` on what the request names, by what is folded now.

        A no is to be looked at again, by `authorize`.

        Raises:
            InvalidName, InvalidRequest: the request names nothing that there could be.
        """
        if not self._superusers.isdisjoint(principal.roles):
            return True
        needs = operation.needs if operation.method == "GET" else _needs_of(operation, request)
        if not isinstance(needs, Right):
            return needs is not Access.SUPERUSER
        if needs.scope is Scope.TOPIC:
            return self._rights.on_topic(principal.roles, needs.permission, topic_in(request))
        places = _places(request, needs.scope)
        return bool(places) and all(self._check(principal.roles, needs, place) for place in places)

    async def authorize(self, operation: Operation, request: Request) -> None:
        """Return if who asks may do `operation` on what the request names.

        Raises:
            Forbidden: they may not, by all that the log holds if it can be asked.
            InvalidName, InvalidRequest: the request names nothing that there could be.
            NotReady: nobody can tell yet.
        """
        await self.require(request, _needs_of(operation, request), operation.policy)

    async def require(self, request: Request, needs: Need, policy: str = "") -> None:
        """Return if who asks has what `needs` says; handlers ask where only the body tells what that is.

        Raises:
            Forbidden, InvalidName, InvalidRequest, NotReady: as `authorize` has it.
        """
        principal = _asking(request)
        if self._is_superuser(principal):
            return
        if not isinstance(needs, Right):
            if needs is not Access.SUPERUSER:
                return
            hint = "Ask a superuser, or whoever runs the server: they name such roles with --superusers."
            raise Forbidden(f"{principal.name} is not a superuser", hint=hint)
        places = _places(request, needs.scope)
        if not places:
            raise Forbidden(
                f"{principal.name} is not a superuser, and only superusers may search all tenants at once",
                hint="Name the namespaces that you may see, or a tenant of which you may see all: tenant/*.",
            )
        for place in places:
            if not await self._has(principal.roles, needs, place):
                hint = self.remedy(request, needs, places)
                raise Forbidden(_refusal(principal, needs, places, request, policy), hint=hint)

    def remedy(self, request: Request, right: Right, places: Sequence[Place]) -> str:
        """Return who can grant who asks `right` on `places`, and how; never where of several places.

        One partition of a topic is under the topic's grants; a topic to be made bears none yet.
        """
        if len(places) > 1:
            nouns = _nouns(places)
            commands = " or ".join(f"topicfold {each}s grant-permission --help" for each in nouns)
            return f"An admin of the {' or '.join(nouns)} can grant {right.permission.value}: {commands}"
        place = places[0]
        if isinstance(place, TopicName):
            if request.method == "PUT" and request.scope["route"].operation.needs == MANAGE_TOPIC:
                place = place.namespace
            else:
                place = place.whole
        principal = _asking(request)
        granted = self._rights.granted_on(place, principal.name)
        return remedy_on(_noun(place), str(place), principal, right.permission, granted)

    def listable(self, request: Request, namespace: str) -> BitMap | None:
        """Return the topics of `namespace` that who asks may list, by their numbers; None where that is all."""
        principal = _asking(request)
        return None if self._is_superuser(principal) else self._rights.listable(principal.roles, namespace)

    def viewer(self, request: Request, namespaces: Namespaces) -> Viewer | None:
        """Return what who asks may see of the topics of `namespaces` now; None where that is everything.

        Of namespaces that a pattern means, who may not list all topics of the tenant sees those that say so themselves.
        """
        principal = _asking(request)
        if self._is_superuser(principal):
            return None
        roles, rights = principal.roles, self._rights
        listing = Permission.LIST_TOPICS
        tenants = frozenset(each for each in namespaces.tenants if rights.on_tenant(roles, listing, each))
        names = frozenset(each for each in namespaces.names if rights.on_namespace(roles, listing, each))
        is_whole = names.issuperset(namespaces.names) and tenants.issuperset(namespaces.tenants)
        return None if is_whole and not namespaces.can_be_of_any_tenant else Viewer(roles, tenants | names)

    def has(self, request: Request, right: Right, place: Place) -> bool:
        """Return whether who asks has `right` on `place`, by what is folded now."""
        principal = _asking(request)
        return self._is_superuser(principal) or self._check(principal.roles, right, place)

    def is_superuser(self, request: Request) -> bool:
        """Return whether who asks may do everything."""
        return self._is_superuser(_asking(request))

    async def tenants(self, request: Request) -> list[str]:
        """Return the tenants in which who asks has some right, sorted. Cost: O(namespaces), in slices."""
        principal = _asking(request)
        names = self._reading.tenants()
        if self._is_superuser(principal):
            return names
        roles = principal.roles
        inside = {each.partition("/")[0] for each in await self._touched(roles, self._reading.all_namespaces())}
        return [each for each in names if each in inside or self._rights.touch_tenant(roles, each)]

    async def namespaces(self, request: Request, tenant: str) -> list[str]:
        """Return the namespaces of `tenant` in which who asks has some right, sorted. Cost: O(those), in slices.

        Raises:
            Forbidden: there is none, or no such tenant.
            TenantNotFound: there is no such tenant, and who asks may know.
        """
        principal = _asking(request)
        if self._is_superuser(principal) or self._rights.touch_tenant(principal.roles, tenant):
            return self._reading.namespaces(tenant)
        known = await self._touched(principal.roles, namespaces_of(self._engine, tenant))
        if not known:
            granted = self._rights.granted_on(tenant, principal.name)
            hint = remedy_on("tenant", tenant, principal, Permission.LIST_TOPICS, granted)
            raise Forbidden(f"{principal.name} has no rights in tenant {tenant}", hint=hint)
        return known

    async def _touched(self, roles: Roles, namespaces: Iterable[str]) -> list[str]:
        """Return those of `namespaces`, as they are now, in which `roles` have some right."""
        work, touched = Slice(), []
        for each in [*namespaces]:
            if self._rights.touch_namespace(roles, each):
                touched.append(each)
            await work.rest()
        return touched

    def _is_superuser(self, principal: Principal) -> bool:
        return not self._superusers.isdisjoint(principal.roles)

    async def _has(self, roles: Roles, right: Right, place: Place) -> bool:
        """Return whether `roles` have `right`; a no is true as of some moment after the request came."""
        if self._check(roles, right, place):
            return True
        partitions = {self._engine.partition(owner) for owner in _owners(place)}
        await self._engine.readiness.wait(partitions, self._engine.options.ready_timeout_seconds)
        await self._reading.catch_up(partitions)
        return self._check(roles, right, place)

    def _check(self, roles: Roles, right: Right, place: Place) -> bool:
        if isinstance(place, TopicName):
            return self._rights.on_topic(roles, right.permission, place)
        if "/" not in place:
            return self._rights.on_tenant(roles, right.permission, place)
        if right.permission is Permission.LIST_TOPICS:
            listable = self._rights.listable(roles, place)
            return listable is None or bool(listable)
        return self._rights.on_namespace(roles, right.permission, place)


def _asking(request: Request) -> Principal:
    """Return who asks; somebody without any role where that was never found out."""
    return principal_of(request.scope) or _STRANGER


def _needs_of(operation: Operation, request: Request) -> Need:
    """Return what a request needs: more than declared where it would change policies of all clusters.

    One that does not say clearly whether it would counts as if.
    """
    if operation.method == "GET" or GLOBAL.name not in operation.query:
        return operation.needs
    try:
        is_about_all_clusters = GLOBAL.of(query_of(request))
    except InvalidRequest:
        is_about_all_clusters = True
    return ADMINISTER_NAMESPACE if is_about_all_clusters else operation.needs


def _places(request: Request, scope: Scope) -> Sequence[Place]:
    """Return what a request names; nothing where a pattern means namespaces of several tenants."""
    if scope is Scope.TOPIC:
        return [topic_in(request)]
    if scope is Scope.TENANT:
        return [tenant_in(request)]
    meant = namespaces_in(request)
    return () if meant.can_be_of_any_tenant else (*meant.names, *meant.tenants)


def _owners(place: Place) -> Sequence[str]:
    """Return the tenant, and the namespace if there is one, whose records say who may."""
    if isinstance(place, TopicName):
        return place.tenant, place.namespace
    tenant, slash, _ = place.partition("/")
    return [tenant, place] if slash else [tenant]


def _noun(place: Place) -> str:
    if isinstance(place, TopicName):
        return "topic"
    return "namespace" if "/" in place else "tenant"


def _nouns(places: Sequence[Place]) -> Sequence[str]:
    """Return what there is among `places`, each once."""
    return list(dict.fromkeys(map(_noun, places)))


def _refusal(principal: Principal, right: Right, places: Sequence[Place], request: Request, policy: str) -> str:
    """Return why not, in Pulsar's words where a policy is asked for; never which of several it was."""
    if policy:
        access = "READ" if request.method == "GET" else "WRITE"
        what, place = ("Topic", topic_in(request)) if "topic" in request.path_params else ("Namespace", places[0])
        return (
            f"Unauthorized to validate{what}PolicyOperation for operation [{access}] "
            f"on {what.lower()} [{place}] on policy [{policy}]"
        )
    where = f"at least one of the {len(places)} {'s and '.join(_nouns(places))}s asked for"
    if len(places) == 1:
        where = f"{_noun(places[0])} {places[0]}"
    return f"{principal.name} lacks {right.permission.value} on {where}"
