"""How a policy is described: what it holds, where it is read and set, what fails, and who enforces it.

A `Policy` is data. Routes, commands, the stored form and the documents are made from it; a new policy is one more
row of the table.

Source: Pulsar's `PersistentTopics` and `Namespaces` resources, and its command line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from topicfold.model.policy.limits import Limits
from topicfold.model.policy.options import Commands
from topicfold.model.policy.values import Kind, Value


class Enforcer(Enum):
    """Who makes a policy come true."""

    TOPICFOLD = "topicfold"
    KAFKA = "kafka"
    """`topicfold enforce` writes it into the topic's configuration in Kafka."""
    NOTHING = "nothing"
    """It is kept, resolved and shown, and that is all: Kafka knows nothing like it."""


class Source(Enum):
    """Where a request that sets a policy says the value."""

    BODY = "body"
    QUERY = "query"
    """A query parameter called like the path; without it the policy is removed."""
    TRUE = "true"
    """Nowhere: asking is enough, the value is true."""


class Empty(Enum):
    """What an empty body, or `null`, does."""

    REMOVES = "removes"
    IGNORED = "ignored"
    REFUSED = "refused"
    """400."""
    UNMET = "unmet"
    """412."""


class Merge(Enum):
    """How values of several levels become the one that takes effect."""

    WHOLE = "whole"
    """The first level that sets it."""
    MEMBERS = "members"
    """Member by member, each from the first level that sets it; of a map: name by name."""


NO_ANSWER = object()
"""Unset answer: 204 and no body."""
EMPTY_ANSWER = object()
"""Unset answer: 200 and an empty body, as a Pulsar broker gives it."""
LOCAL_CLUSTER = object()
"""Unset answer: a list of nothing but this cluster."""

POLICIES_MISSING = "Namespace policies does not exist"
"""What Pulsar says of a missing namespace where it does not say that the namespace is missing."""


@dataclass(frozen=True, slots=True)
class TopicRoute:
    """A policy of topics under `/admin/v2`.

    `path` is what follows the topic, `read_path` that of the GET where it is another. `unset` is the answer of a GET
    where nothing is stored: `EMPTY_ANSWER`, `NO_ANSWER` or a JSON value; `absent` stands for it where the topic has
    no policies of that scope at all. `permission` is Pulsar's name of the policy in a refusal.

    `unsets` is a value that is not stored: to set it is to leave the policy unset. `left` is what a removal leaves
    behind, None for nothing. `removal_makes_policies`: even a removal gives the topic policies of that scope.
    `applied_sees_both`: `applied=true` looks at both scopes, whichever was asked for.
    """

    path: str
    permission: str
    read_path: str = ""
    method: str = "POST"
    can_remove: bool = True
    has_global: bool = True
    has_applied: bool = True
    source: Source = Source.BODY
    empty: Empty = Empty.REMOVES
    unset: Any = EMPTY_ANSWER
    absent: Any = None
    unsets: Value = None
    left: Value = None
    removal_makes_policies: bool = False
    applied_sees_both: bool = False


Check = Callable[[Value, Limits], None]
"""Takes a canonical value and raises `InvalidPolicy` or `PolicyUnmet` where it may not be set."""


@dataclass(frozen=True, slots=True)
class NamespaceRoute:
    """The same policy of a whole namespace: its path, and its member in the namespace's own document.

    `remove_path` is that of the DELETE where it is another; `has_delete` is false where Pulsar has none. `empty`,
    `unset` and `has_applied` are as a `TopicRoute` has them; the document shows an `unset` that is a value.
    `by_cluster`: the member is a map with one entry, the cluster's. `check` stands for the policy's own where the
    refusal reads differently. `missing` is what a change of a namespace that is not there is told.
    """

    path: str
    member: str
    read_path: str = ""
    remove_path: str = ""
    method: str = "POST"
    has_delete: bool = True
    source: Source = Source.BODY
    has_applied: bool = False
    empty: Empty = Empty.REMOVES
    unset: Any = EMPTY_ANSWER
    by_cluster: bool = False
    check: Check | None = None
    missing: str = "Namespace does not exist"


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy.

    `name` is its name wherever it is stored or exported. `default` is what a broker takes that is told nothing; None
    is nothing. `is_unset` says which stored values do not count when levels are compared.
    """

    name: str
    title: str
    kind: Kind
    topic: TopicRoute
    doc: str
    namespace: NamespaceRoute | None = None
    default: Value = None
    merge: Merge = Merge.WHOLE
    enforced_by: Enforcer = Enforcer.NOTHING
    check: Check = lambda value, limits: None
    is_unset: Callable[[Value], bool] = lambda value: False
    commands: Commands = field(default_factory=Commands)
