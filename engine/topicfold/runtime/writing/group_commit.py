"""One group commit: the queued updates of an aggregate run in order into one event.

Pure, except for the updaters that it calls. Each update sees the result of those before it in the group, and its
`If-Match` is compared with that; the last record is the event's payload. An updater that raises fails alone. An error
of ours refuses its update, like any refusal. Any other exception is a defect, and fails the update at once, unless an
earlier event that carries it might still be accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from topicfold.errors import TopicfoldError, Undecodable, Wait
from topicfold.log import payload as payloads
from topicfold.log.codec import encode_audit
from topicfold.model.events import (
    GENESIS,
    PAYLOAD_SCHEMA,
    REQUIRE_EMPTY,
    AggregateKind,
    AuditTrail,
    Event,
    Kind,
    Verdict,
)
from topicfold.model.kafka.steps import is_only_made
from topicfold.model.records import Record, UnreadableRecord
from topicfold.model.updates import Postponed, Refuse, namespace_missing
from topicfold.runtime.unreadable import newer_schema
from topicfold.runtime.writing.update import Base, Target, Update
from topicfold.state.aggregate import NO_ETAG, Aggregate, Etag

MAX_GROUP = 256
MAX_AUDIT_BYTES = 128 * 1024
"""A group that carries this much about who and why takes no more, so that its event stays below the log's limit."""


@dataclass(slots=True)
class GroupCommit:
    """The result of a group: the updates that took part, each with its verdict, and the record after them.

    `record` is None where it is not live, or not `is_readable`. `etag` is its own.
    `is_rewritten`: it is other bytes than before, be it only by a note that no verdict tells of.
    """

    updates: list[Update] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    etags: list[Etag] = field(default_factory=list)
    schema: int = 0
    payload: bytes = b""
    is_live: bool = False
    record: Record | None = None
    etag: Etag = NO_ETAG
    is_readable: bool = True
    is_rewritten: bool = False

    def take(self, update: Update, verdict: Verdict, record: Record | None, event_id: bytes) -> None:
        """Add an update of this verdict, and go on with the record after it."""
        self.updates.append(update)
        self.verdicts.append(verdict)
        if verdict is Verdict.CHANGED:
            self.etag = Etag(event_id, len(self.updates))
        if verdict is Verdict.CHANGED or record is not self.record:
            self.record, self.is_live, self.is_readable = record, record is not None, True
            self.is_rewritten = True
        self.etags.append(self.etag)

    @property
    def changes(self) -> bool:
        """Whether any update changed the record."""
        return Verdict.CHANGED in self.verdicts

    @property
    def must_be_logged(self) -> bool:
        """Whether an answer needs an accepted event.

        A client's key does whatever the verdict is: the logged no kills every earlier attempt still in flight.
        """
        return self.is_rewritten or any(update.operation.by_client or update.in_attempt for update in self.updates)


def run_group(
    target: Target,
    waiting: Sequence[Update],
    current: Aggregate,
    event_id: bytes,
    decoded: Record | None = None,
) -> GroupCommit:
    """Run the updates at the front of `waiting` that may share an event, on the aggregate `target` as it is now.

    An update of a topic among those of its namespace is refused: it is there because the namespace is not live.
    `decoded` is the current record where the caller has it at hand.
    An update whose updater raises an error of ours is refused in the group; that leans on the record, as every refusal
    does. A defect fails it and leaves it out, and its key free, unless an attempt of it is undecided. One that only
    cannot be told yet (`Wait`, `Postponed`) is failed, or left waiting while an attempt of it is undecided.
    """
    try:
        group = _run(target, waiting, current, event_id, decoded, checks_each=False)
    except Exception:  # noqa: BLE001 -- a record cannot be written; the second run finds whose and fails that alone
        return _run(target, waiting, current, event_id, decoded, checks_each=True)
    if len(group.payload) > payloads.MAX_PAYLOAD_BYTES:
        return _run(target, waiting, current, event_id, decoded, checks_each=True)
    return group


def event_of(group: GroupCommit, target: Target, event_id: bytes, base: Base, previous: int, time_ms: int) -> Event:
    """Return the event that carries `group`, on `base`; `previous` is the offset of the one that made that."""
    is_put = group.is_live
    requires_empty = not is_put and group.updates[-1].require_empty and group.changes
    verdicts = zip(group.updates, group.verdicts, strict=True)
    return Event(
        base.level,
        Kind.PUT if is_put else Kind.DELETE,
        REQUIRE_EMPTY if requires_empty else 0,
        event_id,
        target.kind,
        target.name,
        0,
        base.version,
        base.incarnation if target.kind == AggregateKind.TOPIC else GENESIS,
        tuple(update.operation._replace(verdict=verdict) for update, verdict in verdicts),
        group.schema if is_put else 0,
        group.payload if is_put else b"",
        encode_audit(AuditTrail(tuple(update.audit for update in group.updates), time_ms, previous)),
    )


