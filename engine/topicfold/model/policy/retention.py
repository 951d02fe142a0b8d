"""Compares retention with backlog quota: more must be kept after it was read than may wait to be read.

Source: `checkQuotas` and `checkBacklogQuota` of Pulsar's `AdminResource`. Pulsar multiplies minutes in 32 bits, so
35,791,395 minutes conflict with everything there, but not here.
"""

from __future__ import annotations

from topicfold.model.policy.values import MIB, Value

QUOTA_EXCEEDS = "Backlog Quota exceeds configured retention quota for topic. Please increase retention quota and retry"
RETENTION_BELOW = (
    "Retention Quota must exceed configured backlog quota for topic. Please increase retention quota and retry"
)


def conflicts(retention: Value | None, quotas: Value | None) -> bool:
    """Return whether one of `quotas` (by type) is as large as what `retention` keeps, or larger.

    >>> conflicts({"retentionTimeInMinutes": 10, "retentionSizeInMB": 10},
    ...           {"destination_storage": {"limitSize": 10 * 1024 * 1024, "limitTime": 0}})
    True
    """
    if retention is None or not quotas:
        return False
    minutes, size = retention["retentionTimeInMinutes"], retention["retentionSizeInMB"]
    return any(
        (size > 0 and quota["limitSize"] >= size * MIB) or (minutes > 0 and quota["limitTime"] >= minutes * 60)
        for quota in quotas.values()
    )
