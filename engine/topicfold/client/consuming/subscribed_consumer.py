"""Kafka's consumer, kept subscribed to the topics that there are; the I/O of `subscription`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from topicfold.client.consuming.assignment_check import AssignmentCheck, Elsewhere
from topicfold.client.consuming.callbacks import Callbacks
from topicfold.client.consuming.gate import Gate
from topicfold.client.consuming.kafka_consumer import (
    chooses_protocol,
    is_about_missing_topic,
    is_membership_lost,
    is_protocol_refused,
    open_consumer,
    sasl_settings,
    stores_by_itself,
)
from topicfold.client.consuming.start_over import StartOver
from topicfold.client.consuming.subscription import Partition, Subscription
from topicfold.errors import BadSetting
from topicfold.kafka_client import error_in

_log = logging.getLogger(__name__)


_MAX_REOPENED = 5
"""So often in a row a consumer that died is replaced before the caller is told."""
_MAX_POLL_INTERVAL = "max.poll.interval.ms"
_MAX_POLL_INTERVAL_MS = 300_000
"""What Kafka's client takes for that, after which a member that does not poll is out of the group."""
_COMMITTED_SECONDS = 2.0
_GIVE_WAY_SECONDS = 0.1
_GO_ON_SECONDS = 60.0
"""For so long, what comes back of a consumer that was left is read on; later, others may have read on there."""
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
        self._on_rebalance = self._callbacks.kept_from(on_rebalance)
        self._stores = stores_by_itself(conf)
        self._on_missing = on_missing
        self._is_newer = True
        self._subscription = Subscription(_distrust_seconds(conf))
        self._check = AssignmentCheck(elsewhere)
        self._ends: dict[str, Mapping[int, int]] = {}
        self._reopened = 0
        self._is_lost = False
        self._left_at: dict[Partition, int] = {}
        """Up to where a consumer that was left had returned records."""
        self._left_until = 0.0
        self._gate = Gate()
        self._kafka: Consumer = open_consumer(self._conf, newer=True)
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
        """Yield the consumer to any thread; it is not closed meanwhile."""
        # Kafka's client hangs for good where one thread closes it while others go on calling.
        with self._gate:
            yield self._kafka

    def store_offsets(self, message: Message | None, offsets: list[TopicPartition] | None) -> None:
        """Have the next commit be behind a record, or where these partitions say.

        Raises:
            KafkaException: `conf` says, or leaves it so, that this is done without the caller. Kafka's client refuses
                it then, as it does not know here: who believes that it is his to do loses what he was working on.
        """
        with self._gate:
            if self._stores:
                raise KafkaException(KafkaError(KafkaError._INVALID_ARG, _STORES_ITSELF))
            self._kafka.store_offsets(message=message, offsets=offsets)

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
            self._kafka.close()
        self._callbacks.raise_kept()

    def _tend(self, there: Mapping[str, str]) -> None:
        if self._is_lost:
            self._reopen()
        if anew := self._subscription.made_anew(there):
            # librdkafka 2.16 takes no lower leader epoch than it has seen for a name, and those of a topic begin at
            # zero: where a leader had ever moved, or restarted, it would ask for the new topic in vain.
            _log.info("a topic was recreated; rejoining the group")
            self._reopen()
            self._left_at = {each: offset for each, offset in self._left_at.items() if each[0] not in anew}
        now, assigned = time.monotonic(), self._kafka.assignment()
        self._go_on(assigned, now)
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
        partitions = {(each.topic, each.partition) for each in assigned}
        for partition in self._start_over.tend(self._subscription.starts_over(partitions), partitions):
            self._subscription.restarted(partition)

    def _go_on(self, assigned: Iterable[TopicPartition], now: float) -> set[Partition]:
        """Read on behind what was returned, where the group has no offset: it would come again, or the next never.

        Return of which partitions that is. What cannot be learnt or done yet is tried again.
        """
        if now > self._left_until:
            self._left_at.clear()
        own = [each for each in assigned if (each.topic, each.partition) in self._left_at]
        sought: set[Partition] = set()
        if not own:
            return sought
        try:
            answers = self._kafka.committed(own, timeout=_COMMITTED_SECONDS)
        except KafkaException as error:
            _log.info("the group's committed offsets are not known: %s", error)
            return sought
        for each in answers:
            if each.error is not None:
                continue
            partition = each.topic, each.partition
            offset = self._left_at.pop(partition)
            if each.offset >= 0:
                continue
            if self._seek(partition, offset):
                sought.add(partition)
            else:
                self._left_at[partition] = offset
        return sought

    def _come_again(self, messages: Iterable[Message]) -> set[Partition]:
        """Return the partitions of which these records come again, or others before them.

        One poll may be assigned a partition and return its first records, before it was seen where to go on. To commit
        what is behind them, and so be told later that the group is there, would lose what is before them.
        """
        first: dict[Partition, int] = {}
        for each in messages:
            if each.error() is None:
                first.setdefault((each.topic() or "", each.partition() or 0), each.offset() or 0)
        again = self._go_on([TopicPartition(*each) for each in first], time.monotonic())
        for partition in first.keys() & self._left_at.keys():
            self._seek(partition, first[partition])
            again.add(partition)
        return again

    def _seek(self, partition: Partition, offset: int) -> bool:
        """Read this partition from there; return False where it is not being read yet, or no more."""
        try:
            self._kafka.seek(TopicPartition(*partition, offset))
        except KafkaException:
            return False
        return True

    def _note_left(self) -> None:
        """Keep up to where records were returned of what this consumer is about to leave."""
        try:
            own = self._kafka.position(self._kafka.assignment())
        except KafkaException:
            # It died, and knows no more what it had.
            return
        self._left_at |= {(each.topic, each.partition): each.offset for each in own if each.offset >= 0}
        self._left_until = time.monotonic() + _GO_ON_SECONDS

    def poll(self, seconds: float) -> Message | None:
        """Return the next record, or the next error that the caller must know of; None if there is none in time."""
        self._callbacks.raise_kept()
        rest = self._left_after_others(seconds)
        message = None if rest is None else self._kafka.poll(rest)
        if message is not None and (passed_on := self._for_caller([message])):
            return passed_on[0]
        self._callbacks.raise_kept()
        return None

    def consume(self, count: int, seconds: float) -> list[Message]:
        """Return up to `count` of them."""
        self._callbacks.raise_kept()
        rest = self._left_after_others(seconds)
        messages = [] if rest is None else self._for_caller(self._kafka.consume(count, rest))
        if not messages:
            self._callbacks.raise_kept()
        return messages

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

    def _for_caller(self, messages: Collection[Message]) -> list[Message]:
        again = self._come_again(messages) if self._left_at else ()
        passed_on = []
        for message in messages:
            error = message.error()
            if error is None:
                self._reopened = 0
                if not again or (message.topic(), message.partition()) not in again:
                    passed_on.append(message)
            elif is_about_missing_topic(error):
                self._on_missing()
            elif is_membership_lost(error) and self._reopened < _MAX_REOPENED:
                self._reopened += 1
                self._is_newer = self._is_newer and not (chooses_protocol(self._conf) and is_protocol_refused(error))
                _log.info("rejoining the group: %s", error.str())
                self._reopen()
            else:
                passed_on.append(message)
        return passed_on

    def _reopen(self) -> None:
        """Go on with another consumer; where none can be had, the next tending tries it again.

        Raises:
            BadSetting: librdkafka does not take what it took before, say for want of a token.
        """
        self._is_lost = True
        with self._gate.alone():
            kafka = open_consumer(self._conf, newer=self._is_newer)
            self._note_left()
            self._kafka.close()
            self._subscription.forget()
            self._check.reset()
            self._ends = {}
            self._kafka = kafka
            self._start_over = StartOver(kafka, self._gate)
        self._is_lost = False

    def _note_ends(self, assigned: Iterable[TopicPartition]) -> None:
        """Keep where the topics end that are being left, as far as was heard when that began."""
        leaving = self._subscription.leaving
        self._ends = {topic: ends for topic, ends in self._ends.items() if topic in leaving}
        for topic in leaving - self._ends.keys():
            own = [each for each in assigned if each.topic == topic]
            self._ends[topic] = {
                each.partition: self._kafka.get_watermark_offsets(each, cached=True)[1] for each in own
            }

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
    return {(each.topic, each.partition) for each in given}


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
