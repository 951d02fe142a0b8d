"""Names in paths: each segment is percent-decoded exactly once, here, then held against the rules for names."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote

from starlette.requests import Request

from topicfold.errors import InvalidName
from topicfold.model.names import PERSISTENT, TopicName, check_local, check_tenant, parse_namespace, partition_base

_MALFORMED_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CACHED_NAMES = 4_096


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


def topic_in(request: Request, domain: str | None = None) -> TopicName:
    """Return the topic that the path names; `domain` is given where it is not in the path.

    Under `/admin/v2` a `+` means a space, as it does to Pulsar.

    Raises:
        InvalidName: it breaks the rules.
    """
    params = request.path_params
    local = params["topic"]
    if domain is None:
        local = local.replace("+", "%20")
        domain = domain_in(request)
    return _topic(domain, params["tenant"], params["namespace"], local)


def whole_topic_in(request: Request) -> TopicName:
    """Return the topic that the path names, which must not be one partition of a topic.

    Raises:
        InvalidName: it is one, or breaks the rules.
    """
    return refuse_partition(topic_in(request))


def refuse_partition(name: TopicName) -> TopicName:
    """Return `name` unless it is that of one partition.

    Raises:
        InvalidName: it is; labels and policies belong to whole topics.
    """
    base = partition_base(name.local)
    if base is not None:
        raise InvalidName(
            f"topic {name} is one partition of a topic, and has no record of its own",
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
        if _MALFORMED_ESCAPE.search(segment):
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
