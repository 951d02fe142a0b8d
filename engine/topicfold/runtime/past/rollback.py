"""Rollback: restores what an earlier version of a topic or a namespace said, in one update."""

from __future__ import annotations

from typing import assert_never

from topicfold.errors import Forbidden, InvalidRequest, NotFound, PoliciesDisabled, Undecodable
from topicfold.model.desired import NAMESPACE_POLICIES, SCOPES, with_members
from topicfold.model.events import Verdict
from topicfold.model.labels import LabelRules, check_labels, too_many_after
from topicfold.model.names import TopicName
from topicfold.model.policy.limits import Limits
from topicfold.model.policy.resolve import broker_level
from topicfold.model.policy.whole import check_changed
from topicfold.model.records import EMPTY, NamespaceRecord, Record, TopicRecord, UnreadableRecord
from topicfold.model.updates import Refuse, Updater, of_namespace, of_topic
from topicfold.runtime.asking import Asked, Written
from topicfold.runtime.engine import Engine
from topicfold.runtime.past.versions import find_version
from topicfold.runtime.policies import below_topics
from topicfold.runtime.writing.update import Target
from topicfold.runtime.writing.writing import Writing

RESTORED = ("labels", "properties", *SCOPES)
RESTORED_OF_NAMESPACE = ("properties", NAMESPACE_POLICIES)
"""The members of records that are restored. Grants are none of them: what was revoked stays revoked."""

Version = tuple[int, TopicRecord | NamespaceRecord]
"""Its offset, and what it said."""


async def version_to_restore(engine: Engine, place: str | TopicName, to: str, asked: Asked, since: int = 0) -> Version:
    """Return the version `to` of a topic, or of the namespace that a text names, of those from offset `since` on.

    Raises:
        VersionNotFound, InvalidRequest: there is no such version, or it is an end of the topic or the namespace.
        TopicNotFound, NamespaceNotFound: there never was such a thing.
        Undecodable: the record cannot be read.
        Wait: as every write.
    """
    target = engine.target_of(place)
    await engine.readiness.wait([target.partition], engine.options.ready_timeout_seconds)
    await engine.reach(asked.minimum, asked.deadline)
    try:
        version = await find_version(engine, target, to, asked.deadline, since)
    except NotFound:
        # It may have been made on another node a moment ago.
        await engine.barriers.wait([target.partition], asked.deadline)
        version = await find_version(engine, target, to, asked.deadline, since)
    match version.record:
        case TopicRecord() | NamespaceRecord() as record:
            return version.offset, record
        case UnreadableRecord():
            raise Undecodable(
                f"version {version.offset} of {place} cannot be read", name=str(place), hint="Choose another."
            )
        case _:
            noun = "topic" if isinstance(place, TopicName) else "namespace"
            raise InvalidRequest(
                f"version {version.offset} is the end of {place}",
                hint=f"Choose the version before, or delete the {noun}.",
            )


async def roll_back(
    engine: Engine,
    writing: Writing,
    place: str | TopicName,
    version: Version,
    asked: Asked,
    *,
    may_change_global: bool = True,
) -> Written:
    """Give a topic the labels, properties and policies of a version of it, or a namespace the last two, in one update.

    Partitions, the name in Kafka and grants stay as they are. What differs must be allowed now, as if it were set anew.

    Raises:
        Forbidden, PoliciesDisabled: it would change what may not be changed, or policies where there are none.
        TopicNotFound, NamespaceNotFound, PreconditionFailed, PolicyUnmet, InvalidPolicy, InvalidLabels: refused.
        Undecodable: the record cannot be read now.
        Wait, OutcomeUnknown: as every write.
    """
    if not asked.reason:
        asked = asked._replace(reason=f"rollback to version {version[0]}")
    updater = restoring(engine, place, version, may_change_global=may_change_global)
    if isinstance(place, TopicName):
        return await writing.change_topic(place, updater, asked)
    return await writing.change_namespace(place, updater, asked)


def restoring(engine: Engine, place: str | TopicName, version: Version, *, may_change_global: bool) -> Updater:
    """Return the update that gives a topic or a namespace what `version` of it said, as far as it differs.

    Raises:
        Forbidden, InvalidLabels, InvalidPolicy, PolicyUnmet, PoliciesDisabled: when it is run; it may not be set now.
    """
    match version[1]:
        case TopicRecord() as record:
            return _restoring_topic(engine, engine.target_of(place), record, may_change_global=may_change_global)
        case NamespaceRecord() as record:
            return _restoring_namespace(str(place), record, engine.options.limits)
        case _:
            assert_never(version[1])


def _restoring_namespace(name: str, version: NamespaceRecord, limits: Limits) -> Updater:
    def change(old: NamespaceRecord) -> NamespaceRecord | Refuse:
        check_changed(old.policies, version.policies, limits)
        members = {each: getattr(version, each) for each in RESTORED_OF_NAMESPACE}
        return with_members(old, members, lambda: broker_level(limits))

    return of_namespace(name, change)


def _restoring_topic(engine: Engine, target: Target, version: TopicRecord, *, may_change_global: bool) -> Updater:
    name, rules, limits = target.name, engine.options.label_rules, engine.options.limits

    def change(old: TopicRecord) -> Record | Refuse | None:
        members = {each: getattr(version, each) for each in RESTORED if getattr(version, each) != getattr(old, each)}
        if "global_" in members and not may_change_global:
            raise Forbidden(f"the rollback would change global policies of {name}, which only administrators may do")
        _check(old, version, rules, limits)
        refused = too_many_after(name, len(old.labels), len(version.labels), rules)
        if refused:
            return Refuse(Verdict.TOO_MANY_LABELS, refused)
        return with_members(old, members, lambda: below_topics(engine, target.namespace))

    return of_topic(name, change)


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
