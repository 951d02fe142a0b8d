"""Where tenants, namespaces and topics are found: their paths under `/admin/v2` and `/api/v1`.

Every function of a tenant, a namespace or a topic raises `InvalidName` for a name that breaks the rules.
"""

from __future__ import annotations

from topicfold.client.call import Query, percent_encoded
from topicfold.errors import InvalidRequest
from topicfold.model.names import PERSISTENT, check_tenant, parse_namespace, parse_topic


def tenant_path(tenant: str) -> str:
    """Return the path of a tenant."""
    return f"/admin/v2/tenants/{segment(check_tenant(tenant))}"


def namespace_path(namespace: str) -> str:
    """Return the path of a namespace."""
    return f"/admin/v2/namespaces/{path_of(parse_namespace(namespace))}"


def topic_path(topic: str) -> str:
    """Return the path of a topic under `/admin/v2`."""
    name = parse_topic(topic)
    return f"/admin/v2/{name.domain}/{path_of(name.namespace)}/{segment(name.local)}"


def native_topic_path(topic: str) -> str:
    """Return the path of a topic under `/api/v1`; `domain_query` goes with it."""
    name = parse_topic(topic)
    return f"/api/v1/topics/{path_of(name.namespace)}/{segment(name.local)}"


def native_namespace_path(namespace: str) -> str:
    """Return the path of a namespace under `/api/v1`."""
    return f"/api/v1/namespaces/{path_of(parse_namespace(namespace))}"


def domain_query(topic: str) -> Query:
    """Return the parameter that says of a topic under `/api/v1` that it is not persistent."""
    name = parse_topic(topic)
    return () if name.domain == PERSISTENT else (("domain", name.domain),)


def path_of(namespace: str) -> str:
    """Return the segments that name a namespace."""
    return "/".join(segment(part) for part in namespace.split("/"))


def given_segment(what: str, text: str) -> str:
    """Return `text`, the `what` that somebody gave, as one segment of a path.

    Raises:
        InvalidRequest: it is empty, or means a directory; the path would be that of something else.
    """
    if not text:
        raise InvalidRequest(f"the {what} is empty", hint=f"Name the {what}; is a variable not set?")
    if text in (".", ".."):
        raise InvalidRequest(f"{text!r} is not a {what} that a path can contain", hint="Choose another name.")
    return segment(text)


def segment(text: str) -> str:
    """Return `text` as one segment of a path.

    Raises:
        InvalidRequest: it is no text that UTF-8 can write.
    """
    return percent_encoded(text)
