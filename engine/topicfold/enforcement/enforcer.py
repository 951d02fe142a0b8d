"""The enforcer: brings Kafka's settings of topics to what effective policies say, once or for ever.

A pass reads what topics want, reads what Kafka has, and changes what differs. Between passes the enforcer hears of
every change in the log, and looks at the topics whose wishes it may have changed; all that want something are looked
at again now and then, for others may change Kafka too. Several enforcers may run: all of them do the same.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import NoReturn

import structlog

from topicfold.cluster.port import Cluster, Configuration
from topicfold.enforcement.comparing import Difference, asked_for, left_over
from topicfold.enforcement.former import FormerSayings
from topicfold.enforcement.notes import Notes
from topicfold.enforcement.overrides import Overrides
from topicfold.enforcement.owners import Owners
from topicfold.enforcement.reports import Report, State
from topicfold.enforcement.telling import Telling
from topicfold.enforcement.touched import Touched
from topicfold.enforcement.wishes import Unmet, Wish, Wishes
from topicfold.errors import ClusterRefused, ClusterUnavailable, NotFound, NotReady, TopicfoldError, Wait
from topicfold.model.names import TopicName, is_topic, recorded_topic
from topicfold.model.policy.kafka_settings import sayings
from topicfold.progress import Progress, Step, no_progress, no_step
from topicfold.runtime.at_once import each_at_once
from topicfold.runtime.engine import Engine
from topicfold.state.change import Change

_log = structlog.get_logger(__name__)

COALESCE_SECONDS = 0.1
RETRY_SECONDS = 2.0
LOOK_AGAIN_SECONDS = 60.0
_TOPICS_A_QUESTION = 500
_TOPICS_A_TURN = 200
_AT_ONCE = 16

Pass = Callable[[Sequence[TopicName], Step], Awaitable[None]]


class Enforcer:
    """One process's enforcer. `tell` is given each report; with `only_shows` nothing is changed in Kafka."""

    def __init__(
        self,
        engine: Engine,
        cluster: Cluster,
        tell: Callable[[Report], None],
        *,
        protected: Iterable[str] = (),
        only_shows: bool = False,
    ) -> None:
        self._engine = engine
        self._cluster = cluster
        self._only_shows = only_shows
        self._wishes = Wishes(engine, protected)
        self._owners = Owners(self._wishes)
        self._notes = Notes(engine, cluster.bootstrap)
        self._former = FormerSayings(engine, self._notes)
        self._overrides = Overrides()
        self._telling = Telling(tell)
        self._touched = Touched()
        self._wanting: set[str] = set()
        self._met: dict[str, Wish] = {}
        self._took_away = False
        self._has_failed = False
        self._look_again_at = asyncio.get_running_loop().time() + LOOK_AGAIN_SECONDS

    def names(self) -> list[TopicName]:
        """Return all live topics, sorted by name."""
        return sorted(self._wishes.names())

    async def left_behind(self) -> None:
        """Return once the log was trimmed beyond what is folded here, so that only another start helps."""
        await self._engine.left_behind.wait()

    async def catch_up(self) -> None:
        """Return once all that is acknowledged in the log by now is folded here, as long as it goes on.

        Raises:
            NotReady, LogUnavailable: nothing was folded for as long as a request may take, or a partition has stopped.
        """
        engine = self._engine
        is_ready = False
        while not is_ready:
            before = engine.revision(engine.states)
            try:
                await engine.readiness.wait(engine.states, engine.options.request_timeout_seconds)
                is_ready = True
            except NotReady:
                if engine.revision(engine.states) == before:
                    raise
        await engine.barriers.wait(engine.states, engine.deadline())

    async def run_once(self, names: Sequence[TopicName], step: Step = no_step) -> None:
        """Bring all topics, which are called `names`, to what is folded; note what those after this process need.

        Raises:
            LogUnavailable, ClusterUnavailable: not all were looked at.
        """
        begun = self._engine.revision(self._engine.states)
        told = sayings(self._engine.options.limits.defaults)
        self._has_failed = False
        if not self._only_shows:
            await self._notes.add(told)
        await self._pass(names, step)
        is_news = self._took_away or self._notes.read().sayings != told
        if is_news and not (self._only_shows or self._has_failed):
            await self._notes.settle(told, begun)
            self._took_away = False

    async def follow(self, progress: Progress = no_progress) -> NoReturn:
        """Bring all topics to what is folded, and go on with every change in the log.

        What goes wrong is logged and tried again. `progress` is that of the first pass.
        """
        self._engine.reader.listen(self._publish)
        try:
            await self._engine.readiness.wait(self._engine.states, None)
            names = self.names()
            with progress(len(names)) as step:
                due = await self._pass_or_wait(names, step, self.run_once)
            while due:
                due = await self._pass_or_wait(self.names(), no_step, self.run_once)
            while True:
                due = await self._pass_or_wait(map(recorded_topic, due or await self._next()), no_step, self._pass)
        finally:
            self._engine.reader.leave(self._publish)

    async def _pass_or_wait(self, topics: Iterable[TopicName], step: Step, make_pass: Pass) -> set[str]:
        """Look at `topics`; where log or cluster do not answer, wait and return the names of those due then."""
        names = sorted(topics)
        try:
            await make_pass(names, step)
        except Wait as error:
            _log.warning("enforcement_waits", reason=error.reason, hint=error.hint)
            await asyncio.sleep(RETRY_SECONDS)
            return {str(name) for name in names} | await self._news()
        return set()

    async def _next(self) -> set[str]:
        """Return the topics to look at next, once something changed in the log or it is time to look again."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self._look_again_at):
                await self._touched.wait()
                await asyncio.sleep(COALESCE_SECONDS)
        due = await self._news()
        now = asyncio.get_running_loop().time()
        if now >= self._look_again_at:
            self._look_again_at = now + LOOK_AGAIN_SECONDS
            due |= self._wanting
        return due

    async def _news(self) -> set[str]:
        """Return the topics whose wishes are others than when they were met last, or were met in a former life."""
        touched, ended = self._touched.take()
        self._forget_topics_of({each for each in ended if not is_topic(each)})
        names = {each for each in touched if is_topic(each)}
        for namespace in touched - names:
            names |= {str(each) for each in self._wishes.names_in(namespace)}
        news: set[str] = set()
        for number, name in enumerate(names):
            is_reborn = not ended.isdisjoint((name, recorded_topic(name).namespace))
            if is_reborn or self._is_news(name):
                news.add(name)
            if number % _TOPICS_A_TURN == 0:
                await asyncio.sleep(0)
        return news

    def _forget_topics_of(self, namespaces: Collection[str]) -> None:
        """Remember nothing of namespaces whose lives have ended: with them their topics did, and are not told of.

        What was set for them is forgotten by `Overrides.follow`, at the end itself.
        Cost: O(topics that something is remembered of), where `namespaces` are any.
        """
        if not namespaces:
            return
        self._former.forget_namespaces(namespaces)
        remembering = (self._telling.topics(), self._former.topics(), self._owners.topics())
        for name in self._wanting.union(self._met, *remembering):
            if recorded_topic(name).namespace in namespaces:
                self._forget(name)

    def _forget(self, name: str) -> None:
        """Remember nothing of a topic that is gone, but for what was set for it."""
        self._wanting.discard(name)
        self._met.pop(name, None)
        self._telling.forget(name)
        self._former.forget(name)
        self._owners.forget(name)

    def _is_news(self, name: str) -> bool:
        wish = self._wishes.of(recorded_topic(name))
        if not isinstance(wish, Wish):
            return True
        met = self._met.get(name)
        return wish != met if wish.told else met is not None or name in self._wanting

    def _publish(self, partition: int, change: Change) -> None:
        """Note what a folded change may concern, and whose lives it ended; called by the reader."""
        self._overrides.follow(change.effect)
        self._touched.note(change)

    async def _pass(self, names: Sequence[TopicName], step: Step) -> None:
        """Look at topics, some at a time: what the last of many want may change before it is their turn."""
        begun = {partition: state.position for partition, state in self._engine.states.items()}
        for start in range(0, len(names), _TOPICS_A_QUESTION):
            wishes: list[Wish] = []
            for number, name in enumerate(names[start : start + _TOPICS_A_QUESTION], start):
                wish = self._wish(name)
                if wish is None:
                    step()
                else:
                    wishes.append(wish)
                if number % _TOPICS_A_TURN == 0:
                    await asyncio.sleep(0)
            await self._enforce_several(wishes, begun, step)

    async def _enforce_several(self, wishes: Sequence[Wish], begun: Mapping[int, int], step: Step) -> None:
        """Enforce wishes, some at once; where one is not answered, those that are not begun are given up."""
        found = await self._cluster.configurations([wish.kafka_topic for wish in wishes])

        async def enforce(wish: Wish) -> None:
            await self._enforce(wish, found.get(wish.kafka_topic), begun)
            step()

        for error in await each_at_once(enforce, wishes, _AT_ONCE):
            raise error

    def _wish(self, name: TopicName) -> Wish | None:
        """Return what a topic wants, None where nothing can be done for it, which is told once."""
        full = str(name)
        wish = self._wishes.of(name)
        is_final = isinstance(wish, Unmet) and not wish.may_change
        if isinstance(wish, Wish):
            owner = self._owners.of(wish.kafka_topic, full)
            if owner != full:
                wish = Unmet(full, f"the Kafka topic {wish.kafka_topic} is that of {owner}")
        if isinstance(wish, Wish):
            (self._wanting.add if wish.told else self._wanting.discard)(full)
            return wish
        self._met.pop(full, None)
        if wish is None:
            self._forget(full)
            self._overrides.forget(full)
        else:
            (self._wanting.discard if is_final else self._wanting.add)(full)
            self._has_failed |= wish.may_change
            self._telling.pass_over(full, wish.reason, State.FAILED if wish.may_change else State.SKIPPED)
        return None

    async def _enforce(
        self,
        wish: Wish,
        found: Configuration | TopicfoldError | None,
        begun: Mapping[int, int],
    ) -> None:
        if isinstance(found, TopicfoldError):
            self._wanting.add(wish.name)
            self._has_failed = True
            self._telling.pass_over(wish.name, _with_hint(found), State.FAILED)
        elif found is not None:
            self._telling.reach(wish.name)
            own = await self._own_left_over(wish, found)
            if await self._apply(wish, [*asked_for(wish, found), *own]) and (wish.told or own):
                self._former.note_clean(wish.name, begun[self._engine.partition(recorded_topic(wish.name).namespace)])
            self._took_away |= bool(own)
        elif wish.told:
            self._telling.pass_over(wish.name, f"Kafka has no topic {wish.kafka_topic}")

    async def _own_left_over(self, wish: Wish, found: Configuration) -> Collection[Difference]:
        """Return the overrides that policies made which are no more."""
        own: list[Difference] = []
        for difference in left_over(wish, found):
            said = (difference.setting, difference.old)
            if self._overrides.has_set(difference) or said in await self._former.of(recorded_topic(wish.name)):
                own.append(difference)
        return own

    async def _apply(self, wish: Wish, differences: Sequence[Difference]) -> bool:
        """Make the changes of one topic, all in one request; return whether it is as it should be then."""
        if differences and self._only_shows:
            self._telling.show(differences)
            return False
        try:
            if differences:
                await self._cluster.alter(wish.kafka_topic, {each.setting: each.new for each in differences})
        except NotFound:
            self._telling.pass_over(wish.name, f"Kafka has no topic {wish.kafka_topic}")
        except (ClusterRefused, ClusterUnavailable) as error:
            if isinstance(error, ClusterUnavailable) and not error.is_of_one_topic:
                raise
            self._wanting.add(wish.name)
            self._has_failed = True
            self._telling.refuse(wish.name, differences, _with_hint(error))
        else:
            self._note(wish, differences)
            self._telling.change(wish.name, differences)
            return True
        return False

    def _note(self, wish: Wish, differences: Iterable[Difference]) -> None:
        """Remember what was set, and that the topic has what it wants."""
        for each in differences:
            self._overrides.note(each)
        if wish.told:
            self._met[wish.name] = wish
        else:
            self._met.pop(wish.name, None)


def _with_hint(error: TopicfoldError) -> str:
    """Return why something was not done, and if a right is lacking, what grants it: all else is tried again here."""
    return f"{error.reason}. {error.hint}" if error.values.get("is_denied") else error.reason
