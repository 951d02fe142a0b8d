"""What every route needs from the node that it belongs to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pyroaring import BitMap
from starlette.requests import Request

from topicfold.model.permissions import Need, Right
from topicfold.model.policy.limits import Limits
from topicfold.runtime.engine import Engine
from topicfold.runtime.finding.finding import Finding
from topicfold.runtime.finding.listings import Listings
from topicfold.runtime.kafka.upkeep import Upkeep
from topicfold.runtime.reading import Reading
from topicfold.runtime.writing.writing import Writing
from topicfold.server.auth.authorizer import Authorizer, Place
from topicfold.server.connections.in_flight import InFlight
from topicfold.server.connections.long_answer import LongAnswers
from topicfold.settings import Settings
from topicfold.starting import open_listings


@dataclass(frozen=True, slots=True)
class Node:
    """One running engine behind HTTP. `authorizer` None: whoever reaches the node may do everything."""

    engine: Engine
    reading: Reading
    writing: Writing
    settings: Settings
    authorizer: Authorizer | None
    finding: Finding
    listings: Listings
    in_flight: InFlight
    long_answers: LongAnswers
    certificate_ends: Mapping[str, datetime]
    """When the certificates expire that it shows, by the settings that name them."""
    upkeep: Upkeep | None = None
    """Its part in a Kafka cluster, None where it is told of none."""
    leaving: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it is being stopped, and serves only until others have learnt that."""

    @classmethod
    def of(
        cls,
        engine: Engine,
        settings: Settings,
        upkeep: Upkeep | None,
        listings: Listings | None,
        certificate_ends: Mapping[str, datetime],
    ) -> Node:
        """Return the node that `engine` is; without `listings` it lists topics as `settings` say."""
        reading = Reading(engine)
        authorizer = Authorizer(engine, reading, settings.superusers) if settings.has_authentication else None
        in_flight = settings.max_topic_list_in_flight_heap_mem_size_mb << 20
        writing = upkeep.writing if upkeep else Writing(engine)
        return cls(
            engine,
            reading,
            writing,
            settings,
            authorizer,
            Finding(engine),
            listings or open_listings(engine, settings),
            InFlight(in_flight, in_flight if authorizer is None else in_flight // 2),
            LongAnswers(knows_principals=authorizer is not None),
            certificate_ends,
            upkeep,
        )

    @property
    def limits(self) -> Limits:
        """What policies may say on this node."""
        return self.engine.options.limits

    async def require(self, request: Request, needs: Need) -> None:
        """Return if who asks has `needs` on what the request names: for what only the body says is wanted.

        Raises:
            Forbidden: they have not.
        """
        if self.authorizer is not None:
            await self.authorizer.require(request, needs)

    def has(self, request: Request, right: Right, place: Place) -> bool:
        """Return whether who asks has `right` on `place`."""
        return self.authorizer is None or self.authorizer.has(request, right, place)

    def listable(self, request: Request, namespace: str) -> BitMap | None:
        """Return the topics of `namespace` that who asks may list, by their numbers; None where that is all."""
        return None if self.authorizer is None else self.authorizer.listable(request, namespace)

    def may_do_everything(self, request: Request) -> bool:
        """Return whether who asks is a superuser, or nobody is asked who they are."""
        return self.authorizer is None or self.authorizer.is_superuser(request)

    async def tenants(self, request: Request) -> list[str]:
        """Return the tenants of which who asks may know, sorted."""
        return self.reading.tenants() if self.authorizer is None else await self.authorizer.tenants(request)

    async def namespaces(self, request: Request, tenant: str) -> list[str]:
        """Return the namespaces of `tenant` of which who asks may know, sorted.

        Raises:
            TenantNotFound, Forbidden: there is no such tenant, or none of which they may know.
        """
        if self.authorizer is None:
            return self.reading.namespaces(tenant)
        return await self.authorizer.namespaces(request, tenant)
