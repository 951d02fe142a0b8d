"""The verdict: whether an event takes effect. The whole rule, and nothing else.

    any event      a no-op unless its level is the partition's and it belongs in this partition; so is one whose id is
                   zeros, which stand for "none"
    topic event    accepted iff the namespace is live, its incarnation is the event's namespace id, and the event's
                   base is the topic's version
    namespace,     accepted iff the event's base is the aggregate's version
    tenant event

It depends only on the header and the prefix of the log: never on the payload, a setting, a clock, or this version.
"""

from __future__ import annotations

from topicfold.model.events import Event
from topicfold.state.aggregate import Aggregate


def topic_event_is_accepted(event: Event, namespace: Aggregate, topic: Aggregate) -> bool:
    """Return whether a topic's event takes effect on that topic in its namespace."""
    return namespace.is_live and namespace.incarnation == event.namespace_id and topic.version == event.base


def event_is_accepted(event: Event, aggregate: Aggregate) -> bool:
    """Return whether a namespace's or tenant's event takes effect on that aggregate."""
    return aggregate.version == event.base
