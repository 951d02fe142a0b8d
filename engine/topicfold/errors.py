"""All errors of Topicfold, by what the caller can do about them.

    TopicfoldError
    ├── FixRequest             the request itself is wrong; sending it again does not help
    │   ├── InvalidRequest     malformed query, body or header
    │   ├── InvalidName        a tenant, namespace or topic name that breaks the rules
    │   ├── InvalidLabels      labels that break the rules; carries every violation
    │   ├── InvalidSelector    a label selector that cannot be read; carries where
    │   ├── InvalidPattern     a wildcard pattern that breaks the rules; says in which segment
    │   ├── InvalidRegex       not a regular expression of RE2, or too large
    │   ├── InvalidPolicy      a policy's value that is malformed; carries every violation
    │   ├── PolicyUnmet        a policy's value that is not allowed here, or not beside another policy
    │   │   └── PeerCluster    replication to a cluster and to its peer
    │   ├── PoliciesDisabled   policies of topics are switched off
    │   ├── WatchesDisabled    watching topics is switched off
    │   ├── ClusterRefused     the Kafka cluster refuses the request
    │   ├── TooLarge           body, record or header above its limit
    │   ├── NotFound           TenantNotFound, NamespaceNotFound, TopicNotFound, VersionNotFound,
    │   │                      OperationNotFound
    │   ├── WrongKind          partitioned where plain was meant, or the other way round
    │   ├── FewerPartitions    partitions can only become more
    │   ├── KeyReused          an Idempotency-Key that was used with another body
    │   ├── Unauthenticated    the request does not say, or does not prove, who sends it
    │   └── Forbidden          the caller may not do this, or not from there
    │       └── UnknownCluster replication to a cluster that does not exist
    ├── Reread                 the state is not what the caller expects; read it again and decide again
    │   ├── PreconditionFailed If-Match does not name the current version
    │   ├── AlreadyExists      something of that name exists
    │   ├── NotEmpty           it still contains something
    │   └── Undecodable        the stored record cannot be read; delete it or replace all of it
    ├── Wait                   nothing was applied; the same request may succeed later
    │   ├── NotReady           the partition is not folded yet, or stopped
    │   ├── LogUnavailable     the log cannot be reached, or its settings are unsafe
    │   ├── ClusterUnavailable the Kafka cluster cannot be reached, or denies access
    │   ├── KeysUnavailable    the keys that verify tokens cannot be fetched
    │   ├── Overloaded         queues are full, or there are too many watches
    │   ├── NewerSchema        the record was written by a newer node
    │   └── PositionTimeout    the wanted position was not folded in time
    │       └── FuturePosition a watch is to resume from beyond the log's end
    ├── OutcomeUnknown         the change may or may not be applied; ask for the operation
    ├── Resync                 a position of another log, or one that no longer exists
    └── OperatorNeeded         an operator must act; the engine stops rather than guess
        ├── WrongLog           the log is not the expected one
        ├── UnsafeLog          the log's settings would lose events
        ├── LogGap             offsets are missing between two records
        ├── LevelUnsupported   the log uses a folding rule that this version does not know
        ├── StateDiverged      a partition's state in memory does not agree with the log
        ├── SnapshotDamaged    a snapshot's files do not agree with its commit
        ├── SnapshotUnreadable a snapshot's commits or files cannot be listed or read
        ├── SnapshotUnwritable a snapshot's files cannot be written
        ├── WrongSnapshot      the snapshot is of another log, or of a newer version
        ├── TrimRefused        the snapshot cannot replace the log's beginning yet, or does not agree with it
        ├── BadSetting         a setting that cannot work
        └── ListingFailed      the plug-in that lists topics does not work

Each leaf has a stable `code` and carries values, not only text. `hint` says what to do next.
The HTTP status of each class is in `topicfold.wire.problems`; the client maps codes back to these classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

_MAX_LINE = 4_000
_KEPT_END = 1_000
_MAX_STEP = 320
"""A label's key, which is the longest name that a body may hold and be right, has 317 characters."""


