"""The blocking client: one method for each thing the REST API can do.

What is sent and how answers are read is in `calls`, when to try again in `conversation`; here is only the sending.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, Self, TypeVar, Unpack

import httpx2

from topicfold import __version__
from topicfold.client import calls
from topicfold.client.answers import Found, Operation, Readiness, ServerVersion, Tenant, Topic, Written
from topicfold.client.calls import Answer, Call, ChangeOptions
from topicfold.client.conversation import Attempt, Conversation, NoAnswer, Pause, RetryRule, conversation
from topicfold.client.errors import UnexpectedAnswer
from topicfold.errors import InvalidRequest, Resync
from topicfold.model.names import DEFAULT_NAMESPACE, PERSISTENT
from topicfold.wire import headers

DEFAULT_URL = "http://127.0.0.1:8080"
DEFAULT_TIMEOUT_SECONDS = 30.0

_CONNECT_SECONDS = 5.0
_MAX_PORT = 65535
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)

T = TypeVar("T")


class Client:
    """A connection to Topicfold servers behind one URL.

    Reads what it wrote, on whatever node it arrives: each thread's calls carry the position of its last answer
    (`read_your_writes=False` stops that). Threads may share a client; what one thread wrote, another is not sure to
    read at once on another node. Changes carry an Idempotency-Key and are tried again when that may help, within
    `timeout_seconds` for the whole call.

        with Client() as client:
            client.create_topic("orders", labels={"team": "pay"})
            client.find_topics(labels={"team": "pay"}).topics

    Every method raises the errors of `topicfold.errors` that the server answers with, `ServerUnreachable`,
    `AnswerLost` (changes only) and `UnexpectedAnswer`; names that break the rules are `InvalidName` before anything
    is sent. Topics may be named in full, as `tenant/namespace/topic`, or bare in `public/default`.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        read_your_writes: bool = True,
        retry: RetryRule | None = None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        """Prepare a client; nothing is sent yet. `url` without a scheme means `http://`.

        `transport` replaces the network, say in tests.

        Raises:
            InvalidRequest: `url` is not one of HTTP.
        """
        url = url if "://" in url else f"http://{url}"
        self.url = url.rstrip("/")
        self._timeout_seconds = timeout_seconds
        self._read_your_writes = read_your_writes
        self._retry = retry or RetryRule()
        self._remembered = threading.local()
        self._http = httpx2.Client(
            base_url=_base_url(url),
            headers={"Accept": "application/json", "User-Agent": f"topicfold/{__version__}"},
            transport=transport,
            # A proxy of the environment is never meant for this machine itself.
            trust_env=httpx2.URL(url).host not in _LOOPBACK,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    @property
    def position(self) -> str:
        """The position that this thread's last answer told, or "" before the first."""
        return getattr(self._remembered, "position", "")

    @property
    def age_seconds(self) -> float | None:
        """How old what this thread last read may be: the time since the server last saw the end of the log.

        None before the first read.
        """
        return getattr(self._remembered, "age_seconds", None)

    def list_tenants(self) -> tuple[str, ...]:
        """Return the names of all tenants, sorted."""
        return self._perform(calls.list_tenants())

    def get_tenant(self, tenant: str) -> Tenant:
        """Return one tenant."""
        return self._perform(calls.get_tenant(tenant))

    def create_tenant(
        self,
        tenant: str,
        *,
        admin_roles: Iterable[str] = (),
        allowed_clusters: Iterable[str] = (),
        **options: Unpack[ChangeOptions],
    ) -> Written:
        """Create a tenant."""
        return self._perform(calls.put_tenant(tenant, admin_roles, allowed_clusters, options))

    def update_tenant(
        self,
        tenant: str,
        *,
        admin_roles: Iterable[str] = (),
        allowed_clusters: Iterable[str] = (),
        **options: Unpack[ChangeOptions],
    ) -> Written:
        """Replace what a tenant says."""
        return self._perform(calls.post_tenant(tenant, admin_roles, allowed_clusters, options))

    def delete_tenant(self, tenant: str, *, force: bool = False, **options: Unpack[ChangeOptions]) -> Written:
        """Delete a tenant; one that has namespaces is `NotEmpty` without `force`."""
        return self._perform(calls.delete_tenant(tenant, force, options))

    def list_namespaces(self, tenant: str) -> tuple[str, ...]:
        """Return the namespaces of a tenant as `tenant/namespace`, sorted."""
        return self._perform(calls.list_namespaces(tenant))

    def get_namespace(self, namespace: str) -> Mapping[str, Any]:
        """Return the policies of a namespace, in Pulsar's words."""
        return self._perform(calls.get_namespace(namespace))

    def create_namespace(self, namespace: str, **options: Unpack[ChangeOptions]) -> Written:
        """Create a namespace in a tenant that exists."""
        return self._perform(calls.put_namespace(namespace, options))

    def delete_namespace(self, namespace: str, *, force: bool = False, **options: Unpack[ChangeOptions]) -> Written:
        """Delete a namespace; one that has topics is `NotEmpty` without `force`, which deletes them too."""
        return self._perform(calls.delete_namespace(namespace, force, options))

    def namespace_labels(self, namespace: str) -> dict[str, tuple[str, ...]]:
        """Return the labels in use in a namespace: each key with its values, both sorted."""
        return self._perform(calls.namespace_labels(namespace))

    def list_topics(
        self, namespace: str, *, domain: str = PERSISTENT, labels: Mapping[str, str] | None = None
    ) -> tuple[str, ...]:
        """Return full names, sorted, a partitioned topic as its partitions (as Pulsar lists them)."""
        return self._perform(calls.list_topics(namespace, domain, labels or {}))

    def list_partitioned_topics(
        self, namespace: str, *, domain: str = PERSISTENT, labels: Mapping[str, str] | None = None
    ) -> tuple[str, ...]:
        """Return the full names of partitioned topics, sorted."""
        return self._perform(calls.list_partitioned_topics(namespace, domain, labels or {}))

    def find_topics(
        self, namespaces: Iterable[str] = (DEFAULT_NAMESPACE,), *, labels: Mapping[str, str] | None = None
    ) -> Found:
        """Return the topics of these namespaces that bear all of `labels`, each partitioned topic once."""
        return self._perform(calls.find_topics(namespaces, labels or {}))

    def get_topic(self, topic: str) -> Topic:
        """Return a topic's record."""
        return self._perform(calls.get_topic(topic))

    def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 0,
        kafka_name: str | None = None,
        properties: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        policies: Mapping[str, Mapping[str, Any]] | None = None,
        **options: Unpack[ChangeOptions],
    ) -> Topic:
        """Create a topic: plain with 0 `partitions`, else partitioned.

        `kafka_name` is the Kafka topic it stands for, where that does not follow from its name. `policies` are by
        name, in the scopes `local` and `global`.
        """
        record = {
            "partitions": partitions,
            "kafkaName": kafka_name,
            "properties": dict(properties or {}),
            "labels": dict(labels or {}),
            **({"policies": policies} if policies else {}),
        }
        return self._perform(calls.put_topic(topic, record, options))

    def patch_topic(self, topic: str, changes: Mapping[str, Any], **options: Unpack[ChangeOptions]) -> Topic:
        """Replace members of a topic's record in one update: `labels`, `properties`, `policies` by scope.

        What `changes` leaves out stays as it is.
        """
        return self._perform(calls.patch_topic(topic, changes, options))

    def grow_topic(self, topic: str, partitions: int, **options: Unpack[ChangeOptions]) -> Written:
        """Give a partitioned topic `partitions` partitions, more than it has."""
        return self._perform(calls.grow_topic(topic, partitions, options))

    def delete_topic(self, topic: str, **options: Unpack[ChangeOptions]) -> Written:
        """Delete a topic, partitioned or not."""
        return self._perform(calls.delete_topic(topic, options))

    def delete_plain_topic(self, topic: str, **options: Unpack[ChangeOptions]) -> Written:
        """Delete a topic; a partitioned one is `WrongKind`."""
        return self._perform(calls.delete_plain_topic(topic, options))

    def delete_partitioned_topic(self, topic: str, **options: Unpack[ChangeOptions]) -> Written:
        """Delete a topic and with it its partitions; one that is not partitioned is `WrongKind`."""
        return self._perform(calls.delete_partitioned_topic(topic, options))

    def get_labels(self, topic: str) -> dict[str, str]:
        """Return a topic's labels."""
        return self._perform(calls.get_labels(topic))

    def set_labels(self, topic: str, labels: Mapping[str, str], **options: Unpack[ChangeOptions]) -> Written:
        """Set these labels of a topic; its others stay."""
        return self._perform(calls.post_labels(topic, labels, options))

    def remove_labels(self, topic: str, keys: Iterable[str], **options: Unpack[ChangeOptions]) -> Written:
        """Remove the labels of these keys from a topic."""
        return self._perform(calls.delete_labels(topic, keys, options))

    def remove_all_labels(self, topic: str, **options: Unpack[ChangeOptions]) -> Written:
        """Remove every label from a topic."""
        return self._perform(calls.delete_all_labels(topic, options))

    def get_operation(self, operation: str) -> Operation:
        """Return what became of a change whose outcome was unknown."""
        return self._perform(calls.get_operation(operation))

    def version(self) -> ServerVersion:
        """Return the server's version."""
        return self._perform(calls.get_version())

    def readiness(self) -> Readiness:
        """Return whether the server is ready, and its report; not being ready is no error."""
        return self._perform(calls.get_readiness())

    def _perform(self, call: Call[T]) -> T:
        """Return what `call` asks for, and remember the position of the answer.

        Raises:
            TopicfoldError: what the server refused with, or why there is no answer.
        """
        dialogue = conversation(
            call,
            url=self.url,
            position=self.position if self._read_your_writes else "",
            timeout_seconds=self._timeout_seconds,
            rule=self._retry,
            clock=time.monotonic,
        )
        try:
            answer = self._drive(dialogue, call)
        except Resync:
            self._remembered.position = ""
            raise
        try:
            result, age_seconds = call.read(answer), calls.age_seconds(answer)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UnexpectedAnswer(
                f"{self.url} does not answer {call.method} {call.path} as Topicfold does",
                url=self.url,
                status=answer.status,
            ) from error
        self._remembered.position = answer.headers.get(headers.LOG_POSITION.lower(), self.position)
        if age_seconds is not None:
            self._remembered.age_seconds = age_seconds
        return result

    def _drive(self, dialogue: Conversation, call: Call[Any]) -> Answer:
        outcome: Answer | NoAnswer | None = None
        while True:
            try:
                step = dialogue.send(outcome)
            except StopIteration as end:
                answer: Answer = end.value
                return answer
            match step:
                case Attempt():
                    outcome = self._send(call, step)
                case Pause(seconds):
                    time.sleep(seconds)
                    outcome = None

    def _send(self, call: Call[Any], attempt: Attempt) -> Answer | NoAnswer:
        request = self._http.build_request(
            call.method,
            call.path,
            params=list(call.query) or None,
            json=call.body,
            headers=list(attempt.headers),
            timeout=httpx2.Timeout(attempt.timeout_seconds, connect=min(attempt.timeout_seconds, _CONNECT_SECONDS)),
        )
        try:
            response = self._http.send(request)
        except httpx2.TimeoutException as error:
            reason = f"timed out after {attempt.timeout_seconds:.3g} s"
            return NoAnswer(reason, was_sent=not isinstance(error, _NEVER_SENT))
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            return NoAnswer(str(error) or type(error).__name__, was_sent=not isinstance(error, _NEVER_SENT))
        return Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, _body(response))


def _base_url(url: str) -> httpx2.URL:
    """Return `url` parsed.

    Raises:
        InvalidRequest: it is not one of HTTP.
    """
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise InvalidRequest(f"{url!r} is not a URL: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidRequest(f"{url!r} is not the URL of a server", hint=f"Write it like {DEFAULT_URL}.")
    if parsed.port is not None and not 1 <= parsed.port <= _MAX_PORT:
        raise InvalidRequest(f"{url!r} is not the URL of a server: ports are 1 to {_MAX_PORT}")
    return parsed


def _body(response: httpx2.Response) -> Any:
    try:
        return response.json() if response.content else None
    except ValueError:
        return None
