"""Operations: how what a method does on a path is declared.

Handlers take the request and return the answer: nothing is injected, so a call costs what the handler costs. Routes
(`routing`), the OpenAPI document (`document`) and authorization all follow from what is declared here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from topicfold import errors
from topicfold.errors import TopicfoldError
from topicfold.model.permissions import Access, Need, Scope
from topicfold.server.parameters import Declared, Flag
from topicfold.wire.resources import Resource

Handler = Callable[[Request], Awaitable[Response]]

READ_ERRORS: tuple[type[TopicfoldError], ...] = (
    errors.InvalidRequest, errors.InvalidName, errors.Unauthenticated, errors.Forbidden, errors.NotReady,
    errors.KeysUnavailable, errors.Overloaded, errors.PositionTimeout, errors.Resync,
)  # fmt: skip
WRITE_ERRORS = (
    *READ_ERRORS, errors.TooLarge, errors.KeyReused, errors.PreconditionFailed, errors.LogUnavailable,
    errors.NewerSchema, errors.OutcomeUnknown,
)  # fmt: skip
UNREADABLE = (errors.Undecodable, errors.NewerSchema)
"""Of what looks into a record."""
CLUSTER_ERRORS = (errors.ClusterUnavailable, errors.ClusterRefused)
"""Of what makes, grows or ends topics, which a Kafka cluster may have to do, too."""

NAMESPACE_POLICIES_REFUSED = (
    errors.InvalidPolicy, errors.PolicyUnmet, errors.PeerCluster, errors.UnknownCluster,
)  # fmt: skip
"""Of what sets policies of a namespace beside other things."""
POLICIES_REFUSED = (*NAMESPACE_POLICIES_REFUSED, errors.PoliciesDisabled)
"""Of what sets policies of a topic beside other things."""
TEXTS = {"type": "array", "items": {"type": "string"}}
"""The shape of a list of texts."""
TEXT_BY_NAME = {"type": "object", "additionalProperties": {"type": "string"}}
"""The shape of an object whose members are texts."""
TEXTS_BY_NAME = {"type": "object", "additionalProperties": TEXTS}
"""The shape of an object whose members are lists of texts."""
DRY_RUN = {204: "A dry run: the change would succeed."}

DOMAIN = "{domain:domain}"
"""The segment of a path that is a topic's domain."""
NAMESPACE_PATH = "/admin/v2/namespaces/{tenant}/{namespace}"
"""One namespace's path."""
TOPICS_PATH = f"/admin/v2/{DOMAIN}/{{tenant}}/{{namespace}}"
"""The path of a namespace's topics of one domain."""
TOPIC_PATH = f"{TOPICS_PATH}/{{topic}}"
"""One topic's path."""
TOPICS_DOMAIN = "topics"
"""PIP-451's spelling of `persistent` in a path."""
NAMESPACES_QUERY = "namespace*"
"""The query parameter that names the namespaces where a path names none."""
_NAMED_FOR = {scope: [each.name.lower() for each in Scope if each <= scope] for scope in Scope}
"""What a request names whose right is looked for there."""
GLOBAL = Flag("isGlobal", "`true`: the policies that apply to all clusters.")


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that a method does on a path.

    `needs` is what a caller must have; it is checked before `handle` is called. `answer` is the shape of a 200 or 201
    (a class, or a JSON schema), None for no body. `query` has the parameters by name, described where they are texts;
    of these those that end in `*` may be repeated. `aliases` are further spellings of the path. `media_types` are those
    of an answer that is not JSON. `empty` says by status when an answer has no body; `status` may be among them.
    `unwell` is the status of an error under which `answer` may come, too. `headers` are those that few other answers
    have. `policy` is Pulsar's name, for a refusal, of the policy that a path under `/admin/v2` is about. What
    `is_never_done` is refused whatever the path names, so it is no method to recommend. An answer that `is_endless`
    goes on until somebody has enough. `other_bodies` are the shapes that a body of another media type has;
    `without_body` is what is done where there is none, "" where it is refused.

    Raises:
        ValueError: a right is needed on something that the request does not name.
    """

    id: str
    method: str
    path: str
    handle: Handler
    summary: str
    status: int = 200
    answer: type[Resource] | Mapping[str, Any] | None = None
    body: type[Resource] | Mapping[str, Any] | None = None
    query: Declared = field(default_factory=dict)
    errors: Sequence[type[TopicfoldError]] = ()
    aliases: Sequence[str] = ()
    media_types: Sequence[str] = ()
    empty: Mapping[int, str] = field(default_factory=dict)
    unwell: int | None = None
    headers: Sequence[str] = ()
    needs: Need = field(kw_only=True)
    policy: str = field(default="", kw_only=True)
    is_never_done: bool = field(default=False, kw_only=True)
    is_endless: bool = field(default=False, kw_only=True)
    without_body: str = field(default="", kw_only=True)
    other_bodies: Mapping[str, type[Resource]] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        """See that every request names what the right is needed on."""
        if isinstance(self.needs, Access):
            return
        named = {"tenant", "namespace"} if NAMESPACES_QUERY in self.query else parameters_of(self.path)
        missing = [each for each in _NAMED_FOR[self.needs.scope] if each not in named]
        if missing:
            raise ValueError(f"{self.id} needs {self.needs}, and {self.path} names no {missing[0]}")

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that ask for it: HEAD does where GET does, and there is an end to the answer that it leaves out.

        Source: RFC 9110, 9.1: every server takes both.
        """
        return ("GET", "HEAD") if self.method == "GET" and not self.is_endless else (self.method,)


def parameters_of(path: str) -> Sequence[str]:
    """Return the names of a declared path's variable segments, in their order."""
    return [name for _, name in segments_of(path) if name]


@cache
def segments_of(path: str) -> Sequence[tuple[str, str]]:
    """Return the segments of a declared path, each with its name if it is variable, "" if it is literal.

    >>> segments_of("/admin/v2/{domain:domain}/list")
    (('', ''), ('admin', ''), ('v2', ''), ('{domain:domain}', 'domain'), ('list', ''))
    """
    segments = path.split("/")
    return tuple((each, each[1:-1].partition(":")[0] if each.startswith("{") else "") for each in segments)
