"""Dry runs: the answer that a change of a topic or a namespace would get, as of a barrier.

Nothing is appended, or asked of Kafka. A moment later the answer may be different. To be sure that it still holds,
send the change with `If-Match`.
"""

from __future__ import annotations

import asyncio

from topicfold.model import updates
from topicfold.model.events import Operation, Verdict, is_refusal
from topicfold.model.names import TopicName
from topicfold.model.updates import Updater
from topicfold.runtime.asking import Asked, Written
from topicfold.runtime.engine import Engine
from topicfold.runtime.reading import Reading
from topicfold.runtime.tenancy import look_at
from topicfold.runtime.writing.conditions import Conditions, MustLook
from topicfold.runtime.writing.group_commit import run_group
from topicfold.runtime.writing.refusals import refusal
from topicfold.runtime.writing.update import Target, Update


async def would_create(engine: Engine, name: TopicName, creation: Updater, asked: Asked) -> Written:
    """Return what making a topic would come to, by an update of `Writing.creation` or `Writing.recording`.

    Raises:
        AlreadyExists, NamespaceNotFound, InvalidRequest: it would be refused.
        LogUnavailable, PositionTimeout: the log cannot be asked.
    """
    return await _tried(engine, name, creation, asked, replaces_whole=True)


async def would_change(engine: Engine, place: str | TopicName, updater: Updater, asked: Asked) -> Written:
    """Return what a change of a topic's or a namespace's record would come to; its ETag is that of the record as it is.

    Raises:
        TopicNotFound, NamespaceNotFound, PolicyUnmet, InvalidRequest, PreconditionFailed: it would be refused.
        LogUnavailable, PositionTimeout: the log cannot be asked.
    """
    return await _tried(engine, place, updates.unless_ending(str(place), updater), asked, replaces_whole=False)


async def would_delete(engine: Engine, name: TopicName, asked: Asked) -> Written:
    """Return what deleting a topic of either kind would come to.

    Raises:
        TopicNotFound, NamespaceNotFound, PreconditionFailed: it would be refused.
        LogUnavailable, PositionTimeout: the log cannot be asked.
    """
    deletion = updates.unless_ending(str(name), updates.delete_topic(str(name), is_partitioned=None))
    return await _tried(engine, name, deletion, asked, replaces_whole=True)


async def _tried(
    engine: Engine, place: str | TopicName, updater: Updater, asked: Asked, *, replaces_whole: bool
) -> Written:
    target = engine.target_of(place)
    conditions = Conditions(engine, asked.sees)
    if isinstance(place, TopicName):
        updater = conditions.of_topic(place, updater)
    else:
        updater = conditions.of_namespace(place, updater)
    partitions = frozenset({target.partition})
    await engine.reach(asked.minimum, asked.deadline)
    while True:
        await look_at(engine, partitions, asked)
        conditions.looked(partitions)
        try:
            return _outcome(engine, target, updater, asked, replaces_whole=replaces_whole)
        except MustLook as wanted:
            partitions = wanted.partitions


def _outcome(engine: Engine, target: Target, updater: Updater, asked: Asked, *, replaces_whole: bool) -> Written:
    """Return what an update would come to on what is folded here."""
    Reading(engine).require_namespace(target.namespace)
    update = Update(
        target,
        Operation(engine.options.new_id(), 0, False, bytes(8)),
        updater,
        asked.audit,
        asyncio.get_running_loop().create_future(),
        if_match=asked.if_match,
        if_none_match=asked.if_none_match,
        replaces_whole=replaces_whole,
    )
    current = engine.states[target.partition].current(target.kind, target.name)
    group = run_group(target, [update], current, engine.options.new_id())
    if update.settled.done():
        update.settled.result()
    if update.failure is not None:
        raise update.failure
    if is_refusal(group.verdicts[0]):
        raise refusal(group.verdicts[0], update.refusal, target, str(group.etags[0]))
    is_changed = group.verdicts[0] == Verdict.CHANGED
    return Written(str(current.etag), engine.revision([target.partition]), "", is_changed)
