"""Retention against backlog quota: a table of what conflicts (Pulsar's issues #17706, #17707, #20690 on -1)."""

from __future__ import annotations

import pytest

from topicfold.model.policy.retention import conflicts

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("minutes", "size_mb", "limit_bytes", "limit_seconds", "is_conflict"),
    [
        (10, 10, 10 * MIB, 0, True),
        (10, 10, 10 * MIB - 1, 0, False),
        (10, 10, 9 * MIB, 599, False),
        (10, 10, 9 * MIB, 600, True),
        (10, 10, -1, -1, False),
        (1, 1, MIB, 0, True),
        (1, 1, 0, 60, True),
        (-1, -1, 1 << 60, 1 << 30, False),
        (-1, 10, 9 * MIB, 1 << 30, False),
        (-1, 10, 10 * MIB, 0, True),
        (10, -1, 1 << 60, 599, False),
        (10, -1, 1 << 60, 600, True),
        (0, 0, 1 << 60, 1 << 30, False),
        (35_791_395, -1, 0, 2_147_483_647, False),
        (2_147_483_647, -1, 0, 2_147_483_647, False),
    ],
)
def test_a_quota_that_reaches_what_is_kept_conflicts(
    minutes: int, size_mb: int, limit_bytes: int, limit_seconds: int, is_conflict: bool
) -> None:
    retention = {"retentionTimeInMinutes": minutes, "retentionSizeInMB": size_mb}
    quotas = {"destination_storage": {"limitSize": limit_bytes, "limitTime": limit_seconds}}
    assert conflicts(retention, quotas) is is_conflict


def test_each_type_of_quota_counts() -> None:
    retention = {"retentionTimeInMinutes": 1, "retentionSizeInMB": 1}
    quotas = {"destination_storage": {"limitSize": 0, "limitTime": 0}, "message_age": {"limitSize": 0, "limitTime": 60}}
    assert conflicts(retention, quotas)


def test_where_one_of_them_is_missing_nothing_conflicts() -> None:
    assert not conflicts(None, {"destination_storage": {"limitSize": 1 << 40, "limitTime": 0}})
    assert not conflicts({"retentionTimeInMinutes": 1, "retentionSizeInMB": 1}, None)
