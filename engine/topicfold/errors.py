"""Every error a user of Topicfold can meet, by what they can do about it.

    TopicfoldError
    ├── FixRequest             the request itself is wrong; sending it again is no use
    │   ├── InvalidRequest     malformed query, body or header
    │   ├── InvalidName        a tenant, namespace or topic name that breaks the rules
    │   ├── InvalidLabels      labels that break the rules; carries every violation
    │   ├── InvalidSelector    a label selector that cannot be read; carries where
    │   ├── InvalidPattern     a wildcard pattern that breaks the rules; says in which segment
    │   ├── InvalidRegex       no regular expression of RE2, or one too large
    │   ├── InvalidPolicy      a policy's value that is malformed; carries every violation
    │   ├── PolicyUnmet        a policy's value that cannot hold here, or beside another policy
    │   │   └── PeerCluster    replication to a cluster and to its peer
    │   ├── PoliciesDisabled   policies of topics are switched off
    │   ├── WatchesDisabled    watching topics is switched off
    │   ├── ClusterRefused     the Kafka cluster does not take what it is asked for
    │   ├── TooLarge           body, record or header above its limit
    │   ├── NotFound           TenantNotFound, NamespaceNotFound, TopicNotFound, VersionNotFound,
    │   │                      OperationNotFound
    │   ├── WrongKind          partitioned where plain was meant, or the other way round
    │   ├── FewerPartitions    partitions can only become more
    │   ├── KeyReused          an Idempotency-Key that was used with another body
    │   ├── Unauthenticated    it does not say, or does not prove, who asks
    │   └── Forbidden          who asks may not do this, or not from there
    │       └── UnknownCluster replication to a cluster that there is not
    ├── Reread                 somebody else was first; read again and decide anew
    │   ├── PreconditionFailed If-Match does not name the current version
    │   ├── AlreadyExists      there is one of that name
    │   ├── NotEmpty           something still lives inside
    │   └── Undecodable        the stored record cannot be read; delete or replace it whole
    ├── Wait                   nothing was applied; the same request may succeed later
    │   ├── NotReady           the partition is not folded yet, or stopped
    │   ├── LogUnavailable     the log cannot be reached, or its settings are unsafe
    │   ├── ClusterUnavailable the Kafka cluster cannot be reached, or does not let us
    │   ├── KeysUnavailable    the keys that verify tokens cannot be had
    │   ├── Overloaded         queues are full, or too many watch already
    │   ├── NewerSchema        the record was written by a newer node
    │   └── PositionTimeout    the wanted position was not folded in time
    │       └── FuturePosition a watch is to go on from beyond the log's end
    ├── OutcomeUnknown         the change may or may not be applied; ask for the operation
    ├── Resync                 a position of another log, or one that no longer exists
    └── OperatorNeeded         a person must act; the engine stops rather than guess
        ├── WrongLog           the log is not the one it was said to be
        ├── UnsafeLog          the log's settings would lose events
        ├── LogGap             offsets are missing between two records
        ├── LevelUnsupported   the log moved to a folding rule this version does not know
        ├── StateDiverged      a partition's state in memory is not what the log says
        ├── SnapshotDamaged    a snapshot's files are not what its commit says
        ├── SnapshotUnreadable a snapshot's commits cannot be listed or read
        ├── SnapshotUnwritable a snapshot's files cannot be written
        ├── WrongSnapshot      the snapshot is of another log, or of a newer version
        ├── TrimRefused        the snapshot does not stand for the log's beginning yet, or not truly
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

    `reason` is one sentence for people, `hint` what to do next (may be empty), `values` the facts behind it. Of a
    reason that repeats what is far too long to be read, each line is shortened.
    """

    code: ClassVar[str] = "error"
    default_hint: ClassVar[str] = ""

    def __init__(self, reason: str, *, hint: str | None = None, **values: Any) -> None:
        self.reason = shortened(reason)
        super().__init__(self.reason)
        self.hint = self.default_hint if hint is None else hint
        self.values: Mapping[str, Any] = values

    def __reduce__(self) -> tuple[Any, ...]:
        """Have it copied, and handed to other processes, as it is: it is not made anew of its reason alone."""
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

    `values["violations"]` are all that are told: `{"path": "labels.KEY", "reason": "..."}`.
    """

    code = "invalid_labels"

    def __init__(self, violations: Sequence[Mapping[str, str]]) -> None:
        told = _first_of([f"{v['path']}: {v['reason']}" for v in violations])
        super().__init__(told, violations=list(violations))


class InvalidSelector(FixRequest):
    """A label selector that cannot be read.

    `values` hold `column`, in characters from 1, where it was a text, else the `path` to what is wrong.
    """

    code = "invalid_selector"


class InvalidPattern(FixRequest):
    """A wildcard pattern that breaks the rules.

    `values` hold `pattern` and the number of the `segment` that is wrong, from 1; None where it is the whole. Where a
    `*` is wrong, `expression` is a regular one that may be meant.
    """

    code = "invalid_pattern"


class InvalidRegex(FixRequest):
    """A regular expression that RE2 does not take, or that is too large; `values` hold `regex`."""

    code = "invalid_regex"


class InvalidPolicy(FixRequest):
    """A policy's value that is malformed.

    `values["violations"]` are all that are told: `{"path": "limitSize", "reason": "..."}`, "" for the value itself.
    """

    code = "invalid_policy"

    def __init__(self, what: str, violations: Sequence[Mapping[str, str]]) -> None:
        told = _first_of([f"{v['path'] or 'the value'} {v['reason']}" for v in violations])
        super().__init__(f"{what}: {told}", violations=list(violations))


class PolicyUnmet(FixRequest):
    """A well-formed policy value that is not possible here, or not beside another policy."""

    code = "policy_unmet"


class PeerCluster(PolicyUnmet):
    """A topic that would be copied to a cluster and also to its peer, which stands in for it."""

    code = "peer_cluster"


class PoliciesDisabled(FixRequest):
    """Policies of topics are switched off on this node."""

    code = "policies_disabled"
    default_hint = "Set TOPICFOLD_TOPIC_LEVEL_POLICIES_ENABLED=true on the server."


class WatchesDisabled(FixRequest):
    """Watching topics is switched off on this node, or its topic listing rules it out."""

    code = "watches_disabled"


class ClusterRefused(FixRequest):
    """Kafka refuses what it is asked for: a name, a number of partitions, a setting, or because of a policy of its own.

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
    """No such version of a record in its history; `values["nearest"]` are some that there are."""

    code = "version_not_found"


