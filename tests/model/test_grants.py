"""Grants as updates of whatever record they are on."""

from __future__ import annotations

import pytest

from topicfold.errors import InvalidRequest
from topicfold.model.grants import MAX_ROLES, actions_in, grant, grants_in, revoke
from topicfold.model.permissions import ACTIONS
from topicfold.model.records import NamespaceRecord, TenantRecord, TopicRecord
from topicfold.model.updates import Refuse, topic_missing

MISSING = topic_missing("x")
RECORDS = pytest.mark.parametrize("record", [TenantRecord(("a",)), NamespaceRecord({"a": "b"}), TopicRecord(3)])


@RECORDS
def test_a_grant_replaces_the_roles_actions_and_keeps_all_else(
    record: TenantRecord | NamespaceRecord | TopicRecord,
) -> None:
    first = grant("b", ("watch",), MISSING)(record)
    second = grant("a", ("admin",), MISSING)(first)
    third = grant("b", ("produce",), MISSING)(second)
    assert list(third.grants.items()) == [("a", ("admin",)), ("b", ("produce",))]
    assert revoke("a", MISSING)(revoke("b", MISSING)(third)) == record


@RECORDS
def test_what_changes_nothing_is_an_equal_record(record: TenantRecord | NamespaceRecord | TopicRecord) -> None:
    granted = grant("a", ("watch",), MISSING)(record)
    assert grant("a", ("watch",), MISSING)(granted) == granted
    assert revoke("b", MISSING)(granted) == granted


def test_nothing_is_granted_on_what_is_not_there() -> None:
    assert isinstance(grant("a", ("watch",), MISSING)(None), Refuse)
    assert isinstance(revoke("a", MISSING)(None), Refuse)


def test_grants_of_a_document_are_sorted() -> None:
    given = {"b": ["watch", "admin", "watch"], "a": sorted(ACTIONS)}
    assert list(grants_in(given).items()) == [("a", tuple(sorted(ACTIONS))), ("b", ("admin", "watch"))]
    assert grants_in(None) == {}


def test_of_very_many_unknown_actions_no_more_are_looked_at_than_are_told() -> None:
    class Counted(str):
        looked_at = 0

        def __hash__(self) -> int:
            Counted.looked_at += 1
            return super().__hash__()

    with pytest.raises(InvalidRequest, match="'x' is not an action") as refused:
        actions_in([Counted("x")] * 10_000)
    assert (len(refused.value.values["violations"]), Counted.looked_at) == (MAX_ROLES, MAX_ROLES)
