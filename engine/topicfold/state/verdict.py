"""The verdict: whether an event takes effect. The whole rule, and nothing else.

    any event      a no-op unless its level is the partition's and it belongs in this partition; an event id of zeros,
                   which stands for "none", is garbage
    topic event    accepted iff the namespace is live, its incarnation is the event's namespace id, and the event's
                   base is the topic's version
    namespace,     accepted iff the event's base is the aggregate's version
    tenant event

Reads the header and the prefix of the log only: never the payload, a setting, a clock, or this code's version.
"""

from __future__ import annotations

from topicfold.model.events import Event
from topicfold.state.aggregate import Aggregate


def topic_event_is_accepted(event: Event, namespace: Aggregate, topic: Aggregate) -> bool:
    """Return whether a topic's event takes effect on that topic of its namespace."""
    return namespace.is_live and namespace.incarnation == event.namespace_id and topic.version == event.base


def event_is_accepted(event: Event, aggregate: Aggregate) -> bool:
    """Return whether a namespace's or tenant's event takes effect on that aggregate."""
    return aggregate.version == event.base
