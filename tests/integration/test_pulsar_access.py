"""Pulsar's own Java tool with tokens, and led by redirects to the node that owns a namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import plain_http
from tests.integration.node import Node
from tests.pulsar.admin import PulsarAdmin
from tests.pulsar.answering import AnsweringProcess
from tests.pulsar.npm import NpmClient

TOPIC = "persistent://public/default/orders"
SET = ["topicPolicies", "set-retention", "-s", "10M", "-t", "10m", TOPIC]
GET = ["topicPolicies", "get-retention", TOPIC]


def with_token(token: str) -> list[str]:
    plugin = "org.apache.pulsar.client.impl.auth.AuthenticationToken"
    return ["--auth-plugin", plugin, "--auth-params", f"token:{token}"]


ROOT = with_token("root-token")
DEVELOPER = with_token("developer-token")


@pytest.fixture
def guarded(pulsar_tool: AnsweringProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PulsarAdmin]:
    """The tool and a node that wants tokens; the topic exists."""
    tokens = tmp_path / "tokens"
    tokens.write_text("root-token root\ndeveloper-token developer\n")
    tokens.chmod(0o600)
    monkeypatch.setenv("TOPICFOLD_AUTH_STATIC_TOKENS_FILE", str(tokens))
    monkeypatch.setenv("TOPICFOLD_SUPERUSERS", "root")
    node = Node(["--log", str(tmp_path / "log.db")], tmp_path / "node.log")
    node.start()
    admin = PulsarAdmin(pulsar_tool, [node.url])
    admin.done(*ROOT, "topics", "create", TOPIC)
    yield admin
    node.kill()


def test_without_a_token_nothing_is_told_or_done(guarded: PulsarAdmin) -> None:
    for command in (SET, GET, ["tenants", "list"], ["topics", "list", "public/default"]):
        assert guarded.refused(*command)
        assert guarded.refused(*with_token("guessed"), *command)
    assert guarded.done(*ROOT, *GET) == "null\n"


def test_who_may_produce_may_list_and_change_no_policy(guarded: PulsarAdmin) -> None:
    listing = ["topics", "list", "public/default"]
    assert guarded.refused(*DEVELOPER, *listing)
    grant = ["namespaces", "grant-permission", "public/default", "--role", "developer", "--actions", "produce,consume"]
    guarded.done(*ROOT, *grant)
    assert guarded.done(*DEVELOPER, *listing) == f"{TOPIC}\n"
    assert guarded.refused(*DEVELOPER, *SET)
    assert guarded.done(*ROOT, *GET) == "null\n"


def test_an_admin_of_the_tenant_may_do_everything_in_it_until_told_otherwise(guarded: PulsarAdmin) -> None:
    guarded.done(*ROOT, "tenants", "update", "public", "-r", "developer")
    guarded.done(*DEVELOPER, *SET)
    assert guarded.refused(*DEVELOPER, "tenants", "create", "theirs", "-c", "standalone")
    guarded.done(*ROOT, "tenants", "update", "public", "-r", "somebody")
    assert guarded.refused(*DEVELOPER, *GET)


@pytest.mark.kafka
def test_both_clients_follow_to_the_node_that_owns_the_namespace(
    pulsar_tool: AnsweringProcess,
    pulsar_npm: AnsweringProcess,
    kafka_bootstrap: str,
    fresh_topic: Callable[[], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = fresh_topic()
    nodes = [
        Node(["--kafka", kafka_bootstrap, "--kafka-topic", log], tmp_path / f"{number}.log") for number in range(2)
    ]
    monkeypatch.setenv("TOPICFOLD_OWNERS", f'{{"public/*": "{nodes[1].url}"}}')
    try:
        for node in nodes:
            monkeypatch.setenv("TOPICFOLD_ADVERTISED_URL", node.url)
            node.start()
        not_the_owner = nodes[0].url
        retention = f"{not_the_owner}/admin/v2/persistent/public/default/orders/retention"
        assert plain_http.get(retention).status_code == 307
        admin = PulsarAdmin(pulsar_tool, [not_the_owner])
        admin.done("topics", "create", TOPIC)
        admin.done(*SET)
        npm = NpmClient(pulsar_npm, [not_the_owner])
        place = {"tenant": "public", "namespace": "default", "topic": "orders"}
        kept = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}
        assert npm.call("persistentTopic", "getRetention", **place) == kept
        npm.call("persistentTopic", "removeRetention", **place)
        assert admin.done(*GET) == "null\n"
    finally:
        for node in nodes:
            node.kill()
