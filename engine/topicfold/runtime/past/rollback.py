"""Rollback: restores what an earlier version of a topic said, in one update."""

from __future__ import annotations

from topicfold.errors import Forbidden, InvalidRequest, NotFound, PoliciesDisabled, Undecodable
from topicfold.model.desired import replace_members
from topicfold.model.events import AggregateKind, Verdict
from topicfold.model.labels import LabelRules, check_labels, too_many_after
from topicfold.model.names import TopicName
from topicfold.model.policy.limits import Limits
from topicfold.model.policy.whole import check_changed
from topicfold.model.records import EMPTY, Record, TopicRecord, UnreadableRecord
from topicfold.model.updates import Refuse, Updater, of_topic
from topicfold.runtime.asking import Asked, Written
from topicfold.runtime.engine import Engine
from topicfold.runtime.past.versions import find_version
from topicfold.runtime.policies import below_topics
from topicfold.runtime.writing.writing import Writing

RESTORED = ("labels", "properties", "local", "global_")
"""The members of a topic's record that are restored. Grants are none of them: what was revoked stays revoked."""


async def version_to_restore(
    engine: Engine, name: TopicName, to: str, asked: Asked, since: int = 0
) -> tuple[int, TopicRecord]:
    """Return the offset and the record of a topic's version `to`, of those from offset `since` on.

    Raises:
        VersionNotFound, InvalidRequest: there is no such version, or it is an end of the topic.
        TopicNotFound, NamespaceNotFound: there never was such a topic.
        Undecodable: the record cannot be read.
        Wait: as every write.
    """
    target = engine.target(AggregateKind.TOPIC, str(name), name.namespace)
    await engine.readiness.wait([target.partition], engine.options.ready_timeout_seconds)
    await engine.reach(asked.minimum, asked.deadline)
    try:
        version = await find_version(engine, target, to, asked.deadline, since)
    except NotFound:
        # It may have been made on another node a moment ago.
        await engine.barriers.wait([target.partition], asked.deadline)
        version = await find_version(engine, target, to, asked.deadline, since)
    match version.record:
        case TopicRecord() as record:
            return version.offset, record
        case UnreadableRecord():
            raise Undecodable(
                f"version {version.offset} of {name} cannot be read", name=str(name), hint="Choose another."
            )
        case _:
            raise InvalidRequest(
                f"version {version.offset} is the end of {name}", hint="Choose the version before, or delete the topic."
            )


async def roll_back(
    engine: Engine,
    writing: Writing,
    name: TopicName,
    version: tuple[int, TopicRecord],
    asked: Asked,
    *,
    may_change_global: bool = True,
) -> Written:
    """Give a topic the labels, properties and policies of a version of it, in one update.

    Partitions, the name in Kafka and grants stay as they are. What differs must be allowed now, as if it were set anew.

    Raises:
        Forbidden, PoliciesDisabled: it would change what may not be changed, or policies where there are none.
        TopicNotFound, NamespaceNotFound, PreconditionFailed, PolicyUnmet, InvalidPolicy, InvalidLabels: refused.
        Undecodable: the record cannot be read now.
        Wait, OutcomeUnknown: as every write.
    """
    offset, record = version
    if not asked.reason:
        asked = asked._replace(reason=f"rollback to version {offset}")
    return await writing.change_topic(name, restoring(engine, name, record, may_change_global=may_change_global), asked)


def restoring(engine: Engine, name: TopicName, version: TopicRecord, *, may_change_global: bool) -> Updater:
    """Return the update that gives a topic what `version` said, as far as it differs.

    Raises:
        Forbidden, InvalidLabels, InvalidPolicy, PolicyUnmet, PoliciesDisabled: when it is run; it may not be set now.
    """
    rules, limits = engine.options.label_rules, engine.options.limits

    def change(old: TopicRecord) -> Record | Refuse | None:
        members = {each: getattr(version, each) for each in RESTORED if getattr(version, each) != getattr(old, each)}
        if "global_" in members and not may_change_global:
            raise Forbidden(f"the rollback would change global policies of {name}, which only administrators may do")
        _check(old, version, rules, limits)
        refused = too_many_after(str(name), len(old.labels), len(version.labels), rules)
        if refused:
            return Refuse(Verdict.TOO_MANY_LABELS, refused)
        return replace_members(str(name), members, lambda: below_topics(engine, name.namespace))(old)

    return of_topic(str(name), change)


def _check(old: TopicRecord, new: TopicRecord, rules: LabelRules, limits: Limits) -> None:
    """Check what differs as if it were set now.

    Raises:
        InvalidLabels, InvalidPolicy, PolicyUnmet, Forbidden: it may not be set.
        PoliciesDisabled: some policy differs, and this node has none.
    """
    if not limits.policies_enabled and (old.local, old.global_) != (new.local, new.global_):
        raise PoliciesDisabled("policies of topics are disabled on this node, and the rollback would change some")
    check_labels({key: value for key, value in new.labels.items() if old.labels.get(key) != value}, rules)
    check_changed(old.local or EMPTY, new.local or EMPTY, limits)
    check_changed(old.global_ or EMPTY, new.global_ or EMPTY, limits)
