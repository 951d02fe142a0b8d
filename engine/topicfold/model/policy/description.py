"""How a policy is described: what it holds, where it is read and set, what fails, and who enforces it.

A `Policy` is data. Routes, commands, the stored form and the documents are made from it; a new policy is one more
row of the table.

Source: Pulsar's `PersistentTopics` and `Namespaces` resources, and its command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from topicfold.model.policy.limits import Limits
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


@dataclass(frozen=True, slots=True)
class TopicRoute:
    """A policy of topics under `/admin/v2`.

    `path` is the last segment, `read_path` that of the GET where it is another. `unset` is the answer of a GET where
    nothing is stored: `EMPTY_ANSWER`, `NO_ANSWER` or a JSON value.
    `permission` is Pulsar's name of the policy in a refusal.
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


@dataclass(frozen=True, slots=True)
class NamespaceRoute:
    """The same policy of a whole namespace: its path, and its member in the namespace's own document.

    `remove_path` is that of the DELETE where it is another; `has_delete` is false where Pulsar has none.
    """

    path: str
    member: str
    read_path: str = ""
    remove_path: str = ""
    method: str = "POST"
    has_delete: bool = True
    source: Source = Source.BODY


Check = Callable[[Value, Limits], None]
"""Takes a canonical value and raises `InvalidPolicy` or `PolicyUnmet` where it may not be set."""


class Unit(Enum):
    """How an option of the command line is written, and what it is turned into."""

    PLAIN = "as it is"
    SECONDS = "a time such as 90, 10m, 3h, 7d, in seconds"
    MINUTES = "a time such as 90, 10m, 3h, 7d (seconds without a suffix), in minutes"
    MILLISECONDS = "a time such as 1s, 10m, in milliseconds"
    BYTES = "a size such as 4096, 10K, 16M, 2G, in bytes"
    MEBIBYTES = "a size such as 4096, 10M, 16G, 2T (bytes without a suffix), in mebibytes"
    LIST = "words parted by commas"
    TRUE = "given: true"
    FALSE = "given: false"


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a policy's `set` command. `member` is the member of the value it states, "" the value itself."""

    flags: tuple[str, ...]
    member: str
    help: str
    unit: Unit = Unit.PLAIN
    default: Any = None
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """The commands of a policy: `get-NAME`, `set-NAME`, `remove-NAME`; `None` for one that is not there.

    `topic_aliases` are names in the older group `topics`, by the verb.
    """

    noun: str
    options: tuple[Option, ...] = ()
    topic_aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


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
    command: Command | None = None