def shortened(text: str) -> str:
    """Return `text` with the middle left out of each line that is longer than a message may be.

    >>> len(shortened("topic " + "a" * 10_000_000 + ": too long"))
    4000
    """
    if len(text) <= _MAX_LINE:
        return text
    return "\n".join(
        line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - _KEPT_END - 1]}…{line[-_KEPT_END:]}"
        for line in text.split("\n")
    )


def step(name: object) -> str:
    """Return a name out of a request's body as it stands in the `path` of a violation, cut if it can be none.

    >>> len(step("x" * 100_000))
    320
    """
    text = str(name)
    return text if len(text) <= _MAX_STEP else f"{text[: _MAX_STEP - 1]}…"


def _first_of(violations: Sequence[str]) -> str:
    """Return the first five of `violations`, and how many more there are."""
    more = f" (and {len(violations) - 5} more)" if len(violations) > 5 else ""
    return "; ".join(violations[:5]) + more


class TopicfoldError(Exception):
    """Base of all errors.

    `reason` is one sentence for humans, `hint` tells what to do next (may be empty), `values` are the facts behind it.
    Lines of a reason that are far too long to be read are shortened.
    """

    code: ClassVar[str] = "error"
    default_hint: ClassVar[str] = ""

    def __init__(self, reason: str, *, hint: str | None = None, **values: Any) -> None:
        self.reason = shortened(reason)
        super().__init__(self.reason)
        self.hint = self.default_hint if hint is None else hint
        self.values: Mapping[str, Any] = values

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it be copied and pickled with its hint and values, not only with its reason."""
        return _unmade, (type(self), self.reason), vars(self)


def _unmade(kind: type[TopicfoldError], reason: str) -> TopicfoldError:
    """Return an error that says `reason`, and has nothing else yet."""
    return kind.__new__(kind, reason)


class FixRequest(TopicfoldError):
    """The request is wrong as it stands."""

    code = "invalid_request"


class InvalidRequest(FixRequest):
    """A malformed query, body or header."""


class InvalidName(FixRequest):
    """A name that breaks the naming rules; `values` hold `name`."""

    code = "invalid_name"


class InvalidLabels(FixRequest):
    """Labels that break the rules.

    `values["violations"]` lists them: `{"path": "labels.KEY", "reason": "..."}`.
    """

    code = "invalid_labels"

    def __init__(self, violations: Sequence[Mapping[str, str]]) -> None:
        told = _first_of([f"{v['path']}: {v['reason']}" for v in violations])
        super().__init__(told, violations=list(violations))


class InvalidSelector(FixRequest):
    """A label selector that cannot be read.

    `values` hold `column`, in characters from 1, if it was text, and otherwise the `path` to what is wrong.
    """

    code = "invalid_selector"


class InvalidPattern(FixRequest):
    """A wildcard pattern that breaks the rules.

    `values` hold `pattern`, the `separator` of segments and the number of the `segment` that is wrong, from 1, or None
    if all of it is. If a `*` is wrong, `expression` is a regular expression that may be meant, and `meant` the
    separator with which it is a pattern, or None.
    """

    code = "invalid_pattern"


class InvalidRegex(FixRequest):
    """A regular expression that RE2 does not accept, or that is too large; `values` hold `regex`."""

    code = "invalid_regex"


class InvalidPolicy(FixRequest):
    """A policy's value that is malformed.

    `values["violations"]` lists what is wrong: `{"path": "limitSize", "reason": "..."}`; the path of the value itself
    is "".
    """

    code = "invalid_policy"

    def __init__(self, what: str, violations: Sequence[Mapping[str, str]]) -> None:
        told = _first_of([f"{v['path'] or 'the value'} {v['reason']}" for v in violations])
        super().__init__(f"{what}: {told}", violations=list(violations))


class PolicyUnmet(FixRequest):
    """A well-formed policy value that is not allowed here, or not beside another policy."""

    code = "policy_unmet"


class PeerCluster(PolicyUnmet):
    """A topic that would be replicated to a cluster and also to its peer."""

    code = "peer_cluster"


class PoliciesDisabled(FixRequest):
    """Policies of topics are switched off on this node."""

    code = "policies_disabled"
    default_hint = "Set TOPICFOLD_TOPIC_LEVEL_POLICIES_ENABLED=true on the server."


class WatchesDisabled(FixRequest):
    """Watching topics is switched off on this node, or its topic listing rules it out."""

    code = "watches_disabled"


class ClusterRefused(FixRequest):
    """Kafka refuses the request: a name, a number of partitions, a setting, or by a policy of its own.

    `values` hold `kafka_topic`.
    """

    code = "cluster_refused"


class TooLarge(FixRequest):
    """Something exceeds its limit; `values` hold `limit`."""

    code = "too_large"


class NotFound(FixRequest):
    """The thing named does not exist."""

    code = "not_found"


class TenantNotFound(NotFound):
    """No such tenant."""

    code = "tenant_not_found"


class NamespaceNotFound(NotFound):
    """No such namespace."""

    code = "namespace_not_found"


class TopicNotFound(NotFound):
    """No such topic."""

    code = "topic_not_found"


class VersionNotFound(NotFound):
    """No such version of a record in its history; `values["nearest"]` lists some that exist."""

    code = "version_not_found"


class OperationNotFound(NotFound):
    """An operation ID that cannot belong to this log."""

    code = "operation_not_found"


class WrongKind(FixRequest):
    """The topic is partitioned and must not be, or the other way round."""

    code = "wrong_kind"


class FewerPartitions(FixRequest):
    """The number of partitions can only be increased."""

    code = "fewer_partitions"


class KeyReused(FixRequest):
    """An Idempotency-Key that was used before with another request."""

    code = "idempotency_key_reused"
    default_hint = "Use a new Idempotency-Key for a new request."


class Unauthenticated(FixRequest):
    """The request does not say who sends it, or does not prove it."""

    code = "unauthenticated"
    default_hint = "Get a token or a certificate that this server accepts."


class Forbidden(FixRequest):
    """The caller may not do this, or not from there."""

    code = "forbidden"


class UnknownCluster(Forbidden):
    """A policy names a cluster that does not exist; refused with Pulsar's status."""

    code = "unknown_cluster"


