"""Desired state against a server: what its topics are, and the updates that make them what they are to be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from topicfold.client import calls
from topicfold.client.answers import Topic, Written
from topicfold.client.bulk import each_at_once, topics_in
from topicfold.client.call import Call, tried
from topicfold.client.client import Client
from topicfold.client.desired import Desired, Step, namespaces_of
from topicfold.errors import FixRequest, Reread


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of one step; `problem` is "" where it was done."""

    topic: str
    problem: str = ""


def topics_of(client: Client, desired: Iterable[Desired]) -> dict[str, Topic]:
    """Return the server's topics in the namespaces that `desired` are about, by name.

    Raises:
        NamespaceNotFound: one of these is missing.
    """
    return {topic.name: topic for topic in topics_in(client, namespaces_of(desired), with_system_topics=True)}


def apply_steps(client: Client, steps: Collection[Step], reason: str) -> Iterator[Applied]:
    """Do all steps, several at once; yield each as it is done, or as it is refused.

    A topic that was changed since it was compared is refused and left alone. What is not about one topic ends it all;
    to apply again goes on from there.

    Raises:
        Wait, AnswerLost: the server cannot be reached, or not write.
    """
    return each_at_once("apply", lambda step: _apply(client, step, reason), steps)


def try_steps(client: Client, steps: Collection[Step]) -> Iterator[Applied]:
    """Have the server say of all steps what it would refuse, and do none; yield each as it is answered.

    Of a new topic Kafka is not asked whether it would make it.

    Raises:
        Wait, AnswerLost: the server cannot be reached.
    """
    return each_at_once("try", lambda step: _try(client, step), steps)


def _apply(client: Client, step: Step, reason: str) -> Applied:
    return _outcome(step, lambda: client.perform(_call(step, reason)))


def _try(client: Client, step: Step) -> Applied:
    return _outcome(step, lambda: client.perform(tried(_call(step, ""))))


def _call(step: Step, reason: str) -> Call[Topic] | Call[Written]:
    if step.etag is None:
        return calls.put_topic(step.topic, step.body, {"reason": reason})
    return calls.patch_topic(step.topic, step.body, {"if_match": step.etag, "reason": reason})


def _outcome(step: Step, do: Callable[[], object]) -> Applied:
    if step.problem:
        return Applied(step.topic, step.problem)
    try:
        do()
    except (FixRequest, Reread) as error:
        return Applied(step.topic, error.reason)
    return Applied(step.topic)
