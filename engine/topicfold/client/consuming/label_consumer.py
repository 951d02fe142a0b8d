"""A Kafka consumer of the topics that match a query, whichever these are at the time.

A thread follows the set (`following`), another looks which Kafka topics there are (`kafka_topics`). The thread that
polls makes them a subscription (`subscription`); so nothing changes while it handles a record.
"""

from __future__ import annotations

import _thread
import inspect
import logging
import math
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from topicfold.client.argument_types import taking_what_it_states
from topicfold.client.client import Client
from topicfold.client.consuming.consumer_query import ConsumerQuery
from topicfold.client.consuming.following import Following, Frames
from topicfold.client.consuming.kafka_topics import KafkaTopics, MissingTopics
from topicfold.client.consuming.passed_on import PassedOn
from topicfold.client.consuming.subscription import Partition, partition_of
from topicfold.client.extras import import_failure
from topicfold.client.find_answers import Match
from topicfold.client.find_calls import SelectorForm, Texts
from topicfold.client.listed_topics import ListedTopics
from topicfold.client.live_set import NetChange
from topicfold.client.transport.connecting import DEFAULT_URL
from topicfold.client.watching import WatchQuery
from topicfold.errors import BadSetting, InvalidRequest

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition
    from confluent_kafka.admin import AdminClient

OnTopics = Callable[[tuple[str, ...], tuple[str, ...]], None]

_SLICE_SECONDS = 0.1
"""So long at most, a poll that waits does not look at what has come and gone."""

_log = logging.getLogger(__name__)


