"""Policies: setting them through REST beside the engine in process, and reading one, beside the cheapest route.

Eight workers on topics of their own, then all on one topic, where what waits is committed together. Then what
`topicfold policies diff` takes over many topics, beside only reading them.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests import plain_http
from tests.benchmarks.load import CLIENT, Flow
from tests.benchmarks.nodes import Node, create_topics, kafka_node, topic_name
from tests.benchmarks.population import key_of
from tests.benchmarks.report import Goal, Row, row
from tests.benchmarks.rest_reads import EMPTY
from tests.benchmarks.servers import CONNECTIONS, Server, server_on
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker
from tests.server.auth.issuer import AUDIENCE, ISSUER, issuer
from topicfold.model.policy.changes import change_topic, set_value

TOPICS = 10

_OF_EACH = f"/admin/v2/persistent/public/default/{key_of(0)[:-1]}{CLIENT}"
SET_ON_EACH = Flow("POST", f"{_OF_EACH}/messageTTL?messageTTL=NUMBER", connections=CONNECTIONS)
SET_ON_ONE = replace(SET_ON_EACH, path=SET_ON_EACH.path.replace(CLIENT, "0"))
NATIVE = f"/api/v1/topics/public/default/{key_of(0)}"
READ_ONE = Flow("GET", f"/admin/v2/persistent/public/default/{key_of(0)}/messageTTL", connections=CONNECTIONS)

_GRANT = "/admin/v2/namespaces/public/default/permissions/reader"


def run(site: Site) -> Iterator[Row]:
    """Measure sets a second on distinct topics and on one, then reads a second."""
    with server_on(site) as server, Worker(kafka_node, site.broker.bootstrap, site.fresh_topic()) as node:
        server.grow_to(TOPICS)
        node.run(create_topics, TOPICS)
        for what, flow, topics in (
            (f"{CONNECTIONS} workers, {CONNECTIONS} topics", SET_ON_EACH, CONNECTIONS),
            (f"{CONNECTIONS} workers, one topic", SET_ON_ONE, 1),
        ):
            through_rest, in_process = [], []
            for pair in range(site.sizes.pairs):
                site.say(f"policies: {what}, pair {pair + 1} of {site.sizes.pairs}")
                through_rest.append(server.per_second(flow))
                in_process.append(node.run(sets_per_second, site.sizes.rest_seconds, topics))
            yield row(f"policies: set through REST, {what}", "/s", through_rest, "the engine in process", in_process)
        reads, empty = [], []
        for pair in range(site.sizes.pairs):
            site.say(f"policies: reads, pair {pair + 1} of {site.sizes.pairs}")
            reads.append(server.per_second(READ_ONE))
            empty.append(server.per_second(EMPTY))
        yield row("policies: read of one, /admin/v2", "/s", reads, "/livez", empty, Goal("ours", "≥", 2_000))
        yield _authorization(site, server)
        yield _diff(site, server)


def _authorization(site: Site, server: Server) -> Row:
    """Measure a read with a token whose role was granted it, beside the same on a server that asks nobody."""
    signer, key = issuer("ES256"), site.directory / "key.pem"
    key.write_text(signer.pem)
    plain_http.post(f"{server.url}{_GRANT}", json=["read-policies"]).raise_for_status()
    asked = replace(READ_ONE, path=NATIVE, token=signer.token(sub="reader"))
    told = ("--auth-jwt-key-file", str(key), "--auth-issuer", ISSUER, "--auth-audience", AUDIENCE)
    with server_on(site, server.kafka_topic, *told) as closed:
        with_token, without = [], []
        for pair in range(site.sizes.pairs):
            site.say(f"policies: authorization, pair {pair + 1} of {site.sizes.pairs}")
            with_token.append(closed.per_second(asked))
            without.append(server.per_second(replace(asked, token="")))
    goal = Goal("ratio", "≥", 0.95)
    return row("policies: read of a topic with a token", "/s", with_token, "without authentication", without, goal)


def _diff(site: Site, server: Server) -> Row:
    """Measure comparing a file of many topics with the server's, as a user does."""
    count = site.sizes.diffed_topics
    server.grow_to(count)
    file = site.directory / "policies.yaml"
    _command(server, "export", "public/default", "-f", str(file))
    diffs, reads = [], []
    for pair in range(site.sizes.pairs):
        site.say(f"policies: diff, pair {pair + 1} of {site.sizes.pairs}")
        diffs.append(_command(server, "diff", "-f", str(file)))
        start = time.perf_counter()
        plain_http.get(f"{server.url}/api/v1/topics", timeout=60).raise_for_status().json()
        reads.append(time.perf_counter() - start)
    return row(f"policies: diff of {count:,} topics", "s", diffs, "reading them", reads, Goal("ours", "≤", 5))


def _command(server: Server, *arguments: str) -> float:
    """Return how many seconds `topicfold policies …` takes."""
    start = time.perf_counter()
    program = (sys.executable, "-m", "topicfold", "policies", *arguments, "--url", server.url)
    subprocess.run(program, check=True, capture_output=True, cwd=Path.cwd())
    return time.perf_counter() - start


async def sets_per_second(node: Node, seconds: float, topics: int) -> float:
    """Return how often `CONNECTIONS` workers set a policy, spread over so many topics."""
    until = time.perf_counter() + seconds
    done = 0

    async def worker(number: int) -> None:
        nonlocal done
        name = topic_name(number % topics)
        value = 0
        while time.perf_counter() < until:
            value += 1
            updater = change_topic(str(name), set_value("messageTTLInSeconds", value * CONNECTIONS + number))
            await node.writing.change_topic(name, updater, node.asked())
            done += 1

    await asyncio.gather(*map(worker, range(CONNECTIONS)))
    return done / seconds
