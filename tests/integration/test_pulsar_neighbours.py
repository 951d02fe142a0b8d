"""Around the policies of topics, by Pulsar's own Java tool: tenants, namespaces with their policies, topics, grants."""

from __future__ import annotations

import uuid

import pytest

from tests.pulsar.admin import PulsarAdmin
from tests.pulsar.namespace_rows import NAMESPACE_ROWS, OLDER, NamespaceRow
from tests.pulsar.rows import ROWS, same

OF_TOPICS = {row.noun: row for row in ROWS if not row.own and not row.removal_options}


@pytest.fixture
def namespace(admin: PulsarAdmin) -> str:
    """A namespace of this test."""
    name = f"public/{uuid.uuid4().hex}"
    admin.done("namespaces", "create", name)
    return name


def lines(printed: str) -> list[str]:
    return sorted(printed.splitlines())


def test_a_tenant_is_made_shown_changed_and_deleted(admin: PulsarAdmin) -> None:
    name = uuid.uuid4().hex
    admin.done("tenants", "create", name, "-r", "ops")
    assert name in lines(admin.done("tenants", "list"))
    admin.done("tenants", "update", name, "-r", "ops,dev")
    assert '"ops"' in (shown := admin.done("tenants", "get", name))
    assert '"dev"' in shown
    admin.done("tenants", "delete", name)
    assert "not found" in admin.refused("tenants", "get", name)


def test_a_namespace_is_made_shown_and_deleted(admin: PulsarAdmin, namespace: str) -> None:
    assert namespace in lines(admin.done("namespaces", "list", "public"))
    assert '"replication_clusters" : [ "standalone" ]' in admin.done("namespaces", "policies", namespace)
    assert "exists" in admin.refused("namespaces", "create", namespace)
    admin.done("namespaces", "delete", namespace)
    assert namespace not in lines(admin.done("namespaces", "list", "public"))


def test_there_is_one_cluster(admin: PulsarAdmin) -> None:
    assert admin.done("clusters", "list") == "standalone\n"
    admin.done("clusters", "get", "standalone")
    assert admin.refused("clusters", "get", "nosuch")


def test_topics_are_made_listed_and_deleted(admin: PulsarAdmin, namespace: str) -> None:
    plain, wide = f"persistent://{namespace}/plain", f"persistent://{namespace}/wide"
    admin.done("topics", "create", plain)
    admin.done("topics", "create-partitioned-topic", "-p", "2", wide)
    assert lines(admin.done("topics", "list", namespace)) == [plain, f"{wide}-partition-0", f"{wide}-partition-1"]
    assert lines(admin.done("namespaces", "topics", namespace)) == lines(admin.done("topics", "list", namespace))
    assert admin.done("topics", "list-partitioned-topics", namespace) == f"{wide}\n"
    assert "Cannot delete non empty namespace" in admin.refused("namespaces", "delete", namespace)
    admin.done("topics", "delete", plain)
    admin.done("topics", "delete-partitioned-topic", wide)
    assert admin.done("topics", "list", namespace) == ""


def test_partitions_are_added_and_never_taken_away(admin: PulsarAdmin, namespace: str) -> None:
    topic = f"persistent://{namespace}/wide"
    admin.done("topics", "create-partitioned-topic", "-p", "2", "-m", "owner=web", topic)
    admin.done("topics", "update-partitioned-topic", "-p", "5", topic)
    shown = admin.done("topics", "get-partitioned-topic-metadata", topic)
    assert same(shown, {"partitions": 5, "deleted": False, "properties": {"owner": "web"}})
    assert admin.refused("topics", "update-partitioned-topic", "-p", "3", topic)
    assert "more than 0" in admin.refused("topics", "create-partitioned-topic", "-p", "0", f"{topic}er")


def test_properties_of_a_topic_are_merged_and_removed(admin: PulsarAdmin, namespace: str) -> None:
    topic = f"persistent://{namespace}/plain"
    admin.done("topics", "create", "-m", "owner=web", topic)
    admin.done("topics", "update-properties", "-p", "tier=gold", "-p", "owner=shop", topic)
    assert lines(admin.done("topics", "get-properties", topic)) == ["owner    shop", "tier    gold"]
    admin.done("topics", "remove-properties", "-k", "tier", topic)
    assert lines(admin.done("topics", "get-properties", topic)) == ["owner    shop"]


