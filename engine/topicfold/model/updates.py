"""Updates: pure functions from a record to the next one, or to a refusal.

An update is run again on the newer record whenever another node was first, so it must depend on nothing but its
argument. `None` stands for a record that is not live, as argument and as result; an equal record means "unchanged".
The argument may be an `UnreadableRecord`: updates that do not need the old record accept it, others refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from topicfold.errors import ClusterUnavailable
from topicfold.model.events import Verdict
from topicfold.model.labels import LabelRules, too_many_together
from topicfold.model.records import NamespaceRecord, Record, TenantRecord, TopicRecord, UnreadableRecord, frozen


@dataclass(frozen=True, slots=True)
class Refuse:
    """A refusal: nothing is changed. `verdict` is what the log records, the rest is for whoever asked."""

    verdict: Verdict
    reason: str
    hint: str = ""


class Postponed(Exception):
    """Raised by an updater that cannot decide yet, because something must be checked first."""


Stored = Record | UnreadableRecord | None
Updater = Callable[[Stored], Record | Refuse | None]


def create(record: Record, what: str) -> Updater:
    """Return the update that makes `record` live, unless there is a live one that can be read.

    Raises:
        ClusterUnavailable: raised by the update for a topic whose end is decided: readers no longer see it, but it is
            not gone yet.
    """

    def update(old: Stored) -> Record | Refuse:
        if old is None or isinstance(old, UnreadableRecord):
            return record
        if isinstance(old, TopicRecord) and old.is_ending:
            raise ClusterUnavailable(
                f"{what} is being deleted, and Kafka has not followed yet; the change is not applied",
                hint="Try again in a few seconds. GET /readyz?verbose counts such topics as endingTopics.",
                is_late=True,
            )
        return Refuse(Verdict.ALREADY_EXISTS, f"{what} exists already")

    return update


def ensure(record: Record) -> Updater:
    """Return the update that makes `record` live, unless a readable one is live."""
    return lambda old: record if old is None or isinstance(old, UnreadableRecord) else old


def delete(missing: Refuse) -> Updater:
    """Return the update that deletes a record; refused with `missing` if there is none."""
    return lambda old: missing if old is None else None


def delete_topic(name: str, *, is_partitioned: bool | None) -> Updater:
    """Return the update that deletes a topic; `is_partitioned` None accepts either kind."""

    def update(old: Stored) -> Refuse | None:
        if old is None:
            return topic_missing(name)
        if isinstance(old, TopicRecord) and is_partitioned not in (None, bool(old.partitions)):
            return Refuse(Verdict.WRONG_KIND, f"topic {name} is {'not ' if is_partitioned else ''}partitioned")
        return None

    return update


def grow_partitions(name: str, partitions: int) -> Updater:
    """Return the update that raises a partitioned topic's number of partitions."""

    def update(old: Stored) -> Record | Refuse:
        if not isinstance(old, TopicRecord):
            return Refuse(Verdict.WRONG_KIND, f"topic {name} does not exist or is not partitioned")
        if not old.partitions:
            return Refuse(Verdict.WRONG_KIND, f"topic {name} is not partitioned")
        if partitions < old.partitions:
            return Refuse(
                Verdict.FEWER_PARTITIONS,
                f"topic {name} has {old.partitions} partitions; their number cannot be reduced",
            )
        return replace(old, partitions=partitions)

    return update


def unless_ending(name: str, updater: Updater) -> Updater:
    """Return `updater`, refused if the topic's end is decided and only Kafka has not followed yet."""

    def update(old: Stored) -> Record | Refuse | None:
        return topic_missing(name) if isinstance(old, TopicRecord) and old.is_ending else updater(old)

    return update


def of_topic(name: str, change: Callable[[TopicRecord], Record | Refuse | None]) -> Updater:
    """Return the update that applies `change` to a topic's record; refused if there is none that can be read."""
    return lambda old: change(old) if isinstance(old, TopicRecord) else topic_missing(name)


def of_namespace(name: str, change: Callable[[NamespaceRecord], Record | Refuse]) -> Updater:
    """Return the same for a namespace's record."""
    return lambda old: change(old) if isinstance(old, NamespaceRecord) else namespace_missing(name)


def set_labels(name: str, labels: Mapping[str, str], rules: LabelRules) -> Updater:
    """Return the update that sets or changes `labels` and keeps the others."""

    def change(old: TopicRecord) -> Record | Refuse:
        refused = too_many_together(name, old.labels, labels, rules)
        if refused:
            return Refuse(Verdict.TOO_MANY_LABELS, refused)
        return old.with_labels({**old.labels, **labels})

    return of_topic(name, change)


def remove_labels(name: str, keys: Collection[str] | None) -> Updater:
    """Return the update that removes the labels with these `keys`, or all for None; missing ones are ignored."""

    def change(old: TopicRecord) -> Record:
        return old.with_labels({key: old.labels[key] for key in old.labels if keys is not None and key not in keys})

    return of_topic(name, change)


def set_properties(name: str, properties: Mapping[str, str]) -> Updater:
    """Return the update that sets or changes `properties` of a topic and keeps the others."""
    return of_topic(name, lambda old: replace(old, properties=frozen({**old.properties, **properties})))


def remove_property(name: str, key: str) -> Updater:
    """Return the update that removes one property of a topic; a missing one is ignored."""

    def change(old: TopicRecord) -> Record:
        return replace(old, properties=frozen({each: old.properties[each] for each in old.properties if each != key}))

    return of_topic(name, change)


def replace_tenant(name: str, record: TenantRecord) -> Updater:
    """Return the update that replaces an existing tenant's record, except for its grants."""

    def update(old: Stored) -> Record | Refuse:
        if old is None:
            return tenant_missing(name)
        return replace(record, grants=old.grants) if isinstance(old, TenantRecord) else record

    return update


def topic_missing(name: str) -> Refuse:
    """Return the refusal for an update of a topic that does not exist."""
    return Refuse(Verdict.TOPIC_NOT_FOUND, f"Topic {name} not found")


def namespace_missing(name: str) -> Refuse:
    """Return the refusal for an update of, or in, a namespace that does not exist."""
    return Refuse(Verdict.NAMESPACE_NOT_FOUND, f"Namespace not found: {name}")


def tenant_missing(name: str) -> Refuse:
    """Return the refusal for an update of a tenant that does not exist."""
    return Refuse(Verdict.TENANT_NOT_FOUND, f"tenant {name} not found")