class Reread(TopicfoldError):
    """The state is not what the caller expects, perhaps because somebody else changed it first."""

    code = "conflict"


class PreconditionFailed(Reread):
    """If-Match does not name the current version, which is `values["current"]`; or If-None-Match requires none."""

    code = "precondition_failed"
    default_hint = "Read it again and send If-Match with its ETag."


class AlreadyExists(Reread):
    """Something of that name already exists."""

    code = "already_exists"


class NotEmpty(Reread):
    """It still contains something."""

    code = "not_empty"


class Undecodable(Reread):
    """The stored record cannot be read; it can only be deleted, or replaced as a whole."""

    code = "undecodable"
    default_hint = "Delete the topic, or replace its whole record with PUT /api/v1/topics/..."


class Wait(TopicfoldError):
    """Nothing was applied by this request; it may succeed later."""

    code = "unavailable"
    default_hint = "Try again in a few seconds."


class NotReady(Wait):
    """The partition that holds this namespace is not folded yet, or has stopped."""

    code = "not_ready"


class LogUnavailable(Wait):
    """The log cannot be reached, or must not be written to."""

    code = "log_unavailable"


class ClusterUnavailable(Wait):
    """The Kafka cluster cannot be reached, or denies this node access; `values` hold `bootstrap`.

    They hold `is_denied` if access to this topic is denied, and `is_late` if others are changing the topic now, or it
    was changed but the brokers do not show it yet.
    """

    code = "cluster_unavailable"

    @property
    def is_of_one_topic(self) -> bool:
        """Whether others may go on: the cluster answers, and only this topic is not as it should be."""
        return bool(self.values.get("is_denied") or self.values.get("is_late"))


