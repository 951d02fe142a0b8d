"""What must hold of every listener: what it is told was so, and what it is told last is the newest there is."""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulation.evidence import Evidence, Violation
from tests.simulation.reference import NOTHING, View
from topicfold.model.events import AggregateKind
from topicfold.model.policy.resolve import Policies
from topicfold.model.records import TopicRecord
from topicfold.runtime.policy_news import PolicyScope

_NONE: dict[PolicyScope, Policies | None] = dict.fromkeys(PolicyScope)


def check_listening(evidence: Evidence) -> Iterator[Violation]:
    """Yield all that was told and was not so, and every listener that was not told the last of it."""
    for ear in evidence.history.ears:
        views = evidence.folds[ear.partition].at
        last = dict(_NONE)
        for heard in ear.heard:
            said = _scopes(views[heard.position], ear.topic)
            was_ended = heard.policies is None and any(
                views[each].get((int(AggregateKind.TOPIC), ear.topic), NOTHING).found is None
                for each in range(ear.began, heard.position + 1)
            )
            if said is None or (said[heard.scope] != heard.policies and not was_ended):
                yield Violation("S1", f"{ear.topic}: a listener heard {heard}, the log says {said}", ear.topic)
            last[heard.scope] = heard.policies
        now = _scopes(views[ear.position], ear.topic) if ear.is_listening else _NONE
        if ear.must_know and now is not None and last != now:
            yield Violation("S2", f"{ear.topic}: a listener last heard {last}, its node ends with {now}", ear.topic)


def _scopes(view: View, topic: str) -> dict[PolicyScope, Policies | None] | None:
    """Return the policies of a topic, None where its record cannot be read."""
    found = view.get((int(AggregateKind.TOPIC), topic), NOTHING).found
    if found is None:
        return _NONE
    if not isinstance(found, TopicRecord):
        return None
    return {PolicyScope.LOCAL: found.local, PolicyScope.GLOBAL: found.global_}
