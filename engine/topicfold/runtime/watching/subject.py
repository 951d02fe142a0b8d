"""Subjects: what somebody watches, and what a change is to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from topicfold.model.finding.query import TopicQuery
from topicfold.model.names import local_of_key
from topicfold.model.namespaces import Namespaces
from topicfold.model.records import Grants
from topicfold.runtime.watching.ports import Encoding, Viewer
from topicfold.state.change import NamespaceTurn, TopicDelta, TopicRow

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"

Borne = tuple[Mapping[str, str], Mapping[str, str]]


def borne(delta: TopicDelta) -> Borne:
    """Return the labels that a topic bore before a change and bears after it; none where it is not live."""
    return dict(delta.before.labels if delta.before else ()), dict(delta.after.labels if delta.after else ())


@dataclass(frozen=True, slots=True)
class Subject:
    """What is watched: the topics that `query` means in `namespaces`, as `encoding` writes them.

    `viewer` None may see everything. Where not `tells_former_lives`, whoever goes on from before a namespace ended is
    told of that and of nothing before: who may watch the one that bears its name now may not have been let into it.
    """

    query: TopicQuery
    namespaces: Namespaces
    encoding: Encoding
    viewer: Viewer | None = None
    tells_former_lives: bool = True

    def may_see(self, namespace: str, grants: Grants) -> bool:
        """Return whether a topic with these grants of its own may be shown, whether it is watched or not."""
        return self.viewer is None or self.viewer.sees(namespace, grants)

    def kind_of(self, delta: TopicDelta, labels: Borne) -> str | None:
        """Return what a change is to whoever watches this: ADDED, MODIFIED, DELETED, or None for nothing.

        `labels` are those that the topic bore before, and those that it bears now.

        Source: PIP-451, which derives it from whether the topic matched before and whether it does now.
        """
        was = self._shows(delta.namespace, delta.before, labels[0])
        shows = self._shows(delta.namespace, delta.after, labels[1])
        if not (was or shows) or not self.query.matches_name(local_of_key(delta.key)):
            return None
        if shows:
            return MODIFIED if was else ADDED
        return DELETED

    def is_ended_by(self, turn: NamespaceTurn) -> bool:
        """Return whether whoever watches this must start anew because a namespace has ended.

        Who named it must, for what comes under that name later is another namespace. Who watches it by a pattern must
        only where topics ended with it.
        """
        return not turn.is_live and (turn.had_topics or turn.namespace in self.namespaces.names)

    def _shows(self, namespace: str, row: TopicRow | None, labels: Mapping[str, str]) -> bool:
        return row is not None and self.query.selector.matches(labels) and self.may_see(namespace, row.grants)