class KeysUnavailable(Wait):
    """The keys that verify tokens cannot be fetched, so no token can be checked."""

    code = "keys_unavailable"


class Overloaded(Wait):
    """A queue is full, too many requests came at once, or one needs more resources than this machine has."""

    code = "overloaded"


class NewerSchema(Wait):
    """The record was written by a newer node and can neither be read nor changed here."""

    code = "newer_schema"
    default_hint = "Upgrade this node, or send the request to an upgraded one."


class PositionTimeout(Wait):
    """The wanted position was not folded within the request's time; carries `wanted` and `reached`."""

    code = "position_timeout"


class FuturePosition(PositionTimeout):
    """A watch is to resume from a position beyond the log's end, and the log did not reach it in time."""

    code = "future"


class OutcomeUnknown(TopicfoldError):
    """The change may or may not be applied, now or later; carries `operation`.

    Where something is to be done first, its `values` hold that as `remedy`.
    """

    code = "outcome_unknown"

    def __init__(self, reason: str, *, operation: str, hint: str = "", remedy: str = "") -> None:
        hint = hint or f"GET /api/v1/operations/{operation} tells its outcome; or retry with the same Idempotency-Key."
        first = {"remedy": remedy} if remedy else {}
        super().__init__(
            reason,
            hint=f"{remedy.rstrip('.')}. {hint}" if remedy else hint,
            operation=operation,
            outcome="unknown",
            **first,
        )


class Resync(TopicfoldError):
    """A position of another log, or one that no longer exists; `values` hold the former as `position`."""

    code = "resync"
    default_hint = "Read again without a position, and continue from that of the answer."


class OperatorNeeded(TopicfoldError):
    """An operator must act."""

    code = "fault"


class WrongLog(OperatorNeeded):
    """The log is not the expected one."""

    code = "wrong_log"


class UnsafeLog(OperatorNeeded):
    """The log's settings would lose events."""

    code = "unsafe_log"


class LogGap(OperatorNeeded):
    """Offsets are missing: records between `expected` and `found` of `partition` were lost."""

    code = "log_gap"


class LevelUnsupported(OperatorNeeded):
    """The log uses a folding rule that this version does not know."""

    code = "level_unsupported"
    default_hint = "Install a newer Topicfold here."


class StateDiverged(OperatorNeeded):
    """A partition's state in memory does not agree with the log up to `offset`; also carries `partition`."""

    code = "state_diverged"
    default_hint = (
        "Restart this node: it then folds the partition again. If this recurs here, test the machine's memory."
    )


class SnapshotDamaged(OperatorNeeded):
    """A file of a snapshot is missing or does not agree with its commit; carries `sequence` and `path`."""

    code = "snapshot_damaged"
    default_hint = "Restore it, or make a new commit with `topicfold compact`, in a new directory if none is intact."


class SnapshotUnreadable(OperatorNeeded):
    """A snapshot's commits or files cannot be listed or read, but may be undamaged; `values` hold `path`."""

    code = "snapshot_unreadable"
    default_hint = "Name a readable directory, or change its owner or mode."


class SnapshotUnwritable(OperatorNeeded):
    """A snapshot's files cannot be written: no space, no permission, or no such directory; `values` hold `path`."""

    code = "snapshot_unwritable"
    default_hint = "Free some space or grant write permission, then run it again: it continues where it stopped."


class WrongSnapshot(OperatorNeeded):
    """The snapshot is of another log, of another position, or was written by a newer version."""

    code = "wrong_snapshot"


class TrimRefused(OperatorNeeded):
    """Nothing was deleted: the snapshot cannot replace the log's beginning yet, or does not agree with it."""

    code = "trim_refused"


class BadSetting(OperatorNeeded):
    """A setting that cannot work."""

    code = "bad_setting"


class ListingFailed(OperatorNeeded):
    """The plug-in that lists topics raised, took too long, or did not return a list of names; carries `listing`."""

    code = "listing_failed"
    default_hint = "The error is in the server's log. Fix it, or set TOPICFOLD_TOPIC_LISTING=all on the server."