def _run(
    target: Target,
    waiting: Sequence[Update],
    current: Aggregate,
    event_id: bytes,
    decoded: Record | None,
    *,
    checks_each: bool,
) -> GroupCommit:
    group = GroupCommit(
        schema=current.payload_schema, payload=current.payload, is_live=current.is_live, etag=current.etag
    )
    if current.is_live:
        group.record = decoded or payloads.decode_record(target.kind, current.payload_schema, current.payload)
        group.is_readable = group.record is not None
    audit_bytes = 0
    for update in waiting:
        if update.alone and group.updates:
            break
        if update.settled.done():
            continue
        outcome = _outcome(update, target, group, current, checks_each=checks_each)
        if outcome is None:
            continue
        group.take(update, *outcome, event_id)
        audit_bytes += 4 * sum(map(len, update.audit))
        if update.alone or len(group.updates) == MAX_GROUP or audit_bytes > MAX_AUDIT_BYTES:
            break
    if group.is_rewritten:
        group.schema, group.payload = _written(group.record)
    return group


def _outcome(
    update: Update, target: Target, group: GroupCommit, current: Aggregate, *, checks_each: bool
) -> tuple[Verdict, Record | None] | None:
    """Return the verdict on one update and the record after it, the same object where it is not to be rewritten.

    None where the update takes no part: it failed, or is left waiting.
    """
    update.failure = None
    try:
        if update.target.kind != target.kind:
            return _refuse(update, namespace_missing(target.name)), group.record
        verdict, new = _judged(update, group, current)
        if checks_each and verdict is Verdict.CHANGED and new and _is_too_large(new):
            large = Refuse(Verdict.RECORD_TOO_LARGE, "the record would be larger than 256 KiB")
            return _refuse(update, large), group.record
    except (Wait, Postponed) as error:
        if not update.in_attempt:
            update.settled.set_exception(error)
        return None
    except Exception as error:  # noqa: BLE001 -- an update that fails must not take the others with it
        if not (update.in_attempt or isinstance(error, TopicfoldError)):
            update.settled.set_exception(error)
            return None
        update.failure = error
        return _refuse(update, _refusal_of(error)), group.record
    return verdict, new


def _judged(update: Update, group: GroupCommit, current: Aggregate) -> tuple[Verdict, Record | None]:
    """Run one update on what `group` came to before it.

    Raises:
        NewerSchema: the record cannot be read here.
        Exception: whatever the updater raises.
    """
    record, is_live = group.record, group.is_live
    if current.payload_schema > PAYLOAD_SCHEMA:
        raise newer_schema(update.target.name, current.payload_schema)
    if update.if_none_match and is_live:
        why = f"there is {update.target.name} already"
        return _refuse(update, Refuse(Verdict.PRECONDITION_FAILED, why)), record
    if update.if_match and is_live and update.if_match not in ("*", str(group.etag)):
        return _refuse(update, Refuse(Verdict.PRECONDITION_FAILED, "")), record
    if not group.is_readable and not update.replaces_whole:
        why = f"the record of {update.target.name} cannot be read"
        return _refuse(update, Refuse(Verdict.UNDECODABLE, why)), record
    new = update.updater(record if group.is_readable else UnreadableRecord())
    if isinstance(new, Refuse):
        return _refuse(update, new), record
    if update.if_match and not is_live:
        why = f"{update.target.name} does not exist, and If-Match requires that it does"
        return _refuse(update, Refuse(Verdict.PRECONDITION_FAILED, why)), record
    if group.is_readable and new == record:
        return Verdict.UNCHANGED, record
    if group.is_readable and is_only_made(record, new):
        return Verdict.UNCHANGED, new
    return Verdict.CHANGED, new


def _refuse(update: Update, refusal: Refuse) -> Verdict:
    update.refusal = refusal
    return refusal.verdict


def _refusal_of(failure: Exception) -> Refuse:
    verdict = Verdict.UNDECODABLE if isinstance(failure, Undecodable) else Verdict.FAILED
    return Refuse(verdict, str(failure))


def _written(record: Record | None) -> tuple[int, bytes]:
    return (payloads.payload_schema_of(record), payloads.encode_record(record)) if record else (0, b"")


def _is_too_large(record: Record) -> bool:
    return len(payloads.encode_record(record)) > payloads.MAX_PAYLOAD_BYTES
