"""Checks of one policy's value, made before an event is written and never when one is folded.

What concerns two policies at once, retention and backlog quota, is in `retention`.

Source: the checks of Pulsar's `PersistentTopicsBase` and `NamespacesBase`, with their statuses and gists.
"""

from __future__ import annotations

from topicfold.errors import Forbidden, InvalidName, InvalidPolicy, PolicyUnmet
from topicfold.model.names import PERSISTENT, parse_topic
from topicfold.model.policy.description import Check
from topicfold.model.policy.limits import Limits
from topicfold.model.policy.shapes import OFFLOAD_DRIVERS
from topicfold.model.policy.values import Value


def not_negative(message: str) -> Check:
    """Return the check that a number is 0 or more; `message` is what the refusal says."""

    def check(value: Value, limits: Limits) -> None:
        if value < 0:
            raise PolicyUnmet(f"{message} (found {value})")

    return check


def message_size(value: Value, limits: Limits) -> None:
    """Check `maxMessageSize`.

    Raises:
        PolicyUnmet: negative, or above what a node allows.
    """
    if not 0 <= value <= limits.max_message_bytes:
        raise PolicyUnmet(f"Invalid value for maxMessageSize: {value} is not between 0 and {limits.max_message_bytes}")


def quota(value: Value, limits: Limits) -> None:
    """Check a map of backlog quotas: each says what happens at its limit.

    Raises:
        InvalidPolicy: one does not.
    """
    for kind, each in value.items():
        if "policy" not in each:
            raise InvalidPolicy("backlogQuota", [{"path": f"{kind}.policy", "reason": "policy cannot be null"}])


def retention(value: Value, limits: Limits) -> None:
    """Check retention by itself.

    Raises:
        InvalidPolicy: below −1, or exactly one of size and time is 0.
    """
    minutes, size = value["retentionTimeInMinutes"], value["retentionSizeInMB"]
    if minutes < -1:
        raise _invalid_retention(f"retentionTimeInMinutes {minutes} is below -1")
    if size < -1:
        raise _invalid_retention(f"retentionSizeInMB {size} is below -1")
    if (minutes == 0) != (size == 0):
        raise _invalid_retention("time and size must either both be 0, or neither")


def persistence(value: Value, limits: Limits) -> None:
    """Check ensemble ≥ write quorum ≥ ack quorum, each from 1 to what a node allows.

    Raises:
        InvalidPolicy: they are not.
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
    """Check that the driver is a known one, and that one that needs a bucket has it.

    Raises:
        PolicyUnmet: it is not, or has none.
    """
    driver = value.get("managedLedgerOffloadDriver")
    if driver is None or driver.lower() not in {each.lower() for each in OFFLOAD_DRIVERS}:
        named = "none is named" if driver is None else driver
        raise PolicyUnmet(f"The driver is not supported: {named}; supported are {', '.join(OFFLOAD_DRIVERS)}")
    own = {"s3": "s3", "aws-s3": "s3", "google-cloud-storage": "gcs"}.get(driver.lower())
    if driver.lower() == "filesystem":
        return
    if not (value.get("managedLedgerOffloadBucket") or value.get(f"{own}ManagedLedgerOffloadBucket")):
        raise PolicyUnmet(f"The bucket must be specified for the driver {driver}")


def entry_filters(value: Value, limits: Limits) -> None:
    """Check that filters are named, and known where the node says which are.

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
    """Check that each shadow topic is named by a persistent topic's name. Whether they exist is looked at elsewhere.

    Raises:
        PolicyUnmet: there is none, or one is not persistent.
        Forbidden: one breaks the rules for names; the status is Pulsar's.
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
    """Check that clusters are named.

    Raises:
        PolicyUnmet: there is none.
    """
    if not value:
        raise PolicyUnmet("ClusterIds should not be null or empty")


def _invalid_retention(reason: str) -> InvalidPolicy:
    return InvalidPolicy("Invalid retention policy", [{"path": "", "reason": reason}])
