"""Checks of a single policy's value, before an event is written, never when one is folded.

What concerns two policies at once, retention and backlog quota, is in `retention`.

Source: the checks of Pulsar's `PersistentTopicsBase` and `NamespacesBase`, with their statuses and the gist of their
messages.
"""

from __future__ import annotations

from topicfold.errors import Forbidden, InvalidName, InvalidPolicy, PolicyUnmet
from topicfold.model.names import PERSISTENT, parse_topic
from topicfold.model.policy.description import Check
from topicfold.model.policy.limits import Limits
from topicfold.model.policy.shapes import OFFLOAD_DRIVERS
from topicfold.model.policy.values import Value

_DRIVER = "managedLedgerOffloadDriver"


def not_negative(message: str) -> Check:
    """Return the check that a number is 0 or more; `message` is the refusal's text.

    Raises:
        PolicyUnmet: the check does, where it is negative.
    """

    def check(value: Value, limits: Limits) -> None:
        if value < 0:
            raise PolicyUnmet(f"{message} (found {value})")

    return check


def message_size(value: Value, limits: Limits) -> None:
    """Check `maxMessageSize`.

    Raises:
        PolicyUnmet: it is negative, or above what the node allows.
    """
    if not 0 <= value <= limits.max_message_bytes:
        raise PolicyUnmet(f"Invalid value for maxMessageSize: {value} is not between 0 and {limits.max_message_bytes}")


def quota(value: Value, limits: Limits) -> None:
    """Check that each of a map of backlog quotas has a `policy` for what happens at its limit.

    Raises:
        InvalidPolicy: one has none.
    """
    for kind, each in value.items():
        if "policy" not in each:
            raise InvalidPolicy("backlogQuota", [{"path": f"{kind}.policy", "reason": "policy cannot be null"}])


def retention(value: Value, limits: Limits) -> None:
    """Check retention by itself.

    Raises:
        InvalidPolicy: size or time is below −1, or exactly one of them is 0.
    """
    minutes, size = value["retentionTimeInMinutes"], value["retentionSizeInMB"]
    if minutes < -1:
        raise _invalid_retention(f"retentionTimeInMinutes {minutes} is below -1")
    if size < -1:
        raise _invalid_retention(f"retentionSizeInMB {size} is below -1")
    if (minutes == 0) != (size == 0):
        raise _invalid_retention("time and size must either both be 0, or neither")


def persistence(value: Value, limits: Limits) -> None:
    """Check that ensemble ≥ write quorum ≥ ack quorum, each from 1 to what the node allows.

    Raises:
        InvalidPolicy: that is not so.
    """
    quorums = [value[name] for name in ("bookkeeperEnsemble", "bookkeeperWriteQuorum", "bookkeeperAckQuorum")]
    if not all(0 < each <= limits.max_quorum for each in quorums):
        raise InvalidPolicy(
            "persistence",
            [{"path": "", "reason": f"ensemble, write quorum and ack quorum must be 1 to {limits.max_quorum}"}],
        )
    if quorums != sorted(quorums, reverse=True):
        raise InvalidPolicy("persistence", [{"path": "", "reason": "must have ensemble ≥ write quorum ≥ ack quorum"}])


def offload(value: Value, limits: Limits) -> None:
    """Check that the driver is known, and that there is a bucket if it needs one.

    Raises:
        PolicyUnmet: the driver is missing or unknown, or lacks its bucket.
    """
    driver = value.get(_DRIVER)
    if driver is None or driver.lower() not in {each.lower() for each in OFFLOAD_DRIVERS}:
        named = "none is named" if driver is None else driver
        raise PolicyUnmet(f"The driver is not supported: {named}; supported are {', '.join(OFFLOAD_DRIVERS)}")
    own = {"s3": "s3", "aws-s3": "s3", "google-cloud-storage": "gcs"}.get(driver.lower())
    if driver.lower() == "filesystem":
        return
    if not (value.get("managedLedgerOffloadBucket") or value.get(f"{own}ManagedLedgerOffloadBucket")):
        raise PolicyUnmet(f"The bucket must be specified for the driver {driver}")


def offload_in_document(value: Value, limits: Limits) -> None:
    """Check the same, except that no driver need be named: a namespace may have nothing but limits, set one by one.

    Raises:
        PolicyUnmet: the driver is unknown, or lacks its bucket.
    """
    if _DRIVER in value:
        offload(value, limits)


def entry_filters(value: Value, limits: Limits) -> None:
    """Check that filters are named, and are known if the node lists the known ones.

    Raises:
        InvalidPolicy: one is blank or unknown.
    """
    names = [name.strip() for name in value.get("entryFilterNames", "").split(",")]
    if not all(names):
        raise InvalidPolicy("entryFilters", [{"path": "entryFilterNames", "reason": "must name filters, none blank"}])
    unknown = [] if limits.entry_filters is None else [name for name in names if name not in limits.entry_filters]
    if unknown:
        raise InvalidPolicy(
            "entryFilters", [{"path": "entryFilterNames", "reason": f"names unknown filters: {', '.join(unknown)}"}]
        )


def shadow_topics(value: Value, limits: Limits) -> None:
    """Check that each shadow topic has the name of a persistent topic. Whether they exist is checked elsewhere.

    Raises:
        PolicyUnmet: the list is empty, or one is not persistent.
        Forbidden: a name breaks the rules; the status is Pulsar's.
    """
    if not value:
        raise PolicyUnmet("Cannot specify empty shadow topics")
    for text in value:
        try:
            domain = parse_topic(text).domain
        except InvalidName as error:
            raise Forbidden(f"Invalid shadow topic name: {error.reason}") from None
        if domain != PERSISTENT:
            raise PolicyUnmet(f"Shadow topic {text} is not persistent")


def replication(value: Value, limits: Limits) -> None:
    """Check that at least one cluster is named.

    Raises:
        PolicyUnmet: the list is empty.
    """
    if not value:
        raise PolicyUnmet("ClusterIds should not be null or empty")


def _invalid_retention(reason: str) -> InvalidPolicy:
    return InvalidPolicy("Invalid retention policy", [{"path": "", "reason": reason}])
