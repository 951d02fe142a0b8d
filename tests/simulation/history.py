"""What clients saw: every call with its begin, its end and its answer, and every read with what it showed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.simulation.operations import Operation
from topicfold.errors import TopicfoldError
from topicfold.model.events import handle_of_key, operation_of
from topicfold.model.policy.resolve import Policies
from topicfold.runtime.asking import Consistency, Written

if TYPE_CHECKING:
    from tests.simulation.listening import Ear

ACTOR = "simulation"

Scopes = tuple[Policies | None, Policies | None]


class Crashed(Exception):
    """The node died, or the client hung up, before there was an answer."""


@dataclass(slots=True)
class Span:
    """When something was asked, by the clock and by the log: `ends_before` and `ends_after` are its lengths then."""

    began: float
    deadline: float
    ends_before: tuple[int, ...]
    ended: float = -1.0
    ends_after: tuple[int, ...] = ()


@dataclass(slots=True)
class Call:
    """One write. `folded` is how far the answering node was in the operation's partition when it answered."""

    number: int
    node: str
    operation: Operation
    partition: int
    key: str | None
    if_match: str
    span: Span
    answer: Written | TopicfoldError | Crashed | None = None
    folded: int = -1
    sequence: tuple[int, int] | None = None
    """(pipeline, place in it), where a client sent several without waiting for answers."""

    @property
    def request_id(self) -> str:
        """What the audit trail of the event that carries it says."""
        return f"call-{self.number}"

    @property
    def key_id(self) -> bytes | None:
        """The operation id of its key; every call with the key has it."""
        if self.key is None:
            return None
        handle = handle_of_key(ACTOR, self.operation.method.value, self.operation.name, self.key)
        return operation_of(ACTOR, handle)

    @property
    def was_refused_a_connection(self) -> bool:
        """Whether the node was down, so that nothing can have come of it."""
        return isinstance(self.answer, Crashed) and self.span.began == self.span.ended

    def __str__(self) -> str:
        what = self.operation
        details = {**dict(what.labels), **({"keys": what.keys} if what.keys else {})}
        shown = f"{what.method.value} {what.name} {details or what.number or what.marker}"
        conditions = (
            f"{f' key={self.key}' if self.key else ''}{f' if-match={self.if_match[:8]}' if self.if_match else ''}"
        )
        answer = (
            f"{'changed' if self.answer.changed else 'unchanged'} {self.answer.etag[:8]}"
            if isinstance(self.answer, Written)
            else f"{type(self.answer).__name__}: {self.answer}"
        )
        span = self.span
        return (
            f"{span.began:8.3f}-{span.ended:8.3f} {self.node} call-{self.number} {shown}{conditions} -> {answer}"
            f" [ends {span.ends_before} to {span.ends_after}]"
        )


@dataclass(slots=True)
class Read:
    """One read of a topic's labels and policies (local, global). `labels` None means that it was not there;
    `confirmed` is the age's claim.

    `is_excused` is true where a barrier could not be had: the answer may be old, but must say so.
    """

    node: str
    topic: str
    namespace: str
    partition: int
    consistency: Consistency
    span: Span
    minimum: int = 0
    position: int = -1
    confirmed: float = -1.0
    labels: Mapping[str, str] | None = None
    policies: Scopes = (None, None)
    etag: str = ""
    found_by: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    error: TopicfoldError | Crashed | None = None
    is_excused: bool = False

    def __str__(self) -> str:
        return (
            f"{self.span.began:8.3f}-{self.span.ended:8.3f} {self.node} {self.consistency.value} read of {self.topic}"
            f" at {self.position} -> {self.error or self.labels} {self.etag[:8]}"
        )


@dataclass(slots=True)
class Status:
    """One look at what became of an operation: the verdict that a node told, None for "not seen"."""

    node: str
    partition: int
    operation_id: bytes
    position: int
    verdict: int | None


@dataclass(slots=True)
class History:
    """All of it, in the order of beginnings; `notes` are what the world did (crashes, outages, garbage)."""

    calls: list[Call] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)
    ears: list[Ear] = field(default_factory=list)
    notes: list[tuple[float, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """What was seen to be wrong while it ran: digests that differ, errors that are none of ours."""
    compared: int = 0
    """How often nodes compared their digests by themselves."""