def test_permissions_are_granted_and_revoked(admin: PulsarAdmin, namespace: str) -> None:
    topic = f"persistent://{namespace}/plain"
    admin.done("topics", "create", topic)
    admin.done("namespaces", "grant-permission", namespace, "--role", "reader", "--actions", "consume")
    admin.done("topics", "grant-permission", topic, "-r", "writer", "-a", "produce")
    assert admin.done("namespaces", "permissions", namespace) == "reader    [consume]\n"
    assert lines(admin.done("topics", "permissions", topic)) == ["reader    [consume]", "writer    [produce]"]
    admin.done("namespaces", "revoke-permission", namespace, "--role", "reader")
    admin.done("topics", "revoke-permission", topic, "-r", "writer")
    assert admin.done("topics", "permissions", topic) == ""


@pytest.mark.parametrize("row", NAMESPACE_ROWS, ids=str)
def test_a_policy_of_a_namespace_is_set_and_removed(admin: PulsarAdmin, namespace: str, row: NamespaceRow) -> None:
    assert same(admin.done(*row.command("get", namespace)), row.unset)
    admin.done(*row.command("set", namespace))
    assert same(admin.done(*row.command("get", namespace)), row.value)
    if row.can_remove:
        admin.done(*row.command("remove", namespace))
        assert same(admin.done(*row.command("get", namespace)), row.unset)


@pytest.mark.parametrize(
    "row", [row for row in NAMESPACE_ROWS if any(each.number == row.number and each.default for each in ROWS)], ids=str
)
def test_what_a_namespace_says_applies_to_its_topics(admin: PulsarAdmin, namespace: str, row: NamespaceRow) -> None:
    of_topic = next(each for each in ROWS if each.number == row.number)
    topic = f"persistent://{namespace}/plain"
    admin.done("topics", "create", topic)
    admin.done(*row.command("set", namespace))
    expected = ["standalone"] if row.noun == "clusters" else row.value
    assert same(admin.done(*of_topic.command("get", topic, "--applied")), expected)


@pytest.mark.parametrize("older", OLDER)
def test_the_older_commands_do_the_same(admin: PulsarAdmin, namespace: str, older: str) -> None:
    topic = f"persistent://{namespace}/plain"
    admin.done("topics", "create", topic)
    row = OF_TOPICS[OLDER[older]]
    options = ["-m", "5"] if older == "max-subscriptions" else row.options.split()
    admin.done("topics", f"set-{older}", topic, *options)
    shown = "get-backlog-quotas" if older == "backlog-quota" else f"get-{older}"
    assert row.shows(admin.done("topics", shown, topic))
    assert row.shows(admin.done(*row.command("get", topic)))
    admin.done("topics", f"remove-{older}", topic)
    assert same(admin.done("topics", shown, topic), row.after_removal)


def test_deduplication_is_switched_by_older_commands(admin: PulsarAdmin, namespace: str) -> None:
    topic = f"persistent://{namespace}/plain"
    admin.done("topics", "create", topic)
    admin.done("topics", "enable-deduplication", topic)
    assert admin.done("topics", "get-deduplication-enabled", topic) == "true\n"
    admin.done("topics", "disable-deduplication", topic)
    assert admin.done("topics", "get-deduplication-enabled", topic) == "false\n"


def test_shadow_topics_are_set_and_removed(admin: PulsarAdmin, namespace: str) -> None:
    topic, shadow = f"persistent://{namespace}/plain", f"persistent://{namespace}/shadow"
    admin.done("topics", "create", topic)
    admin.done("topics", "create", shadow)
    admin.done("topics", "set-shadow-topics", "-t", shadow, topic)
    assert admin.done("topics", "get-shadow-topics", topic) == f"{shadow}\n"
    admin.done("topics", "remove-shadow-topics", topic)
    admin.refused("topics", "set-shadow-topics", "-t", f"{topic}-nosuch", topic)
