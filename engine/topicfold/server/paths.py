"""Names in paths: each segment is percent-decoded exactly once, here, then held against the rules for names."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote

from starlette.requests import Request

from topicfold.errors import InvalidName, InvalidRequest
from topicfold.model.names import (
    DEFAULT_NAMESPACE,
    DOMAINS,
    PERSISTENT,
    TopicName,
    check_local,
    check_tenant,
    parse_namespace,
    partition_base,
)
from topicfold.model.namespaces import ALL, Namespaces, parse_namespaces
from topicfold.server.parameters import Choice
from topicfold.server.queries import query_of

MAX_NAMESPACES = 100
"""In one request."""

MALFORMED_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
DOMAIN_IN_QUERY = Choice("domain", "A topic's domain.", DOMAINS, PERSISTENT, title="Domain")
_CACHED_NAMES = 4_096
_NAMED = "topicfold.topic"


def tenant_in(request: Request) -> str:
    """Return the tenant that the path names.

    Raises:
        InvalidName: it breaks the rules.
    """
    return check_tenant(decoded(request.path_params["tenant"]))


def namespace_in(request: Request) -> str:
    """Return the namespace that the path names.

    Raises:
        InvalidName: it breaks the rules.
    """
    return _namespace(request.path_params["tenant"], request.path_params["namespace"])


def topic_in(request: Request) -> TopicName:
    """Return the topic that a request names: by its path alone, or where that has no domain, with its query.

    Under `/admin/v2` a `+` means a space, as it does to Pulsar. Whatever asks again is given the same name: what is
    done is done to the topic that authorization was about.

    Raises:
        InvalidName: it breaks the rules.
        InvalidRequest: the domain is none.
    """
    scope = request.scope
    named: TopicName | None = scope.get(_NAMED)
    if named is None:
        params = scope["path_params"]
        local = params["topic"]
        if "domain" in params:
            domain, local = domain_in(request), local.replace("+", "%20")
        else:
            domain = DOMAIN_IN_QUERY.of(query_of(request))
        named = scope[_NAMED] = _topic(domain, params["tenant"], params["namespace"], local)
    return named


def namespaces_in(request: Request) -> Namespaces:
    """Return the namespaces that a request is about: the one in its path, or those in its query.

    Raises:
        InvalidName: one breaks the rules.
        InvalidRequest: more than `MAX_NAMESPACES`.
    """
    if "namespace" in request.path_params:
        return Namespaces((namespace_in(request),))
    named = dict.fromkeys(query_of(request).get("namespace", (DEFAULT_NAMESPACE,)))
    if len(named) > MAX_NAMESPACES:
        raise InvalidRequest(
            f"{len(named)} namespaces, at most {MAX_NAMESPACES} are allowed",
            hint=f"namespace=tenant/* means all namespaces of a tenant, namespace={ALL} all there are.",
        )
    return parse_namespaces(named)


def whole_topic_in(request: Request) -> TopicName:
    """Return the topic that the path names, which must not be one partition of a topic.

    Raises:
        InvalidName: it is one, or breaks the rules.
    """
    return refuse_partition(topic_in(request))


def refuse_partition(
    name: TopicName, reason: str = "topic {} is one partition of a topic, and has no record of its own"
) -> TopicName:
    """Return `name` unless it is that of one partition; `reason` says what is wrong with it, `{}` being the name.

    Raises:
        InvalidName: it is; labels and policies belong to whole topics.
    """
    base = partition_base(name.local)
    if base is not None:
        raise InvalidName(
            reason.format(name),
            name=str(name),
            hint=f"Name the whole topic: {name._replace(local=base)}",
        )
    return name


def domain_in(request: Request) -> str:
    """Return the domain that the path names; `topics` stands for persistent ones."""
    domain: str = request.path_params["domain"]
    return PERSISTENT if domain == "topics" else domain


def decoded(segment: str) -> str:
    """Return `segment` percent-decoded once.

    Raises:
        InvalidName: an escape is malformed, or what comes out is not UTF-8 (overlong forms are not).
    """
    if "%" not in segment:
        return segment
    try:
        if MALFORMED_ESCAPE.search(segment):
            raise InvalidName(f"{segment[:80]!r} holds a malformed percent-escape", name=segment)
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise InvalidName(f"{segment[:80]!r} is not valid UTF-8 once decoded", name=segment) from None


@lru_cache(maxsize=_CACHED_NAMES)
def _namespace(tenant: str, namespace: str) -> str:
    return parse_namespace(f"{check_tenant(decoded(tenant))}/{decoded(namespace)}")


@lru_cache(maxsize=_CACHED_NAMES)
def _topic(domain: str, tenant: str, namespace: str, local: str) -> TopicName:
    owner, _, part = _namespace(tenant, namespace).partition("/")
    return TopicName(domain, owner, part, check_local(decoded(local)))
