"""Kafka's consumer, kept subscribed to the topics that there are; the I/O of `subscription`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from topicfold.client.consuming.assignment_check import AssignmentCheck, Elsewhere
from topicfold.client.consuming.callbacks import Callbacks
from topicfold.client.consuming.gate import Gate
from topicfold.client.consuming.going_on import GoingOn
from topicfold.client.consuming.kafka_consumer import (
    chooses_protocol,
    close_consumer,
    is_about_missing_topic,
    is_incremental,
    is_membership_lost,
    is_protocol_refused,
    open_consumer,
    sasl_settings,
    stores_by_itself,
)
from topicfold.client.consuming.start_over import StartOver
from topicfold.client.consuming.subscription import Partition, Subscription, partition_of
from topicfold.errors import BadSetting
from topicfold.kafka_client import error_in

HandOut = Callable[[Consumer, float], Iterable[Message | None]]

_log = logging.getLogger(__name__)

_MAX_REOPENED = 5
"""So often in a row a consumer that died is replaced before the caller is told."""
_MAX_POLL_INTERVAL = "max.poll.interval.ms"
_MAX_POLL_INTERVAL_MS = 300_000
"""What Kafka's client takes for that, after which a member that does not poll is out of the group."""
_COMMITTED_SECONDS = 2.0
_GIVE_WAY_SECONDS = 0.1
_STORES_ITSELF = "StoreOffsets failed: enable.auto.offset.store is not false, so offsets are stored without the caller"
_NOTICE_SECONDS = 30.0
"""So long at most, it takes a member that polls to notice that a topic was made anew, and to leave the former one."""


