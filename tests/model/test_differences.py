"""What differs between two records, member by member."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from topicfold.model.differences import differences
from topicfold.model.records import NamespaceRecord, Pending, Record, Step, TenantRecord, TopicRecord

RATE = {"publishThrottlingRateInMsg": 5, "publishThrottlingRateInByte": -1}
FULL = TopicRecord(
    3,
    "Orders",
    {"p": "1"},
    {"team": "pay"},
    MappingProxyType({"publishRate": MappingProxyType(RATE), "messageTTLInSeconds": 60}),
    MappingProxyType({"replicationClusters": ("east", "west")}),
    {"ann": ("admin",)},
    Pending(Step.MAKE),
)
FULL_AS_SHOWN = [
    (("partitions",), 3),
    (("kafkaName",), "Orders"),
    (("labels", "team"), "pay"),
    (("properties", "p"), "1"),
    (("policies", "global", "replicationClusters"), ["east", "west"]),
    (("policies", "local", "messageTTLInSeconds"), 60),
    (("policies", "local", "publishRate", "publishThrottlingRateInByte"), -1),
    (("policies", "local", "publishRate", "publishThrottlingRateInMsg"), 5),
    (("grants", "ann"), ["admin"]),
    (("pending",), "make"),
]


def test_every_member_of_a_new_record_is_shown_down_to_its_parts() -> None:
    assert [(path, new) for path, old, new in differences(None, FULL) if old is None] == FULL_AS_SHOWN


def test_policies_that_are_all_gone_are_told_of_once_more_when_they_are_forgotten() -> None:
    emptied, forgotten = TopicRecord(local=MappingProxyType({}), labels={"a": "b"}), TopicRecord(labels={"a": "b"})
    removed = differences(replace(FULL, local=FULL.local), replace(FULL, local=MappingProxyType({})))
    assert (("policies", "local"), None, {}) not in removed
    assert differences(emptied, forgotten) == ((("policies", "local"), {}, None),)


def test_every_member_of_a_record_that_ended_is_shown_as_lost() -> None:
    assert [(path, old) for path, old, new in differences(FULL, None) if new is None] == FULL_AS_SHOWN


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (TopicRecord(), TopicRecord(), []),
        (FULL, FULL, []),
        (TopicRecord(labels={"a": "1"}), TopicRecord(labels={"a": "2"}), [(("labels", "a"), "1", "2")]),
        (TopicRecord(labels={"a.b": "1"}), TopicRecord(), [(("labels", "a.b"), "1", None)]),
        (TopicRecord(local={}), TopicRecord(), [(("policies", "local"), {}, None)]),
        (TopicRecord(2), TopicRecord(4), [(("partitions",), 2, 4)]),
        (TopicRecord(), TopicRecord(local={"offloadPolicies": {}}),
         [(("policies", "local", "offloadPolicies"), None, {})]),
        (NamespaceRecord(policies={"maxMessageSize": 1}), NamespaceRecord(policies={"maxMessageSize": 2}),
         [(("policies", "maxMessageSize"), 1, 2)]),
        (TenantRecord(("ann",)), TenantRecord(("ann", "bob")), [(("adminRoles",), ["ann"], ["ann", "bob"])]),
    ],
)  # fmt: skip
def test_only_what_differs_is_shown(old: Record, new: Record, shown: list[object]) -> None:
    assert list(differences(old, new)) == shown
