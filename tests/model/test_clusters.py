"""Clusters as they are kept in a record."""

from __future__ import annotations

from typing import Any

import pytest

from topicfold.errors import InvalidRequest
from topicfold.model.clusters import addresses_in, clusters_in, create_cluster, delete_cluster, update_cluster
from topicfold.model.events import Verdict
from topicfold.model.records import TenantRecord
from topicfold.model.updates import Refuse, Stored, Updater

EU = {"serviceUrl": "http://eu:8080", "brokerServiceUrl": "pulsar://eu:6650?a=b&c=d"}


def after(*updaters: Updater) -> Any:
    """Return what a row of updates leaves of nothing."""
    record: Stored = None
    for update in updaters:
        result = update(record)
        assert not isinstance(result, Refuse)
        record = result
    return record


def test_a_cluster_comes_back_as_it_was_registered() -> None:
    record = after(create_cluster("us", {}, "home"), create_cluster("eu", addresses_in(EU | {"more": 1}), "home"))
    assert clusters_in(record) == {"eu": EU, "us": {}}
    assert list(clusters_in(record)) == ["eu", "us"]


def test_each_update_leaves_the_other_clusters_alone() -> None:
    both = after(create_cluster("us", {}, "home"), create_cluster("eu", EU, "home"))
    assert clusters_in(update_cluster("us", EU, "home")(both)) == {"eu": EU, "us": EU}
    assert clusters_in(delete_cluster("us")(both)) == {"eu": EU}


def test_what_is_refused_says_why() -> None:
    eu = after(create_cluster("eu", EU, "home"))
    refused = [
        create_cluster("eu", EU, "home")(eu),
        create_cluster("home", EU, "home")(None),
        update_cluster("us", EU, "home")(eu),
        delete_cluster("us")(None),
    ]
    assert [each.verdict for each in refused if isinstance(each, Refuse)] == [
        Verdict.ALREADY_EXISTS, Verdict.ALREADY_EXISTS, Verdict.CLUSTER_NOT_FOUND, Verdict.CLUSTER_NOT_FOUND,
    ]  # fmt: skip


def test_nothing_else_of_the_record_is_touched() -> None:
    record = TenantRecord(admin_roles=("a",))
    changed = create_cluster("eu", EU, "home")(record)
    assert isinstance(changed, TenantRecord)
    assert changed.admin_roles == ("a",)


def test_an_address_that_is_wrong_is_shown_one_with_the_scheme_and_port_of_its_kind() -> None:
    given = {"serviceUrl": "w", "brokerServiceUrlTls": "pulsar://w:6650"}
    with pytest.raises(InvalidRequest) as caught:
        addresses_in(given)
    examples = [each["reason"].rpartition(" ")[2] for each in caught.value.values["violations"]]
    assert examples == ["pulsar+ssl://pulsar.example.com:6651", "http://pulsar.example.com:8080"]
    assert addresses_in(dict(zip(("brokerServiceUrlTls", "serviceUrl"), examples, strict=True)))
