"""Whether the process is alive, whether the node can serve, and which version it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from topicfold import __version__
from topicfold.build import build_id
from topicfold.errors import NotReady
from topicfold.log.port import SettingProblem
from topicfold.model.permissions import Access
from topicfold.runtime.refold import digest_in_slices, lay_out_in_slices
from topicfold.runtime.topic_counts import TopicCounts, count_topics
from topicfold.server.answers import JSON_TYPE
from topicfold.server.guard import HEADERS_KEY, Headers
from topicfold.server.metrics import TEXT_TYPE, Metrics
from topicfold.server.node import Node
from topicfold.server.queries import query_of
from topicfold.server.routes import Operation
from topicfold.state.change import Outcome
from topicfold.state.fold import PartitionState
from topicfold.wire.resources import Readiness, Version

LEAVING = "this node is being stopped"
_TEXT = "text/plain"


@dataclass(frozen=True, slots=True)
class Health:
    """The handlers."""

    node: Node
    metrics: Metrics
    build: str = field(default_factory=build_id)

    async def livez(self, request: Request) -> Response:
        """Answer as long as the loop runs."""
        return Response(b"ok\n", media_type=_TEXT)

    async def readyz(self, request: Request) -> Response:
        """Answer 200 where all partitions are folded up, go on, and are known to be fresh; with `verbose` why not.

        Who takes nothing but JSON is told why not, too: clients made of the OpenAPI document read no text.

        Raises:
            NotReady: one is not, and nobody asked for more.
        """
        reasons = {partition: reason_not_ready(self.node, partition) for partition in self.node.engine.states}
        is_ready = not any(reasons.values())
        query = query_of(request)
        if "verbose" in query or _takes_only_json(request):
            report = await self._report(reasons, with_digests="digests" in query)
            return Response(orjson.dumps(report), 200 if is_ready else 503, media_type=JSON_TYPE)
        if not is_ready:
            raise NotReady(next(filter(None, reasons.values())), hint="GET /readyz?verbose tells more.")
        return Response(b"ok\n", media_type=_TEXT)

    async def root(self, request: Request) -> Response:
        """Tell a person with a browser where to look."""
        return Response(_ROOT, media_type=_TEXT)

    async def version(self, request: Request) -> Response:
        """Answer which software and which log this is."""
        log = self.node.engine.identity.incarnation.hex()
        said = {"version": __version__, "build": self.build, "name": "topicfold", "log": log}
        return Response(orjson.dumps(said), media_type=JSON_TYPE)

    async def prometheus(self, request: Request) -> Response:
        """Answer the metrics."""
        return Response(await self.metrics.text(), headers={"content-type": TEXT_TYPE})

    async def _report(self, reasons: dict[int, str], *, with_digests: bool) -> dict[str, Any]:
        engine = self.node.engine
        counts = {partition: await count_topics([state]) for partition, state in engine.states.items()}
        partitions = {
            str(partition): await self._partition(
                state, counts[partition], reasons[partition], with_digest=with_digests
            )
            for partition, state in engine.states.items()
        }
        return {
            "ready": not any(reasons.values()),
            "version": __version__,
            "log": {
                "incarnation": engine.identity.incarnation.hex(),
                "reachable": engine.freshness.is_reachable,
                "problems": [_problem(problem) for problem in engine.freshness.problems],
            },
            "cluster": self._cluster(sum(each.waiting for each in counts.values())),
            "records": {outcome.value: engine.reader.counts[outcome] for outcome in Outcome},
            "partitions": partitions,
        }

    async def _partition(
        self, state: PartitionState, counts: TopicCounts, reason: str, *, with_digest: bool
    ) -> dict[str, Any]:
        """Return how a partition is, in slices: anybody may ask. A digest is that of the position beside it."""
        position = state.position
        digest: dict[str, str] = {}
        if with_digest:
            await lay_out_in_slices(state)
            mark = state.mark()
            position = mark.position
            digest["digest"] = (await digest_in_slices(mark)).hex()
        return {
            "ready": not reason,
            "reason": reason,
            "position": position,
            "level": state.level,
            "ageSeconds": round(self.node.engine.freshness.age_seconds(state.partition), 3),
            "topics": counts.live,
            "undecodableTopics": counts.undecodable,
            "endingTopics": counts.ending,
            **digest,
        }

    def _cluster(self, waiting: int) -> dict[str, Any] | None:
        """Return how things are with the Kafka cluster; whatever it is, the node serves."""
        upkeep = self.node.upkeep
        if upkeep is None:
            return None
        report = upkeep.report(waiting)
        return {
            "reachable": report.is_reachable,
            "adoptsOnly": upkeep.options.adopts_only,
            "follows": upkeep.options.follows,
            "topics": dict(report.counts),
        }


def reason_not_ready(node: Node, partition: int) -> str:
    """Return why `partition` is not ready, "" where it is."""
    if node.leaving.is_set():
        return LEAVING
    engine = node.engine
    limit = node.settings.stale_after_seconds
    if not engine.readiness.is_ready(partition):
        return engine.readiness.reason(partition)
    age = engine.freshness.age_seconds(partition)
    if age > limit:
        return f"partition {partition} may be {age:.0f} s old, more than {limit:g} s"
    return ""


def _takes_only_json(request: Request) -> bool:
    headers: Headers = request.scope[HEADERS_KEY]
    media_types = [each.partition(b";")[0].strip() for each in headers.get(b"accept", b"").lower().split(b",")]
    return all(each.endswith(b"json") for each in media_types)


def _problem(problem: SettingProblem) -> dict[str, Any]:
    return {
        "setting": problem.setting,
        "found": problem.found,
        "wanted": problem.wanted,
        "refusesWrites": problem.refuses_writes,
        "repair": problem.repair,
    }


_ROOT = f"""Topicfold {__version__}

/api/v1/topics     the topics of public/default, with their labels
/openapi.json      every route
/readyz?verbose    how this node is
/metrics           for Prometheus
"""


def operations(node: Node, metrics: Metrics) -> Sequence[Operation]:
    """Return what monitoring asks."""
    health = Health(node, metrics)
    return (
        Operation("root", "GET", "/", health.root, "Show where to start", media_types=(_TEXT,),
                  needs=Access.PUBLIC),
        Operation("livez", "GET", "/livez", health.livez, "Liveness probe",
                  media_types=(_TEXT,), needs=Access.PUBLIC),
        Operation("readyz", "GET", "/readyz", health.readyz, "Readiness probe", answer=Readiness,
                  media_types=(_TEXT,), unwell=503, needs=Access.PUBLIC,
                  query={"verbose": "Answer with the state of every partition, as if only JSON were accepted.",
                         "digests": "With `verbose`: add each partition's digest; equal on all nodes at one position."},
                  errors=(NotReady,)),
        Operation("version", "GET", "/version", health.version, "Read the version", answer=Version,
                  needs=Access.PUBLIC),
        Operation("metrics", "GET", "/metrics", health.prometheus, "Metrics for Prometheus",
                  media_types=(_TEXT,), needs=Access.PUBLIC),
    )  # fmt: skip
