"""One function for each route: what is sent, and how the answer is read. No I/O.

A `Call` says all that a sender needs, so that a blocking and an asynchronous client share this file.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypedDict, TypeVar
from urllib.parse import quote

from topicfold.client.answers import Found, Operation, Readiness, ServerVersion, Tenant, Topic, Written
from topicfold.errors import InvalidRequest
from topicfold.model.names import PERSISTENT, check_tenant, parse_namespace, parse_topic
from topicfold.wire import headers

T = TypeVar("T")

_PLAIN_IN_REASON = " " + string.punctuation.replace("%", "")
Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is no error. Names of `headers` are lower-case; `body` is None where there was none."""

    status: int
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request, and how its answer is read. `body` None sends none; `accepts` are statuses that are no errors."""

    method: str
    path: str
    read: Callable[[Answer], T]
    query: Query = ()
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    accepts: frozenset[int] = frozenset()

    @property
    def is_change(self) -> bool:
        """Whether the server's state may differ afterwards."""
        return self.method != "GET"


class ChangeOptions(TypedDict, total=False):
    """What every change can be given.

    `if_match`: the ETag the change is meant for; another current one is `PreconditionFailed`.
    `idempotency_key`: up to 255 ASCII characters; the same key applies a change once. Made up if not given.
    `reason`: up to 512 characters, kept in the topic's history.
    """

    if_match: str | None
    idempotency_key: str | None
    reason: str | None


def list_tenants() -> Call[tuple[str, ...]]:
    """Ask for the names of all tenants."""
    return Call("GET", "/admin/v2/tenants", _names)


def get_tenant(tenant: str) -> Call[Tenant]:
    """Ask for one tenant."""

    def read(answer: Answer) -> Tenant:
        return Tenant.of(tenant, answer.body, _etag(answer))

    return Call("GET", _tenant_path(tenant), read)


def put_tenant(tenant: str, admin_roles: Iterable[str], clusters: Iterable[str], o: ChangeOptions) -> Call[Written]:
    """Ask to create a tenant."""
    body = {"adminRoles": list(admin_roles), "allowedClusters": list(clusters)}
    return _change("PUT", _tenant_path(tenant), o, body=body)


def post_tenant(tenant: str, admin_roles: Iterable[str], clusters: Iterable[str], o: ChangeOptions) -> Call[Written]:
    """Ask to replace what a tenant says."""
    body = {"adminRoles": list(admin_roles), "allowedClusters": list(clusters)}
    return _change("POST", _tenant_path(tenant), o, body=body)


def delete_tenant(tenant: str, force: bool, o: ChangeOptions) -> Call[Written]:
    """Ask to delete a tenant."""
    return _change("DELETE", _tenant_path(tenant), o, query=_force(force))


def list_namespaces(tenant: str) -> Call[tuple[str, ...]]:
    """Ask for the namespaces of a tenant."""
    return Call("GET", f"/admin/v2/namespaces/{_segment(check_tenant(tenant))}", _names)


def get_namespace(namespace: str) -> Call[Mapping[str, Any]]:
    """Ask for one namespace."""
    return Call("GET", _namespace_path(namespace), _mapping)


def put_namespace(namespace: str, o: ChangeOptions) -> Call[Written]:
    """Ask to create a namespace."""
    return _change("PUT", _namespace_path(namespace), o)


def delete_namespace(namespace: str, force: bool, o: ChangeOptions) -> Call[Written]:
    """Ask to delete a namespace."""
    return _change("DELETE", _namespace_path(namespace), o, query=_force(force))


def namespace_labels(namespace: str) -> Call[dict[str, tuple[str, ...]]]:
    """Ask for all labels in use in a namespace."""

    def read(answer: Answer) -> dict[str, tuple[str, ...]]:
        return {key: tuple(values) for key, values in answer.body.items()}

    return Call("GET", f"{_namespace_path(namespace)}/topicCustomLabels", read)


def list_topics(namespace: str, domain: str, labels: Mapping[str, str]) -> Call[tuple[str, ...]]:
    """Ask for full names, partitioned topics as their partitions."""
    path = f"/admin/v2/{domain}/{_path(parse_namespace(namespace))}"
    return Call("GET", path, _names, query=_pairs("custom-labels", labels, ":"))


