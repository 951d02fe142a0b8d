"""Writing on a node with a Kafka cluster: topics are created, grown and deleted in Kafka, too.

    asked ─► would Kafka do it? ─► the log decides, and notes the step ─► Kafka ─► the note is removed ─► answered
              503, 400, 409: nothing was written       from here on `KafkaRepair` completes what a crash interrupts

So after an answer without an error, record and Kafka topic are both as asked. A node that cannot continue after the
log decided answers 504: the change is made, and Kafka follows when it can.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

from topicfold.errors import (
    ClusterRefused,
    ClusterUnavailable,
    FixRequest,
    NotEmpty,
    NotFound,
    OutcomeUnknown,
    Overloaded,
    TopicfoldError,
    TopicNotFound,
    Wait,
)
from topicfold.model.events import AggregateKind, Verdict, operation_text
from topicfold.model.kafka import steps as kafka_steps
from topicfold.model.kafka.adoption import KafkaTopic
from topicfold.model.names import TopicName, recorded_topic, topic_of_key
from topicfold.model.records import Pending, Step, TopicRecord
from topicfold.model.updates import Refuse, Updater
from topicfold.runtime.asking import ACTOR, Asked, Written
from topicfold.runtime.at_once import each_at_once
from topicfold.runtime.engine import Engine
from topicfold.runtime.kafka.records import holder_of, record_of
from topicfold.runtime.kafka.topics import KafkaTopics
from topicfold.runtime.slices import Slice
from topicfold.runtime.tenancy import look_at
from topicfold.runtime.writing.writing import Writing
from topicfold.text.counting import counted

_LOOKS = 5
_AT_ONCE = 16
PAUSE_SECONDS = 0.02
_PAUSES = 100
_AWAY_HINT = "Try again in a few seconds. GET /readyz?verbose tells whether this node reaches the Kafka cluster."


class KafkaWriting(Writing):
    """The writes of one node. Only those that create, grow or delete topics differ from `Writing`."""

    def __init__(self, engine: Engine, kafka_topics: KafkaTopics) -> None:
        super().__init__(engine)
        self._kafka_topics = kafka_topics

    async def create_topic(self, name: TopicName, record: TopicRecord, asked: Asked) -> Written:
        """Create a topic and its Kafka topic; an existing one with as many partitions is taken as it is.

        Raises:
            InvalidName: it has no Kafka name of its own and the record names none, or Kafka allows no such name.
            InvalidLabels: all violations at once.
            AlreadyExists: the topic, or its Kafka topic with other partitions, or as another topic's.
            ClusterRefused, NamespaceNotFound: refused.
            ClusterUnavailable: Kafka cannot be asked, or still has one of that name that is being deleted; nothing is
                made.
            OutcomeUnknown: the topic is recorded, and its Kafka topic follows.
        """
        self._check_creation(name, record)
        kafka_topic = self._kafka_topics.intended(name, record)
        if kafka_topic is None:
            return await super().create_topic(name, record, asked)
        found: Refuse | KafkaTopic | None = await self._refusal_of_a_second(kafka_topic, name)
        if found is None:
            with self._asking_kafka(name):
                found = await self._kafka_topics.before_creation(name, record, kafka_topic)
        is_taken = isinstance(found, KafkaTopic) and not await self._was_tried(name, asked)
        new = replace(record, pending=Pending(Step.MAKE))
        refusal = found if isinstance(found, Refuse) else None
        written = await self._topic(name, kafka_steps.create(str(name), new, refusal), asked, replaces_whole=True)
        finished = await self._finished(name, Step.MAKE, written, asked)
        return finished._replace(taken_kafka_topic=kafka_topic if is_taken else "")

    async def _was_tried(self, name: TopicName, asked: Asked) -> bool:
        """Return whether the log has decided by now on an earlier attempt, which another node may have taken.

        That attempt may have created the Kafka topic that this one found.

        Raises:
            NotReady, LogUnavailable, PositionTimeout: it could not be looked at in time.
        """
        if asked.key is None:
            return False
        target = self._engine.target(AggregateKind.TOPIC, str(name), name.namespace)
        await look_at(self._engine, [target.partition], asked)
        return self._is_decided(target, asked)

    async def creation(self, name: TopicName, record: TopicRecord) -> Updater:
        """Return the update of `create_topic`, as far as it can be known without asking Kafka."""
        self._check_creation(name, record)
        return await self._creation(name, record, self._kafka_topics.intended(name, record))

    async def recording(self, name: TopicName, record: TopicRecord) -> Updater:
        """Return the update that makes a topic's record, refused if its Kafka topic belongs to another topic."""
        self._check_creation(name, record)
        return await self._creation(name, record, self._kafka_topics.standing(name, record))

    async def delete_topic(self, name: TopicName, asked: Asked, *, is_partitioned: bool | None = None) -> Written:
        """Delete a topic and its Kafka topic with all messages; `is_partitioned` None accepts either kind.

        A Kafka topic that another topic stands for, too, is left alone.

        Raises:
            TopicNotFound, NamespaceNotFound, WrongKind, PreconditionFailed: refused.
            ClusterUnavailable: Kafka cannot be asked; nothing is ended.
            OutcomeUnknown: the topic's end is decided, and Kafka follows.
        """
        live = record_of(self._engine, name)
        if live is not None and not live.is_ending:
            answered = self.answered(name, asked)
            if answered is not None:
                return answered
        found: KafkaTopic | None = None

        async def updater() -> Updater:
            nonlocal found
            seen, found = record_of(self._engine, name), None
            kafka_topic = await self._kafka_topic(name, seen)
            if kafka_topic is None:
                return kafka_steps.end(str(name), seen, None, is_partitioned=is_partitioned)
            if seen and seen.pending and seen.pending.step is Step.MAKE:
                await self._leave_to_others(name)
                with contextlib.suppress(ClusterRefused):
                    await self.finish(name, Step.MAKE)
                    seen = replace(seen, pending=None)
            found = await self._kafka_topics.look(kafka_topic)
            return kafka_steps.end(str(name), seen, found.id if found else "", is_partitioned=is_partitioned)

        written = await self._looking(name, updater, asked, replaces_whole=True)
        finished = await self._finished(name, Step.END, written, asked)
        # Another record may have come to stand for it since the look.
        if found is None or await holder_of(self._engine, found.name, name) is not None:
            return finished
        return finished._replace(deleted_kafka_topic=found.name)

    async def grow_partitions(self, name: TopicName, partitions: int, asked: Asked) -> Written:
        """Raise the number of partitions of a partitioned topic, in Kafka too.

        Asking for the current number creates the partitions that Kafka lacks.

        Raises:
            WrongKind: it is none.
            FewerPartitions: it has more already, or Kafka's has.
            ClusterRefused: refused by Kafka.
            ClusterUnavailable: Kafka cannot be asked; nothing is changed.
            OutcomeUnknown: the new number is recorded, and Kafka follows.
        """

        async def updater() -> Updater:
            seen = record_of(self._engine, name)
            kafka_topic = await self._kafka_topic(name, seen)
            if kafka_topic is None or seen is None or partitions < seen.partitions:
                return kafka_steps.grow(str(name), partitions, seen, None, needs_kafka=False)
            found = await self._kafka_topics.look(kafka_topic)
            refusal = await self._kafka_topics.refusal_of_growth(kafka_topic, found, partitions)
            needs_kafka = found is None or found.partitions < partitions
            return kafka_steps.grow(str(name), partitions, seen, refusal, needs_kafka=needs_kafka)

        return await self._finished(name, Step.MAKE, await self._looking(name, updater, asked), asked)

    async def delete_namespace(self, name: str, asked: Asked, *, force: bool = False) -> Written:
        """Delete a namespace; with `force` first its topics and their Kafka topics, which may stop half-way.

        Raises:
            NotEmpty: topics live in it; with `force` one that was made meanwhile, and those before it are gone.
            NamespaceNotFound, PreconditionFailed: refused.
            ClusterUnavailable: Kafka cannot be asked; nothing is ended.
            OutcomeUnknown: some of its topics are ended, the namespace is not.
        """
        ends_topics = force and await self._may_end(name, asked)
        if ends_topics:
            await self._end_topics(name, asked)
        try:
            return await super().delete_namespace(name, asked)
        except NotEmpty as error:
            if not ends_topics:
                raise
            reason = f"namespace {name} was not deleted: a topic was created in it meanwhile; those it had are deleted"
            raise NotEmpty(reason, hint="Delete it again once nobody creates topics in it.") from error

    async def finish(self, name: TopicName, step: Step) -> Written | None:
        """Take the step in Kafka that the record of `name` waits for, if it is this one, and remove the note.

        Returns the last write, None where there was nothing to do.

        Raises:
            ClusterUnavailable, ClusterRefused: Kafka cannot do it, or not now.
            Wait, OutcomeUnknown: it may be done, and could not be noted.
        """
        take = self._make if step is Step.MAKE else self._end
        written = None
        while (record := record_of(self._engine, name)) is not None and record.pending and record.pending.step is step:
            written = await take(name, record, await self._kafka_topic(name, record))
        return written

    async def _make(self, name: TopicName, record: TopicRecord, kafka_topic: str | None) -> Written | None:
        made = await self._kafka_topics.make(kafka_topic, max(record.partitions, 1)) if kafka_topic else None
        written = await self._note(name, kafka_steps.done(str(name), record), "its Kafka topic is as it says")
        if made and record_of(self._engine, name) is None and not await self._is_anothers(made.name, name):
            await self._kafka_topics.end(made.name, made.id)
        return written

    async def _end(self, name: TopicName, record: TopicRecord, kafka_topic: str | None) -> Written | None:
        if kafka_topic and record.pending:
            await self._kafka_topics.end(kafka_topic, record.pending.kafka_id)
        became = "is deleted" if kafka_topic else "stays: another topic stands for it, too"
        return await self._note(name, kafka_steps.done(str(name), record), f"its Kafka topic {became}")

    async def _kafka_topic(self, name: TopicName, record: TopicRecord | None) -> str | None:
        """Return the Kafka topic that is created and deleted with `record`; None if it is also another topic's."""
        kafka_topic = None if record is None else self._kafka_topics.standing(name, record)
        return kafka_topic if kafka_topic and not await self._is_anothers(kafka_topic, name) else None

    async def _creation(self, name: TopicName, record: TopicRecord, kafka_topic: str | None) -> Updater:
        refusal = await self._refusal_of_a_second(kafka_topic, name) if kafka_topic else None
        return kafka_steps.create(str(name), record, refusal)

    async def _refusal_of_a_second(self, kafka_topic: str, name: TopicName) -> Refuse | None:
        """Return why `name` cannot stand for `kafka_topic`, too. Does not name the other topic, which may be hidden."""
        if not await self._is_anothers(kafka_topic, name):
            return None
        belongs = f"the Kafka topic {kafka_topic} belongs to another topic"
        return Refuse(Verdict.ALREADY_EXISTS, belongs, "Create the topic under another name.")

    async def _is_anothers(self, kafka_topic: str, name: TopicName) -> bool:
        """Return whether another topic than `name` stands for `kafka_topic`.

        A yes is looked at again after a barrier in that topic's partition: it may have ended on another node.

        Raises:
            NotReady, LogUnavailable, PositionTimeout: it could not be looked at in time.
        """
        deadline = self._engine.deadline()
        fresh = set[int]()
        while (holder := await holder_of(self._engine, kafka_topic, name)) is not None:
            partition = self._engine.partition(recorded_topic(holder).namespace)
            if partition in fresh:
                return True
            await look_at(self._engine, [partition], Asked(deadline))
            fresh.add(partition)
        return False

    async def _looking(
        self,
        name: TopicName,
        updater: Callable[[], Awaitable[Updater]],
        asked: Asked,
        *,
        replaces_whole: bool = False,
    ) -> Written:
        """Submit an update based on a look at the record and at Kafka; look again if the record has changed."""
        for _ in range(_LOOKS):
            with self._asking_kafka(name):
                update = await updater()
            with contextlib.suppress(kafka_steps.LookAgain):
                return await self._topic(name, update, asked, replaces_whole=replaces_whole)
        raise Overloaded(f"topic {name} keeps being created and deleted by others")

    @contextlib.contextmanager
    def _asking_kafka(self, name: TopicName) -> Iterator[None]:
        """Ask Kafka within the block about a change of `name`, which nothing is written of yet.

        Where the log takes no change, which is known, Kafka is not asked: it may be the same that is away, and be
        waited for in vain.

        Raises:
            LogUnavailable, NotReady: the log takes none.
            ClusterUnavailable: Kafka does not answer, and what to do for who cannot see to its brokers.
        """
        refusal = self._engine.freshness.refuses_writes(self._engine.partition(name.namespace))
        if refusal is not None:
            raise refusal
        try:
            yield
        except ClusterUnavailable as error:
            hint = error.hint if error.is_of_one_topic else _AWAY_HINT
            raise ClusterUnavailable(f"{error.reason}; the change is not applied", hint=hint, **error.values) from error

    async def _finished(self, name: TopicName, step: Step, written: Written, asked: Asked) -> Written:
        """Return the answer to a change once Kafka has followed.

        A step that somebody else noted is left to them for a while: of two that delete at once, the slower could
        meet a topic that was made anew.

        Raises:
            OutcomeUnknown: it has not in time.
        """
        try:
            async with asyncio.timeout_at(asked.deadline):
                if not written.changed:
                    await self._leave_to_others(name)
                elif step is Step.END:
                    await self._confirm_end(name)
                last = await self.finish(name, step)
        except (Wait, FixRequest, OutcomeUnknown, TimeoutError) as error:
            reason = error.reason if isinstance(error, TopicfoldError) else "it takes longer than the request may"
            raise OutcomeUnknown(
                f"{'the end of ' if step is Step.END else ''}topic {name} is recorded, "
                f"but its Kafka topic has not followed yet: {reason}",
                operation=written.operation,
                remedy=_remedy(error),
            ) from error
        return written if last is None else written._replace(revision=last.revision)

    async def _confirm_end(self, name: TopicName) -> None:
        """Look at the Kafka topic once more, now that the topic's end is noted.

        Between the first look and the note the topic may have been ended and made anew by others, both in Kafka too.
        """
        record = record_of(self._engine, name)
        kafka_topic = await self._kafka_topic(name, record)
        if record is None or kafka_topic is None or record.pending is None or record.pending.step is not Step.END:
            return
        found = await self._kafka_topics.look(kafka_topic)
        if found is not None and found.id != record.pending.kafka_id:
            await self._note(name, kafka_steps.end_of(str(name), record, found.id), "its Kafka topic was recreated")

    async def _leave_to_others(self, name: TopicName) -> None:
        """Return once the record of `name` waits for nothing, or others have had enough time."""
        for _ in range(_PAUSES):
            record = record_of(self._engine, name)
            if record is None or record.pending is None:
                return
            await asyncio.sleep(PAUSE_SECONDS)

    async def _note(self, name: TopicName, updater: Updater, reason: str) -> Written | None:
        """Change a note in the record of `name`; return None if the topic is gone."""
        with contextlib.suppress(NotFound):
            return await self._topic(name, updater, Asked(self._engine.deadline(), ACTOR, reason))
        return None

    async def _may_end(self, name: str, asked: Asked) -> bool:
        """Return whether, as far as is known, only its topics prevent deleting the namespace."""
        partition = self._engine.partition(name)
        await look_at(self._engine, [partition], asked)
        state = self._engine.states[partition]
        target = self._engine.target(AggregateKind.NAMESPACE, name)
        if self._is_decided(target, asked):
            return False
        owner = state.current(AggregateKind.NAMESPACE, name)
        return owner.is_live and not asked.if_none_match and asked.if_match in ("", "*", str(owner.etag))

    async def _end_topics(self, name: str, asked: Asked) -> None:
        """Delete every topic of a namespace, several at once; where one is not, those that are not begun are left.

        Raises:
            OutcomeUnknown: only some are ended, or may be.
        """
        table = self._engine.states[self._engine.partition(name)].topics[name]
        keys = table.keys_of(table.live)

        async def end(key: str) -> None:
            own = asked._replace(deadline=self._engine.deadline(), key=None, if_match="")
            with contextlib.suppress(TopicNotFound):
                await self.delete_topic(recorded_topic(topic_of_key(name, key)), own)

        errors = await each_at_once(end, keys, _AT_ONCE)
        if not errors:
            return
        error = next((each for each in errors if not isinstance(each, TopicfoldError)), errors[0])
        work, ended = Slice(), 0
        for key in keys:
            ended += record_of(self._engine, recorded_topic(topic_of_key(name, key))) is None
            await work.rest()
        is_half_done = ended or any(isinstance(each, OutcomeUnknown) for each in errors)
        if not is_half_done or not isinstance(error, TopicfoldError):
            raise error
        target = self._engine.target(AggregateKind.NAMESPACE, name)
        raise OutcomeUnknown(
            f"namespace {name} was not deleted; of its {counted(len(keys), 'topic')}, {ended} were, "
            f"as far as is known: {error.reason}",
            operation=operation_text(target.partition, self._handle(target, asked)),
            hint="Delete it again: what was deleted stays deleted.",
            remedy=_remedy(error),
        )


def _remedy(error: Exception) -> str:
    """Return how Kafka comes to allow what it did not, "" where `error` is about something else."""
    if not isinstance(error, TopicfoldError):
        return ""
    return error.hint if error.values.get("is_denied") else error.values.get("remedy", "")