class LabelConsumer(PassedOn):
    """A consumer of the topics that match, now and in future; otherwise like `confluent_kafka.Consumer`.

        with LabelConsumer({"bootstrap.servers": "…", "group.id": "billing"}, "team=pay", match="pay__**") as consumer:
            while True:
                message = consumer.poll(1.0)

    A topic that begins to match is read from its earliest record, unless the group has committed an offset or `conf`
    says otherwise. One that no longer matches is dropped once the records that had already arrived were returned, or
    after one second. Changes take effect within `poll` or `consume`, when none has followed for a quarter of a second,
    and after half a second at most. Every record of a topic that matches is returned at least once to some member of
    the group, and none of a topic that never matched. With `auto.offset.reset=latest`, this holds from the first
    offset that the group commits.

    While the Topicfold server is away, the subscribed topics are still read. Unless `conf` says otherwise, the group
    uses `group.protocol=consumer` if Kafka supports it, and `cooperative-sticky` if not. One thread polls; all other
    methods can be called from any thread.
    """

    @taking_what_it_states
    def __init__(
        self,
        conf: Mapping[str, Any],
        selector: SelectorForm | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        namespaces: Texts | None = None,
        match: Texts | None = None,
        regex: str | None = None,
        properties: Mapping[str, str] | None = None,
        client: Client | None = None,
        url: str | None = None,
        on_topics: OnTopics | None = None,
        on_assign: Callable[..., None] | None = None,
        on_revoke: Callable[..., None] | None = None,
        on_lost: Callable[..., None] | None = None,
    ) -> None:
        """Follow the topics that meet all conditions, as `Client.watch` does; they are known when this returns.

        `conf` is librdkafka's configuration. With `properties` (PIP-452), only topics are read that the server's topic
        listing returns for these properties; the server must confirm that its listing uses them, and is asked every
        second. Either pass a `client`, which stays open, or the `url` of the server. Polls call `on_topics` with the
        full names of the topics that were added and of those that were removed. `on_assign`, `on_revoke` and `on_lost`
        are those of `Consumer.subscribe`; `on_assign` gets the offset of a partition that is read on elsewhere than the
        group says, and may assign another. What was not committed of partitions when `on_revoke` or `on_lost` was
        called with them is read again. What they raise is raised by the poll that called them, or by the next poll if
        that one returns records.

        Raises:
            ExtraMissing, ExtraBroken: confluent-kafka is not installed, or cannot be imported.
            BadSetting: librdkafka refuses `conf`, or it names no broker; or Python's threads have been replaced.
            InvalidRequest: no condition is given, or one that every topic meets; or an argument has the wrong type.
            QueryUnconfirmed: the server does not confirm the query, or that its topic listing uses `properties`.
            TopicfoldError: the server refuses the query, is away, or sends nothing for 45 s.
        """
        try:
            from topicfold.client.consuming.kafka_consumer import KafkaLook
            from topicfold.client.consuming.subscribed_consumer import SubscribedConsumer
        except ImportError as error:
            raise import_failure(error, "consuming by label", "kafka") from error
        _require_threads()
        if client is not None and url is not None:
            raise InvalidRequest("both a client and a URL are given", hint="Give one of them.")
        callbacks = {"on_assign": on_assign, "on_revoke": on_revoke, "on_lost": on_lost}
        with ExitStack() as undoing:
            self._client = client or undoing.enter_context(Client(url or DEFAULT_URL))
            places = self._client.namespace if namespaces is None else namespaces
            self._query = ConsumerQuery.of(places, selector, labels, match, regex)
            self._properties = dict(properties or {})
            self._on_topics = on_topics
            self._look = KafkaLook(conf)
            self._kafka_topics = KafkaTopics(self._look)
            undoing.callback(self._kafka_topics.close)
            given = {name: callback for name, callback in callbacks.items() if callback is not None}
            self._subscribed = SubscribedConsumer(
                conf, given, self._kafka_topics.look_again, partial(self._look.elsewhere, conf.get("group.id", ""))
            )
            undoing.callback(self._subscribed.close)
            self._following = Following()
            undoing.callback(self._following.close)
            self._following.follow(self._frames(self._query))
            dropped = weakref.finalize(self, _end_aside, self._following, self._kafka_topics)
            dropped.atexit = False
            undoing.callback(dropped.detach)
            self._closing = undoing.pop_all()
        self._missing = MissingTopics()
        self._polling = threading.RLock()
        self._turning = threading.RLock()
        self._is_closed = False
        self._polls_within = 0
        """How many calls of Kafka's client the thread that holds `_polling` is within."""
        self._closes_late = False
        self._untold: deque[NetChange] = deque()
        self._tended_at = 0.0
        self._postponed: BaseException | None = None
        self._want()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the group and stop everything; offsets are committed as `conf` says.

        A call that another thread is making ends first; later calls raise RuntimeError, as those of `Consumer` do. If
        called within a poll, by a callback or a signal handler, this returns at once, and the consumer is closed when
        the poll ends.
        """
        self._is_closed = True
        # Kafka's client hangs for good where it is closed while it polls.
        with self._polling:
            self._closes_late = self._polls_within > 0
            if not self._closes_late:
                self._closing.close()

    def poll(self, timeout: float = -1) -> Message | None:
        """Return the next record or error, or None if there is none within `timeout` seconds (negative: no limit).

        Raises:
            TopicfoldError: the topics that match can no longer be followed, for a reason other than the server being
                away.
            RuntimeError: the consumer is closed.
        """
        self._raise_postponed()
        message: Message | None = None
        try:
            for seconds in _slices(timeout):
                with self._polling:
                    self._require_open()
                    self._polls_within += 1
                    try:
                        self._tend()
                        # One without a value is false.
                        if (message := self._subscribed.poll(seconds)) is not None:
                            self._subscribed.store(message)
                            break
                    finally:
                        self._end_poll()
        except BaseException as error:
            if message is None:
                raise
            self._postponed = error
        return message

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Return up to `num_messages` records and errors, as many as arrive within `timeout` seconds.

        There are fewer if the topic of one of them is about to be dropped or to start over: the next call does that,
        so that their offsets can be stored first. Those of a partition that is revoked meanwhile are left out. Unless
        `enable.auto.offset.store` is false, offsets are stored when this returns. An error after some have arrived, or
        Ctrl-C, is raised by the next call.

        Raises:
            TopicfoldError, RuntimeError: as for `poll`.
        """
        self._raise_postponed()
        self._subscribed.take_revoked()  # before anything is held
        messages: list[Message] = []
        held: set[Partition] = set()
        try:
            for seconds in _slices(timeout):
                with self._polling:
                    self._require_open()
                    self._polls_within += 1
                    try:
                        if not self._tend(held):
                            break
                        before = len(messages)
                        # In one step, so that an interrupt costs none of them.
                        messages.extend(self._subscribed.consume(num_messages - before, seconds))
                        held |= {partition_of(each) for each in messages[before:] if each.error() is None}
                        messages[:before] = self._without_revoked(messages[:before])
                    finally:
                        self._end_poll()
                if len(messages) >= num_messages:
                    break
        except BaseException as error:
            if not messages:
                raise
            self._postponed = error
        messages = self._without_revoked(messages)
        with self._polling:
            if not self._is_closed:
                self._store(messages)
        return messages

    def store_offsets(self, message: Message | None = None, offsets: list[TopicPartition] | None = None) -> None:
        """Store offsets to be committed, like `Consumer.store_offsets`, if `enable.auto.offset.store` is false."""
        self._require_open()
        self._subscribed.store_offsets(message, offsets)

    def seek(self, partition: TopicPartition) -> None:
        """Go on from another offset, like `Consumer.seek`."""
        self._subscribed.seek(partition)

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Return no records of these partitions until `resume`, like `Consumer.pause`.

        If the group has to be rejoined, because Kafka's client died or got stuck or a topic was recreated, the pause
        ends, and `on_assign` is called.
        """
        self._subscribed.pause(partitions)

    def resume(self, partitions: list[TopicPartition]) -> None:
        """Return records of these partitions again, like `Consumer.resume`."""
        self._subscribed.resume(partitions)

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Use these credentials from the next connection on, like `Consumer.set_sasl_credentials`."""
        self._subscribed.set_sasl_credentials(username, password)
        self._look.set_sasl_credentials(username, password)

    def matched_topics(self) -> Mapping[str, Match]:
        """Return the topics that match now, by full name."""
        return self._following.topics

    def missing_topics(self) -> tuple[str, ...]:
        """Return the full names of topics that match but have no visible Kafka topic; each is logged once."""
        missing = self._kafka_topics.missing
        topics = self._following.topics.values()
        return tuple(sorted(each.name for each in topics if each.kafka_topic is None or each.kafka_topic in missing))

    def subscribe_pattern(self, pattern: str) -> NetChange:
        """Also consume the topics that this wildcard matches; return which topics this added and removed.

        If there was no pattern before, this first one restricts what is consumed.

        Raises:
            InvalidPattern: names the segment; nothing has changed.
            TopicfoldError: as for `Client.watch`; nothing has changed.
            RuntimeError: the consumer is closed.
        """
        with self._turning:
            return self._turn_to(self._query.with_pattern(pattern))

    def unsubscribe_pattern(self, pattern: str) -> NetChange:
        """Stop consuming the topics that only this wildcard matches; return which topics this removed.

        If no pattern is left, nothing is consumed until there is one again.

        Raises:
            InvalidRequest: the pattern is not subscribed to.
            TopicfoldError: as for `Client.watch`; nothing has changed.
            RuntimeError: the consumer is closed.
        """
        with self._turning:
            return self._turn_to(self._query.without_pattern(pattern))

    @property
    def _kafka(self) -> AbstractContextManager[Consumer]:
        return self._subscribed.in_use()

    @property
    def _cluster(self) -> AdminClient:
        with self._kafka as kafka:
            kafka.memberid()  # raises once it is closed, which it is not yet while `on_revoke` is told of that
        return self._look.admin

    def _turn_to(self, query: ConsumerQuery) -> NetChange:
        if query == self._query:
            return NetChange()
        following = self._following
        change = following.follow_nothing() if query.asks_for_nothing else following.follow(self._frames(query))
        self._query = query
        return change

    def _frames(self, query: ConsumerQuery) -> Frames:
        if self._properties:
            return self._client.ending(ListedTopics(self._client, query.asked, self._properties))
        return self._client.follow(WatchQuery(query.asked, since="", initial=True))

    def _tend(self, held: Collection[Partition] = ()) -> bool:
        """Have the consumer subscribed to what matches and is there; tell of what has come and gone.

        Return False, and leave what is subscribed to for the next time, where something of `held` would not stay.
        """
        now = time.monotonic()
        if now < self._tended_at + _SLICE_SECONDS:
            return True
        if changes := self._following.take_changes():
            self._untold += changes
            self._want()
        there = self._kafka_topics.there
        keeps_held = self._subscribed.keeps(held, there)
        if keeps_held:
            self._subscribed.tend(there)
            self._tended_at = now
        if overdue := self._missing.overdue(self._kafka_topics.missing | self._nameless, now):
            _log.warning("matched, but no such topic is in Kafka (yet), or none to Describe: %s", ", ".join(overdue))
        while self._untold:
            change = self._untold.popleft()
            if change and self._on_topics is not None:
                self._on_topics(change.added, change.removed)
        return keeps_held

    def _without_revoked(self, messages: list[Message]) -> list[Message]:
        """Return those that no other member reads by now."""
        revoked = self._subscribed.take_revoked()
        return [each for each in messages if partition_of(each) not in revoked] if revoked else messages

    def _store(self, messages: Iterable[Message]) -> None:
        """Have the offsets of records that are returned now committed; an interrupt waits for the next call."""
        try:
            last = {partition_of(each): each for each in messages if each.error() is None}
            for each in last.values():
                self._subscribed.store(each)
        except BaseException as error:  # noqa: BLE001 - the next call raises it; this one has records to return
            self._postponed = error

    def _end_poll(self) -> None:
        self._polls_within -= 1
        if self._closes_late and not self._polls_within:
            self._closing.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise RuntimeError("Consumer closed")

    def _raise_postponed(self) -> None:
        """Raise what the last call did not, because it had records to return."""
        error, self._postponed = self._postponed, None
        if error is not None:
            raise error

    def _want(self) -> None:
        """Have the Kafka topics looked for that stand for what matches now."""
        standing = {name: each.kafka_topic for name, each in self._following.topics.items()}
        self._nameless = frozenset(name for name, kafka_topic in standing.items() if kafka_topic is None)
        self._kafka_topics.want({each for each in standing.values() if each is not None})


def _require_threads() -> None:
    """Check that threads run while Kafka's client waits.

    Raises:
        BadSetting: gevent or eventlet has replaced Python's, and these do not.
    """
    if not inspect.isbuiltin(_thread.start_new_thread):
        raise BadSetting(
            "LabelConsumer needs threads, but they have been replaced by others, which do not run while "
            "Kafka's client waits",
            hint="Consume in a process that neither gevent nor eventlet has patched.",
        )


def _end_aside(following: Following, kafka_topics: KafkaTopics) -> None:
    """Have the threads end of a consumer that was dropped unclosed.

    In another thread: Python drops things in any, also in one that holds a lock which this takes.
    """

    def end() -> None:
        following.close()
        kafka_topics.close()

    _thread.start_new_thread(end, ())


def _slices(timeout: float) -> Iterator[float]:
    """Yield for how long to wait, again and again until `timeout` is over; at least once."""
    end = math.inf if timeout < 0 else time.monotonic() + timeout
    rest = end - time.monotonic()
    while True:
        yield max(min(_SLICE_SECONDS, rest), 0.0)
        rest = end - time.monotonic()
        if rest <= 0:
            return