def list_partitioned_topics(namespace: str, domain: str, labels: Mapping[str, str]) -> Call[tuple[str, ...]]:
    """Ask for the full names of partitioned topics."""
    path = f"/admin/v2/{domain}/{_path(parse_namespace(namespace))}/partitioned"
    return Call("GET", path, _names, query=_pairs("custom-labels", labels, ":"))


def grow_topic(topic: str, partitions: int, o: ChangeOptions) -> Call[Written]:
    """Ask for more partitions."""
    return _change("POST", f"{_admin_topic_path(topic)}/partitions", o, body=partitions)


def get_labels(topic: str) -> Call[dict[str, str]]:
    """Ask for a topic's labels."""
    return Call("GET", f"{_admin_topic_path(topic)}/custom-labels", lambda answer: dict(answer.body))


def post_labels(topic: str, labels: Mapping[str, str], o: ChangeOptions) -> Call[Written]:
    """Ask to set labels beside those that are there."""
    return _change("POST", f"{_admin_topic_path(topic)}/custom-labels", o, body={"labels": dict(labels)})


def delete_labels(topic: str, keys: Iterable[str], o: ChangeOptions) -> Call[Written]:
    """Ask to remove the labels of these keys.

    Raises:
        InvalidRequest: there are none; the route would not know what is meant.
    """
    query = tuple(("keys", key) for key in keys)
    if not query:
        raise InvalidRequest("no keys of labels to remove", hint="Name at least one key, or remove all labels.")
    return _change("DELETE", f"{_admin_topic_path(topic)}/custom-labels", o, query=query)


def delete_all_labels(topic: str, o: ChangeOptions) -> Call[Written]:
    """Ask to remove all labels of a topic."""
    return _change("DELETE", f"{_admin_topic_path(topic)}/custom-labels", o, query=(("all", "true"),))


def find_topics(namespaces: Iterable[str], labels: Mapping[str, str]) -> Call[Found]:
    """Ask for the topics of these namespaces that bear all these labels."""

    def read(answer: Answer) -> Found:
        topics = tuple(sorted(map(Topic.of, answer.body["items"]), key=lambda topic: topic.name))
        return Found(topics, answer.body["position"], age_seconds(answer))

    query = tuple(("namespace", parse_namespace(namespace)) for namespace in namespaces)
    return Call("GET", "/api/v1/topics", read, query=query + _pairs("label", labels, "="))


def get_topic(topic: str) -> Call[Topic]:
    """Ask for one topic's record."""
    return Call("GET", *_native_topic(topic))


def put_topic(topic: str, record: Mapping[str, Any], o: ChangeOptions) -> Call[Topic]:
    """Ask to create a topic."""
    path, read, query = _native_topic(topic)
    return Call("PUT", path, read, query, body=dict(record), headers=_change_headers(o))


def patch_topic(topic: str, changes: Mapping[str, Any], o: ChangeOptions) -> Call[Topic]:
    """Ask to replace members of a topic's record."""
    path, read, query = _native_topic(topic)
    return Call("PATCH", path, read, query, body=dict(changes), headers=_change_headers(o))


def delete_topic(topic: str, o: ChangeOptions) -> Call[Written]:
    """Ask to delete a topic, partitioned or not."""
    path, _, query = _native_topic(topic)
    return _change("DELETE", path, o, query=query)


def delete_plain_topic(topic: str, o: ChangeOptions) -> Call[Written]:
    """Ask to delete a topic if it is not partitioned."""
    return _change("DELETE", _admin_topic_path(topic), o)


def delete_partitioned_topic(topic: str, o: ChangeOptions) -> Call[Written]:
    """Ask to delete a topic if it is partitioned."""
    return _change("DELETE", f"{_admin_topic_path(topic)}/partitions", o)


def get_operation(operation: str) -> Call[Operation]:
    """Ask what became of a change."""
    return Call("GET", f"/api/v1/operations/{_segment(operation)}", lambda answer: Operation.of(answer.body))


def get_version() -> Call[ServerVersion]:
    """Ask for the server's version."""
    return Call("GET", "/version", lambda answer: ServerVersion(answer.body["version"], answer.body))