class OperationNotFound(NotFound):
    """An operation id that cannot belong to this log."""

    code = "operation_not_found"


class WrongKind(FixRequest):
    """A partitioned topic where a plain one was meant, or the other way round."""

    code = "wrong_kind"


class FewerPartitions(FixRequest):
    """Partitions can only become more."""

    code = "fewer_partitions"


class KeyReused(FixRequest):
    """An Idempotency-Key seen before with another body."""

    code = "idempotency_key_reused"
    default_hint = "Use a new Idempotency-Key for a new request."


class Unauthenticated(FixRequest):
    """The request does not say who sends it, or does not prove it."""

    code = "unauthenticated"
    default_hint = "Get a token or a certificate that this server takes."


class Forbidden(FixRequest):
    """The caller may not do this, or not from there."""

    code = "forbidden"


class UnknownCluster(Forbidden):
    """A policy that names a cluster that does not exist; refused with Pulsar's status."""

    code = "unknown_cluster"


class Reread(TopicfoldError):
    """Somebody else was first."""

    code = "conflict"


class PreconditionFailed(Reread):
    """If-Match does not name the current version, `values["current"]` does; or If-None-Match wants none."""

    code = "precondition_failed"
    default_hint = "Read the topic again and send If-Match with its ETag."


class AlreadyExists(Reread):
    """One of that name exists already."""

    code = "already_exists"


class NotEmpty(Reread):
    """Something still lives inside."""

    code = "not_empty"


class Undecodable(Reread):
    """The stored record cannot be read; it can only be deleted or replaced whole."""

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
    """The Kafka cluster cannot be reached, or does not allow this node to do it; `values` hold `bootstrap`.

    `is_denied` among them: it does not let us do this to this topic. `is_late`: it was done to this topic, and the
    brokers do not show it yet.
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
    """A queue is full, too many requests came at once, or one needs more than this machine has."""

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
    """The change may or may not be applied, now or later; carries `operation`."""

    code = "outcome_unknown"

    def __init__(self, reason: str, *, operation: str, hint: str = "") -> None:
        super().__init__(
            reason,
            hint=hint or f"GET /api/v1/operations/{operation} settles it; the same Idempotency-Key may be sent again.",
            operation=operation,
            outcome="unknown",
        )


class Resync(TopicfoldError):
    """A position of another log, or one that no longer exists; `values` hold the former as `position`."""

    code = "resync"
    default_hint = "Read again without a position and go on from the answer's."


class OperatorNeeded(TopicfoldError):
    """A person must act."""

    code = "fault"


class WrongLog(OperatorNeeded):
    """The log is not the expected one."""

    code = "wrong_log"


class UnsafeLog(OperatorNeeded):
    """The log's settings would lose events."""

    code = "unsafe_log"


class LogGap(OperatorNeeded):
    """Offsets are missing: between `expected` and `found` of `partition` something was lost."""

    code = "log_gap"


class LevelUnsupported(OperatorNeeded):
    """The log moved to a folding rule that this version does not know."""

    code = "level_unsupported"
    default_hint = "Install a newer Topicfold here."


class StateDiverged(OperatorNeeded):
    """A partition's state in memory is not what the log says up to `offset`; carries `partition`, too."""

    code = "state_diverged"
    default_hint = (
        "Restart this node: it folds the partition anew. If it happens again there, have the machine's memory tested."
    )


class SnapshotDamaged(OperatorNeeded):
    """A file of a snapshot is missing or is not what its commit says; carries `sequence` and `path`."""

    code = "snapshot_damaged"
    default_hint = "Restore it, or let `topicfold compact` make a new commit, in a new directory if none is whole."


class SnapshotUnreadable(OperatorNeeded):
    """The commits of a snapshot cannot be listed, so none may be taken for the newest; `values` hold `path`."""

    code = "snapshot_unreadable"
    default_hint = "Name a directory that may be read, or change its owner or its mode."


class SnapshotUnwritable(OperatorNeeded):
    """A snapshot's files cannot be written: no space, no permission, or no such directory; `values` hold `path`."""

    code = "snapshot_unwritable"
    default_hint = "Make room or give the right to write, then run it again: it goes on where it was."


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
    default_hint = "The server's log has its error. Mend it, or set TOPICFOLD_TOPIC_LISTING=all on the server."
