"""`topicfold namespaces …-property` and `topics get-partitioned-topic-metadata`, as Pulsar names them."""

from __future__ import annotations

import json

from tests.cli.conftest import Run
from topicfold.client import Client

PLACE = "public/default"


def test_properties_are_set_shown_and_removed(run: Run, client: Client) -> None:
    assert run("namespaces", "set-properties", PLACE, "-p", "owner=ann,cost=42").err == f"set owner,cost on {PLACE}\n"
    assert run("namespaces", "set-property", PLACE, "-k", "note", "-v", "a/b=c, d").err == f"set note on {PLACE}\n"
    shown = json.loads(run("namespaces", "get-properties", PLACE, "-o", "json").out)
    assert shown == {"owner": "ann", "cost": "42", "note": "a/b=c, d"}
    assert run("namespaces", "get-property", PLACE, "-k", "note", "-o", "name").out == "a/b=c, d\n"
    assert run("namespaces", "get-properties", PLACE)[1:] == (
        "PROPERTY  VALUE\ncost      42\nnote      a/b=c, d\nowner     ann\n",
        "",
    )
    assert run("namespaces", "remove-property", PLACE, "-k", "cost").err == f"removed cost from {PLACE}\n"
    assert client.namespace_properties(PLACE) == {"owner": "ann", "note": "a/b=c, d"}
    assert run("namespaces", "clear-properties", PLACE).err == f"removed all properties from {PLACE}\n"
    assert client.namespace_properties(PLACE) == {}
    assert run("namespaces", "get-properties", PLACE).err == "it has no properties\n"


def test_a_property_that_is_not_there_is_not_found_and_says_where_to_look(run: Run) -> None:
    missing = run("namespaces", "get-property", PLACE, "-k", "owner")
    assert (missing.code, missing.out) == (3, "")
    assert f"topicfold namespaces get-properties {PLACE}" in missing.err


def test_what_changes_nothing_says_so(run: Run) -> None:
    assert "it had no property owner" in run("namespaces", "remove-property", PLACE, "-k", "owner").err
    assert run("namespaces", "set-properties", PLACE, "-p", "owner").code == 2
    assert run("namespaces", "set-property", "public/nowhere", "-k", "a", "-v", "b").code == 3


def test_partitions_are_told_as_pulsar_tells_them(run: Run, client: Client) -> None:
    client.create_topic("orders", partitions=3)
    client.create_topic("bills")
    shown = run("topics", "get-partitioned-topic-metadata", "orders", "-o", "json")
    assert json.loads(shown.out)["partitions"] == 3
    assert run("topics", "get-partitioned-topic-metadata", "bills", "-o", "name").out == "0\n"
    assert run("topics", "get-partitioned-topic-metadata", "nobody").code == 3
