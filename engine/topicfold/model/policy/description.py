"""The description of a policy: its values, where it is read and set, what is refused, and who enforces it.

A `Policy` is data, from which routes, commands, the stored form and the documents are generated. A new policy is a new
row in the table.

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


class EnforcedBy(Enum):
    """Who enforces a policy."""

    KAFKA = "kafka"
    """`topicfold enforce` writes it into the topic's configuration in Kafka."""
    NOTHING = "nothing"
    """It is only stored, resolved and shown: Kafka has nothing like it."""


class Source(Enum):
    """Where a request that sets a policy has the value."""

    BODY = "body"
    QUERY = "query"
    """In a query parameter named like the path; without it, the policy is removed."""
    TRUE = "true"
    """Nowhere: the request alone sets it to true."""


class Empty(Enum):
    """The effect of an empty body, or `null`."""

    REMOVES = "removes"
    IGNORED = "ignored"
    REFUSED = "refused"
    """400."""
    UNMET = "unmet"
    """412."""


class Merge(Enum):
    """How the values of several levels are combined into the one that takes effect."""

    WHOLE = "whole"
    """The value of the first level that sets it."""
    MEMBERS = "members"
    """Member by member (in a map, name by name), each from the first level that sets it."""


NO_ANSWER = object()
"""Unset answer: 204 and no body."""
EMPTY_ANSWER = object()
"""Unset answer: 200 and an empty body, as from a Pulsar broker."""
LOCAL_CLUSTER = object()
"""Unset answer: a list of this cluster only."""

POLICIES_MISSING = "Namespace policies does not exist"
"""Pulsar's message for a missing namespace on those routes where it is not "Namespace does not exist"."""


@dataclass(frozen=True, slots=True)
class TopicRoute:
    """A topic policy's routes under `/admin/v2`.

    - `path`: what follows the topic; `read_path`: the same for GET, if it differs.
    - `permission`: Pulsar's name for the policy in a refusal.
    - `unset`: the answer to a GET if nothing is stored: `EMPTY_ANSWER`, `NO_ANSWER` or a JSON value; `absent`: the
      same if the topic has no policies of that scope at all.
    - `unsets`: a value that is not stored, so setting it unsets the policy.
    - `left`: the value that remains after a removal, None for none.
    - `removal_makes_policies`: even a removal creates the topic's policies of that scope.
    - `applied_sees_both`: `applied=true` considers both scopes, whichever was requested.
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
"""Takes a canonical value and the node's limits; raises `InvalidPolicy`, `PolicyUnmet` or `Forbidden` if invalid."""


@dataclass(frozen=True, slots=True)
class NamespaceRoute:
    """The same policy for a whole namespace: its `path`, and its `member` in the namespace's own document.

    - `remove_path`: the path for DELETE, if it differs; `has_delete`: whether Pulsar has a DELETE.
    - `empty`, `unset`, `has_applied`: as in `TopicRoute`; the document shows an `unset` that is a value.
    - `by_cluster`: the member is a map with one entry, for this cluster.
    - `check`: replaces the policy's own check if Pulsar's refusal has another text; `document_check`: does so in the
      document, if parts of the policy can be set by themselves.
    - `missing`: the message for a change of a namespace that does not exist.
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
    document_check: Check | None = None
    missing: str = "Namespace does not exist"


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy.

    `name` is its name wherever it is stored or exported. `default` is the value of a broker without settings, None for
    none. `is_unset` returns whether a stored value does not count when levels are compared.
    """

    name: str
    title: str
    kind: Kind
    topic: TopicRoute
    doc: str
    namespace: NamespaceRoute | None = None
    default: Value = None
    merge: Merge = Merge.WHOLE
    enforced_by: EnforcedBy = EnforcedBy.NOTHING
    check: Check = lambda value, limits: None
    is_unset: Callable[[Value], bool] = lambda value: False
    commands: Commands = field(default_factory=Commands)