def get_readiness() -> Call[Readiness]:
    """Ask whether the server is ready, in detail; not being so is an answer, not an error."""

    def read(answer: Answer) -> Readiness:
        return Readiness(answer.status == 200, _mapping(answer))

    return Call("GET", "/readyz", read, query=(("verbose", ""),), accepts=frozenset({503}))


def age_seconds(answer: Answer) -> float | None:
    """Return how old what `answer` says may be, None if it does not say.

    Raises:
        ValueError: the header is no number.
    """
    age = answer.headers.get(headers.LOG_AGE.lower())
    return float(age) if age else None


def _change(method: str, path: str, options: ChangeOptions, *, query: Query = (), body: Any = None) -> Call[Written]:
    return Call(method, path, _written, query, body, _change_headers(options))


def _change_headers(options: ChangeOptions) -> dict[str, str]:
    """Return the headers that `options` are.

    Raises:
        InvalidRequest: a value that no header can carry, or is too long.
    """
    key = options.get("idempotency_key")
    sent = {headers.IDEMPOTENCY_KEY: secrets.token_hex(16) if key is None else key}
    if not 1 <= len(sent[headers.IDEMPOTENCY_KEY]) <= headers.MAX_IDEMPOTENCY_KEY_LENGTH:
        raise InvalidRequest(
            f"{headers.IDEMPOTENCY_KEY}: expected 1 to {headers.MAX_IDEMPOTENCY_KEY_LENGTH} characters",
            hint="Leave it out to have one made up.",
        )
    if etag := options.get("if_match"):
        sent[headers.IF_MATCH] = etag if etag == "*" else '"' + etag.strip('"') + '"'
    for name, value in sent.items():
        if not (value.isascii() and value.isprintable()):
            raise InvalidRequest(f"{name}: {value!a} holds characters that no header can carry")
    if reason := options.get("reason"):
        if len(reason) > headers.MAX_CHANGE_REASON_LENGTH:
            raise InvalidRequest(
                f"the reason has {len(reason)} characters, at most {headers.MAX_CHANGE_REASON_LENGTH} are kept",
                hint="Shorten it, or give a link.",
            )
        sent[headers.CHANGE_REASON] = quote(reason, safe=_PLAIN_IN_REASON)
    return sent


def _written(answer: Answer) -> Written:
    operation = answer.headers.get(headers.OPERATION_ID.lower(), "")
    return Written(operation, answer.headers.get(headers.LOG_POSITION.lower(), ""), _etag(answer))


def _etag(answer: Answer) -> str:
    """Return the ETag as JSON has it: without the quotes that belong to the header."""
    return answer.headers.get(headers.ETAG.lower(), "").strip('"')


def _names(answer: Answer) -> tuple[str, ...]:
    if not isinstance(answer.body, list):
        raise TypeError("a list was expected")
    return tuple(answer.body)


def _mapping(answer: Answer) -> Mapping[str, Any]:
    if not isinstance(answer.body, dict):
        raise TypeError("an object was expected")
    return answer.body


def _pairs(name: str, labels: Mapping[str, str], separator: str) -> Query:
    """Return a parameter for each label. One alone would be split at its commas, so it is sent twice."""
    pairs = tuple((name, f"{key}{separator}{value}") for key, value in labels.items())
    return pairs * 2 if len(pairs) == 1 else pairs


def _force(force: bool) -> Query:
    return (("force", "true"),) if force else ()


def _tenant_path(tenant: str) -> str:
    return f"/admin/v2/tenants/{_segment(check_tenant(tenant))}"


def _namespace_path(namespace: str) -> str:
    return f"/admin/v2/namespaces/{_path(parse_namespace(namespace))}"


def _admin_topic_path(topic: str) -> str:
    name = parse_topic(topic)
    return f"/admin/v2/{name.domain}/{_path(name.namespace)}/{_segment(name.local)}"


def _native_topic(topic: str) -> tuple[str, Callable[[Answer], Topic], Query]:
    name = parse_topic(topic)
    query = () if name.domain == PERSISTENT else (("domain", name.domain),)
    path = f"/api/v1/topics/{_path(name.namespace)}/{_segment(name.local)}"
    return path, lambda answer: Topic.of(answer.body), query


def _path(namespace: str) -> str:
    return "/".join(_segment(part) for part in namespace.split("/"))


def _segment(text: str) -> str:
    return quote(text, safe="")
