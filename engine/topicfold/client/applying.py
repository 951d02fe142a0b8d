"""Desired state against a server: what its namespaces and topics are, and the updates that make them what is wanted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from topicfold.client import calls
from topicfold.client.answers import Namespace, Topic, Written
from topicfold.client.bulk import each_at_once, topics_in
from topicfold.client.call import Call, tried
from topicfold.client.client import Client
from topicfold.client.desired import Desired, Step, namespaces_of
from topicfold.errors import FixRequest, InvalidName, Reread
from topicfold.model.names import is_topic, parse_topic

_LOCAL, _SHADOWS = "local", "shadowTopics"


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of one step; `problem` is "" where it was done.

    `taken` is the Kafka topic that was there before and that a new topic took over, if one was.
    """

    name: str
    problem: str = ""
    taken: str | None = None


def records_of(client: Client, desired: Iterable[Desired]) -> dict[str, Topic | Namespace]:
    """Return the namespaces that are `desired`, and all topics of those whose topics are, by name.

    Raises:
        NamespaceNotFound: one of these is missing.
    """
    topics = [each for each in desired if is_topic(each.name)]
    names = [each.name for each in desired if not is_topic(each.name)]
    found: list[Topic | Namespace] = list(each_at_once("read", client.get_namespace_record, names))
    found += topics_in(client, namespaces_of(topics), with_system_topics=True)
    return {each.name: each for each in found}


def apply_steps(client: Client, steps: Collection[Step], reason: str) -> Iterator[Applied]:
    """Do all steps, several at once; yield each as it is done, or as it is refused.

    What was changed since it was compared is refused and left alone. What is not about one topic or namespace ends it
    all; to apply again goes on from there. Namespaces come first, then topics that are made, before those whose shadows
    they are to be.

    Raises:
        Wait, AnswerLost: the server cannot be reached, or not write.
    """
    for some in _in_order(steps):
        yield from each_at_once("apply", lambda step: _apply(client, step, reason), some)


def try_steps(client: Client, steps: Collection[Step]) -> Iterator[Applied]:
    """Have the server say of all steps what it would refuse, and do none; yield each as it is answered.

    Of a new topic Kafka is not asked whether it would make it. A topic that one of them makes may be the shadow of what
    is made after it.

    Raises:
        Wait, AnswerLost: the server cannot be reached.
    """
    made: set[str] = set()
    planned: list[Step] = []
    for some in _in_order(steps):
        planned += [_without_shadows(step, made) for step in some]
        made |= _made(some)
    return each_at_once("try", lambda step: _try(client, step), planned)


def _apply(client: Client, step: Step, reason: str) -> Applied:
    return _outcome(step, lambda: _do(client, step, reason))


def _try(client: Client, step: Step) -> Applied:
    call = _change(step, step.etag, "") if step.etag else _creation(step, "")
    return _outcome(step, lambda: client.perform(tried(call)))


def _do(client: Client, step: Step, reason: str) -> str | None:
    """Do a step; return the Kafka topic that was taken over."""
    if step.etag:
        client.perform(_change(step, step.etag, reason))
        return None
    _, taken = client.perform(_creation(step, reason))
    return taken


def _creation(step: Step, reason: str) -> Call[tuple[Topic, str | None]]:
    return calls.create_topic(step.name, step.body, {"reason": reason})


def _change(step: Step, etag: str, reason: str) -> Call[Written]:
    patch = calls.patch_topic if is_topic(step.name) else calls.patch_namespace
    return patch(step.name, step.body, {"if_match": etag, "reason": reason})


def _made(steps: Iterable[Step]) -> frozenset[str]:
    return frozenset(step.name for step in steps if step.etag is None)


def _in_order(steps: Collection[Step]) -> Iterator[Sequence[Step]]:
    """Yield steps that can be done at once: namespaces, then topics after their shadows, at last what is in a ring."""
    if namespaces := [step for step in steps if not is_topic(step.name)]:
        yield namespaces
    left = [step for step in steps if is_topic(step.name)]
    shadows = {step.name: frozenset(map(_full_name, _shadows(step))) for step in left}
    while left:
        made = _made(left)
        some = [step for step in left if made.isdisjoint(shadows[step.name])] or left
        yield some
        done = {step.name for step in some}
        left = [step for step in left if step.name not in done]


def _shadows(step: Step) -> Sequence[str]:
    """Return the shadow topics that a step gives its topic, as they are written."""
    return step.body.get("policies", {}).get(_LOCAL, {}).get(_SHADOWS) or ()


def _without_shadows(step: Step, made: Collection[str]) -> Step:
    """Return a step without those of its shadow topics that are `made` by others."""
    shadows = _shadows(step)
    kept = [text for text in shadows if _full_name(text) not in made]
    if len(kept) == len(shadows):
        return step
    policies = step.body["policies"]
    others = {name: value for name, value in policies[_LOCAL].items() if name != _SHADOWS}
    local = others | ({_SHADOWS: kept} if kept else {})
    return replace(step, body={**step.body, "policies": {**policies, _LOCAL: local}})


def _full_name(topic: str) -> str:
    try:
        return str(parse_topic(topic))
    except InvalidName:
        return topic  # for the server to refuse


def _outcome(step: Step, do: Callable[[], str | None]) -> Applied:
    if step.problem:
        return Applied(step.name, step.problem)
    try:
        return Applied(step.name, taken=do())
    except (FixRequest, Reread) as error:
        return Applied(step.name, error.reason)