class SubscribedConsumer:
    """A consumer with the settings `conf`. `on_missing` is called when Kafka says that a topic is gone.

    One that died or got stuck is replaced, and so is one that has known a topic which was made anew: what was not
    committed is read again. One thread tends and polls it; any may pause, resume, and have it `in_use`.
    """

    def __init__(
        self,
        conf: Mapping[str, Any],
        on_rebalance: Mapping[str, Callable[..., None]],
        on_missing: Callable[[], None],
        elsewhere: Elsewhere,
    ) -> None:
        """Make a consumer that is subscribed to nothing yet; nothing is sent.

        `on_rebalance` are `on_assign`, `on_revoke` and `on_lost`, as `Consumer.subscribe` takes them. What they raise,
        and the callbacks of `conf`, is raised by `poll`, `consume` or `close`; by the next one where there are records.

        Raises:
            BadSetting: librdkafka does not take `conf`.
        """
        self._callbacks = Callbacks()
        self._conf = self._callbacks.of_settings(conf)
        self._told = self._callbacks.kept_from(on_rebalance)
        own = {"on_assign": self._on_assign, "on_revoke": self._on_revoke, "on_lost": self._on_lost}
        self._on_rebalance = self._callbacks.kept_from(own)
        self._stores = stores_by_itself(conf)
        self._on_missing = on_missing
        self._is_newer = True
        self._subscription = Subscription(_distrust_seconds(conf))
        self._check = AssignmentCheck(elsewhere)
        self._ends: dict[str, Mapping[int, int]] = {}
        self._reopened = 0
        self._is_lost = False
        self._going_on = GoingOn()
        self._revoked: set[Partition] = set()
        self._is_handing_out = False
        """Whether a call of Kafka's client did not end that hands out records, or these were not passed on."""
        self._telling: Consumer | None = None
        """That of which a callback runs: while one is left, that one, which can still commit."""
        self._gate = Gate()
        self._kafka: Consumer = open_consumer(self._conf, newer=True)
        self._is_incremental = is_incremental(self._conf)
        self._start_over = StartOver(self._kafka, self._gate)

    def tend(self, there: Mapping[str, str]) -> None:
        """Subscribe to the topics that are `there`, with their ids, if one is subscribed to others.

        Nothing is done while a call of another thread takes long.
        """
        if not self._gate.give_way(_GIVE_WAY_SECONDS):
            return
        try:
            self._tend(there)
        except KafkaException as error:
            # It died; the next poll returns the error that says why.
            if error_in(error).code() != KafkaError._FATAL:
                raise

    def keeps(self, held: Collection[Partition], there: Mapping[str, str]) -> bool:
        """Return whether `tend` would leave these partitions, of which records are held, as they are."""
        return self._subscription.keeps(held, there)

    @contextmanager
    def in_use(self) -> Iterator[Consumer]:
        """Yield the consumer to any thread, within a callback the one that calls back; it is not closed meanwhile."""
        # Kafka's client hangs for good where one thread closes it while others go on calling.
        with self._gate:
            yield self._telling or self._kafka

    def store_offsets(self, message: Message | None, offsets: list[TopicPartition] | None) -> None:
        """Have the next commit be behind a record, or where these partitions say.

        Raises:
            KafkaException: `conf` says, or leaves it so, that this is done without the caller. Kafka's client refuses
                it then, as it does not know here: who believes that it is his to do loses what he was working on.
        """
        with self.in_use() as kafka:
            if self._stores:
                raise KafkaException(KafkaError(KafkaError._INVALID_ARG, _STORES_ITSELF))
            kafka.store_offsets(message=message, offsets=offsets)

    def seek(self, partition: TopicPartition) -> None:
        """Go on from another offset, also as another consumer."""
        with self._gate:
            self._kafka.seek(partition)
            self._going_on.at({_name(partition): partition.offset})

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Return no records of these partitions until `resume`.

        Raises:
            TypeError: one of them is no `TopicPartition`.
        """
        named = _named(partitions)
        with self._gate:
            self._start_over.pause(named)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Return records of these partitions again.

        Raises:
            TypeError: one of them is no `TopicPartition`.
        """
        named = _named(partitions)
        with self._gate:
            self._start_over.resume(named)

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Log in with these from the next connection on, also as another consumer."""
        with self._gate:
            self._kafka.set_sasl_credentials(username, password)
            self._conf |= sasl_settings(username, password)

    def close(self) -> None:
        """Leave the group."""
        self._check.close()
        with self._gate.alone():
            close_consumer(self._kafka, self._conf)
        self._callbacks.raise_kept()

    def _tend(self, there: Mapping[str, str]) -> None:
        if self._is_lost:
            self._reopen()
        if anew := self._subscription.made_anew(there):
            # librdkafka 2.16 takes no lower leader epoch than it has seen for a name, and those of a topic begin at
            # zero: where a leader had ever moved, or restarted, it would ask for the new topic in vain.
            _log.info("a topic was recreated; rejoining the group")
            self._reopen()
            self._going_on.forget(anew)
        now, assigned = time.monotonic(), self._kafka.assignment()
        names = {each.topic for each in assigned}
        target = self._subscription.next(there, names, self._in_flight(assigned), now)
        if target:
            self._kafka.subscribe(sorted(target), **self._on_rebalance)
        elif target is not None:
            self._kafka.unsubscribe()
        if target is not None:
            self._check.reset()
        elif self._check.is_stuck(self._subscription.current, names, self._kafka.memberid() or "", now):
            _log.info("Kafka's client keeps an old assignment; rejoining the group")
            self._reopen()
            return
        self._note_ends(assigned)
        self._tend_start_over(_named(assigned))

    def _on_assign(self, kafka: Consumer, partitions: list[TopicPartition]) -> None:
        """Have partitions begin where they go on, unless the caller has them begin elsewhere.

        To seek later is too late: the poll that assigns a partition may return its first records as well.
        """
        named = _named(partitions)
        assigned = named.union(_named(kafka.assignment()))
        starts = dict.fromkeys(self._subscription.starts_over(assigned), OFFSET_BEGINNING)
        starts |= self._uncommitted(self._going_on.take_left(named - starts.keys(), time.monotonic()))
        own = [TopicPartition(each.topic, each.partition, starts.get(_name(each), each.offset)) for each in partitions]
        self._tell("on_assign", kafka, own)
        if own and named.isdisjoint(_named(kafka.assignment())):
            (kafka.incremental_assign if self._is_incremental else kafka.assign)(own)
        begun = [each for each in kafka.assignment() if _name(each) in named]
        self._going_on.at({_name(each): each.offset for each in begun})
        self._tend_start_over(assigned)

    def _uncommitted(self, left: dict[Partition, int]) -> dict[Partition, int]:
        """Return those of which the group has no offset, as far as that can be learnt."""
        if not left:
            return left
        try:
            answers = self._kafka.committed([TopicPartition(*each) for each in left], timeout=_COMMITTED_SECONDS)
        except KafkaException as error:
            _log.info("the group's committed offsets are not known: %s", error)
            return left
        committed = {_name(each) for each in answers if each.error is None and each.offset >= 0}
        return {partition: offset for partition, offset in left.items() if partition not in committed}

    def _on_revoke(self, kafka: Consumer, partitions: list[TopicPartition]) -> None:
        self._take_away("on_revoke", kafka, partitions)

    def _on_lost(self, kafka: Consumer, partitions: list[TopicPartition]) -> None:
        self._take_away("on_lost" if "on_lost" in self._told else "on_revoke", kafka, partitions)

    def _take_away(self, name: str, kafka: Consumer, partitions: list[TopicPartition]) -> None:
        """Have partitions begin where the group says, unless their consumer is left and the caller is not told of it.

        Who is told drops what he has not committed, such as a transaction, and counts on having it again.
        """
        if kafka is self._kafka or name in self._told:
            self._revoked |= _named(partitions)
            self._going_on.revoked(_named(partitions))
        self._tell(name, kafka, partitions)

    def _tell(self, name: str, kafka: Consumer, partitions: list[TopicPartition]) -> None:
        if name in self._told:
            before, self._telling = self._telling, kafka
            try:
                self._told[name](kafka, partitions)
            finally:
                self._telling = before

    def take_revoked(self) -> Collection[Partition]:
        """Return the partitions that were revoked or lost since this was last called: they begin where the group says.

        Not those of a consumer that was replaced, if the caller was not told: they may be read on behind what is held.
        """
        revoked, self._revoked = self._revoked, set()
        return revoked

    def _tend_start_over(self, assigned: Collection[Partition]) -> None:
        for partition in self._start_over.tend(self._subscription.starts_over(assigned), assigned):
            self._subscription.restarted(partition)

    def poll(self, seconds: float) -> Message | None:
        """Return the next record, or the next error that the caller must know of; None if there is none in time."""
        messages = self._for_caller(seconds, lambda kafka, rest: [kafka.poll(rest)])
        return messages[0] if messages else None

    def consume(self, count: int, seconds: float) -> list[Message]:
        """Return up to `count` of them."""
        return self._for_caller(seconds, lambda kafka, rest: kafka.consume(count, rest))

    def store(self, message: Message) -> None:
        """Have the next commit be behind a record that the caller is given now, unless `conf` says that he does this.

        Kafka's client would do it when it hands the record out, and commit soon: what is held here a while before the
        caller is given it would be lost with his process.
        """
        if self._stores and message.error() is None:
            try:
                self._kafka.store_offsets(message=message)
            except KafkaException:
                # Its partition is another member's by now, who reads it again.
                return

    def _left_after_others(self, seconds: float) -> float | None:
        """Let the calls of other threads end, within `seconds`; return how many of these are left, None if none is.

        Kafka's client takes one call at a time, and whoever waits for his turn looks now and then whether it has come:
        one that polls again and again would never let anybody in. Who polls meanwhile waits as long as they do, and
        takes no signal; no time at all is not used up, so that somebody who polls so has his turn, too.
        """
        end = time.monotonic() + seconds
        return max(end - time.monotonic(), 0.0) if self._gate.give_way(seconds) or not seconds else None

    def _for_caller(self, seconds: float, hand_out: HandOut) -> list[Message]:
        self._callbacks.raise_kept()
        rest = self._left_after_others(seconds)
        messages = [] if rest is None else self._passed_on(hand_out, rest)
        if not messages:
            self._callbacks.raise_kept()
        return messages

    def _passed_on(self, hand_out: HandOut, seconds: float) -> list[Message]:
        if self._is_handing_out:
            self._take_back()
        self._is_handing_out = True
        passed_on: list[Message] = []
        behind: dict[Partition, int] = {}
        for message in hand_out(self._kafka, seconds):
            if message is None:
                continue
            error = message.error()
            if error is None:
                self._reopened = 0
                passed_on.append(message)
                behind[partition_of(message)] = (message.offset() or 0) + 1
            elif is_about_missing_topic(error):
                self._on_missing()
            elif is_membership_lost(error) and self._reopened < _MAX_REOPENED:
                self._reopened += 1
                self._is_newer = self._is_newer and not (chooses_protocol(self._conf) and is_protocol_refused(error))
                _log.info("rejoining the group: %s", error.str())
                self._going_on.at(behind)
                behind.clear()
                taken = self._taken_by_reopening()
                passed_on = [each for each in passed_on if partition_of(each) not in taken]
            else:
                passed_on.append(message)
        self._going_on.at(behind)
        self._is_handing_out = False
        return passed_on

    def _take_back(self) -> None:
        """Have come again what Kafka's client handed out and nobody got.

        Where the handler of a signal raises while it waits for records, it throws away those that come.
        """
        try:
            positions = {_name(each): each.offset for each in self._kafka.position(self._kafka.assignment())}
            thrown_away = self._going_on.thrown_away(positions)
            for partition, offset in thrown_away.items():
                if offset < 0:
                    raise KafkaException(KafkaError(KafkaError._NO_OFFSET, f"{partition} began with it"))
                self._kafka.seek(TopicPartition(*partition, offset))
        except KafkaException as error:
            _log.info("rejoining the group, for records that an interrupt had cost: %s", error)
            self._reopen()

    def _reopen(self) -> None:
        """Go on with another consumer; where none can be had, the next tending tries it again.

        Raises:
            BadSetting: librdkafka does not take what it took before, say for want of a token.
        """
        self._is_lost = True
        with self._gate.alone():
            kafka = open_consumer(self._conf, newer=self._is_newer)
            # First: what is interrupted from here on begins again with a consumer that is open.
            left, self._kafka = self._kafka, kafka
            self._start_over = StartOver(kafka, self._gate)
            self._going_on.leave(time.monotonic())
            self._is_handing_out = False
            self._subscription.forget()
            self._check.reset()
            self._ends = {}
            close_consumer(left, self._conf)
        self._is_lost = False

    def _taken_by_reopening(self) -> Collection[Partition]:
        """Go on with another consumer; return the partitions that were revoked or lost by that.

        Not those that were before: Kafka's client hands out only what came after it had them back.
        """
        before, self._revoked = self._revoked, set()
        try:
            self._reopen()
            return frozenset(self._revoked)
        finally:
            self._revoked |= before

    def _note_ends(self, assigned: Iterable[TopicPartition]) -> None:
        """Keep where the topics end that are being left, as far as was heard when that began."""
        leaving = self._subscription.leaving
        begun: dict[str, dict[int, int]] = {topic: {} for topic in leaving - self._ends.keys()}
        for each in assigned if begun else ():
            if each.topic in begun:
                begun[each.topic][each.partition] = self._kafka.get_watermark_offsets(each, cached=True)[1]
        self._ends = {topic: ends for topic, ends in self._ends.items() if topic in leaving} | begun

    def _in_flight(self, assigned: Iterable[TopicPartition]) -> set[str]:
        """Return the topics being left of which records that had arrived were not returned yet."""
        own = self._kafka.position([each for each in assigned if each.topic in self._ends])
        return {each.topic for each in own if each.offset < self._ends[each.topic].get(each.partition, 0)}


def _named(partitions: Iterable[TopicPartition]) -> set[Partition]:
    """Return what these partitions are called.

    Raises:
        TypeError: one of them is no `TopicPartition`.
    """
    given = list(partitions)
    for each in given:
        if not isinstance(each, TopicPartition):
            raise TypeError(f"expected a TopicPartition, not {each!r}")
    return {_name(each) for each in given}


def _name(partition: TopicPartition) -> Partition:
    return partition.topic, partition.partition


def _distrust_seconds(conf: Mapping[str, Any]) -> float:
    """Return after what time no member of a group can commit any more what it read of a topic that was deleted.

    Raises:
        BadSetting: `conf` says for how long a member need not poll, and it is no number.
    """
    interval_ms = conf.get(_MAX_POLL_INTERVAL, _MAX_POLL_INTERVAL_MS)
    try:
        return float(interval_ms) / 1000 + _NOTICE_SECONDS
    except (TypeError, ValueError):
        raise BadSetting(f"{_MAX_POLL_INTERVAL} {interval_ms!r} is not a number of milliseconds") from None
