"""Names of tenants, namespaces and topics.

Text from outside is parsed here, once, at the edge (`parse_topic`, `parse_namespace`, `check_tenant`). Names from the
log are only split (`split_topic`), not checked: rules may become stricter, but the log stays as it is.

Source: Pulsar's TopicName and NamespaceName.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from typing import NamedTuple

from topicfold.errors import InvalidName, shortened
from topicfold.model.steering import steers

MAX_PART_LENGTH = 64
MAX_TOPIC_BYTES = 255
DEFAULT_TENANT = "public"
DEFAULT_NAMESPACE = "public/default"
PERSISTENT = "persistent"
NON_PERSISTENT = "non-persistent"
DOMAINS = (PERSISTENT, NON_PERSISTENT)
PART = re.compile(r"[-=:.\w]+", re.ASCII)
"""The characters of a tenant's, namespace's or cluster's name."""

_ENCODED_TWICE = re.compile(r"%[0-9A-Fa-f]{2}")
_PARTITION_MARK = "-partition-"
_PARTITION_SUFFIX = re.compile(r"-partition-(0|[1-9][0-9]*)$")


class TopicName(NamedTuple):
    """A topic's full name.

    >>> str(parse_topic("orders"))
    'persistent://public/default/orders'
    """

    domain: str
    tenant: str
    namespace_part: str
    local: str

    @property
    def namespace(self) -> str:
        """The namespace as `tenant/namespace`."""
        return f"{self.tenant}/{self.namespace_part}"

    @property
    def key(self) -> str:
        """The name inside its namespace: the local part, with the domain before it unless that is `persistent`.

        A local part contains no slash, so the two forms cannot be confused.
        """
        return self.local if self.domain == PERSISTENT else f"{self.domain}://{self.local}"

    @property
    def whole(self) -> TopicName:
        """The partitioned topic's name if this may be one of its partitions', else this.

        >>> str(parse_topic("orders-partition-3").whole)
        'persistent://public/default/orders'
        """
        return self._replace(local=partition_base(self.local) or self.local)

    def __str__(self) -> str:
        return f"{self.domain}://{self.tenant}/{self.namespace_part}/{self.local}"


def is_topic(name: str) -> bool:
    """Return whether a full name is a topic's rather than a namespace's.

    >>> is_topic("persistent://acme/pay/orders"), is_topic("acme/pay")
    (True, False)
    """
    return "://" in name


def topic_of_key(namespace: str, key: str) -> str:
    """Return the full name of the topic with this `key` in `namespace` (see `TopicName.key`)."""
    domain, separator, local = key.partition("://")
    return f"{domain}://{namespace}/{local}" if separator else f"{PERSISTENT}://{namespace}/{key}"


def local_of_key(key: str) -> str:
    """Return the local name of the topic with this `key` in its namespace.

    >>> local_of_key("orders"), local_of_key("non-persistent://orders")
    ('orders', 'orders')
    """
    return key.rpartition("://")[2]


def parse_topic(text: str, namespace: str = DEFAULT_NAMESPACE) -> TopicName:
    """Return the name that `text` means: full, `tenant/namespace/topic`, or bare in `namespace`.

    Raises:
        InvalidName: says which rule it breaks.
    """
    domain, separator, path = text.partition("://")
    if not separator:
        domain, path = PERSISTENT, text
    if domain not in DOMAINS:
        raise InvalidName(
            f"topic {_shown(text)}: the domain must be persistent or non-persistent, not {_shown(domain)}",
            name=text,
            hint="Write persistent://tenant/namespace/topic, tenant/namespace/topic or just topic.",
        )
    parts = path.split("/")
    if len(parts) == 1 and not separator:
        parts = [*namespace.split("/"), path]
    if len(parts) != 3:
        raise InvalidName(
            f"topic {_shown(text)}: expected tenant/namespace/topic, found {len(parts)} part(s)",
            name=text,
            hint="Write persistent://tenant/namespace/topic, tenant/namespace/topic or just topic.",
        )
    check_tenant(parts[0])
    _check_part("namespace", parts[1])
    check_local(parts[2])
    return TopicName(domain, *parts)


def parse_namespace(text: str) -> str:
    """Return `text` if it is a namespace as `tenant/namespace`.

    Raises:
        InvalidName: says which rule it breaks.
    """
    parts = text.split("/")
    if len(parts) != 2:
        raise InvalidName(
            f"namespace {_shown(text)}: expected tenant/namespace",
            name=text,
            hint=f"Write tenant/namespace, say {_likely_namespace(text)}.",
        )
    check_tenant(parts[0])
    _check_part("namespace", parts[1])
    return text


def _likely_namespace(text: str) -> str:
    """Return a namespace that an invalid text may mean."""
    is_name = text != DEFAULT_TENANT and len(text) <= MAX_PART_LENGTH and PART.fullmatch(text)
    return f"{DEFAULT_TENANT}/{text}" if is_name else DEFAULT_NAMESPACE


def argument(name: str) -> str:
    """Return a name as the last argument of a shell command, quoted, and protected from being taken for an option.

    >>> argument("acme/pay"), argument("-x"), argument("a b")
    ('acme/pay', '-- -x', "'a b'")
    """
    return f"{'-- ' if name.startswith('-') else ''}{shlex.quote(name)}"


def check_tenant(text: str) -> str:
    """Return `text` if it is a tenant's name.

    Raises:
        InvalidName: says which rule it breaks.
    """
    return _check_part("tenant", text)


def check_cluster(text: str) -> str:
    """Return `text` if it may be a cluster's name.

    Raises:
        InvalidName: says which rule it breaks.
    """
    return _check_part("cluster", text)


def check_local(text: str) -> str:
    """Return `text`, percent-decoded exactly once, if it may be the last part of a topic's name.

    Raises:
        InvalidName: says which rule it breaks.
    """
    reason = _local_violation(text)
    if reason:
        raise InvalidName(f"topic {_shown(text)}: {reason}", name=text)
    return text


def partition_base(local: str) -> str | None:
    """Return the partitioned topic's local name if `local` names one of its partitions.

    >>> partition_base("orders-partition-3")
    'orders'
    """
    match = _PARTITION_SUFFIX.search(local)
    return local[: match.start()] if match and match.start() else None


def holds_partition_mark(local: str) -> bool:
    """Return whether a local name contains `-partition-`, which Pulsar does not allow for partitioned topics."""
    return _PARTITION_MARK in local


def recorded_topic(full: str) -> TopicName:
    """Return the parts of a topic's full name from the log, without checking any rule.

    >>> recorded_topic("persistent://acme/pay/orders").namespace
    'acme/pay'
    """
    domain, _, path = full.partition("://")
    return TopicName(domain, *path.split("/", 2))


def split_topic(full: str) -> tuple[str, str] | None:
    """Return (namespace, key) of a topic's full name from the log, or None if it is not one.

    Only the shape is checked. This rule is frozen, because verdicts depend on it.
    """
    domain, separator, path = full.partition("://")
    parts = path.split("/")
    if not separator or domain not in DOMAINS or len(parts) != 3 or "" in parts:
        return None
    tenant, namespace, local = parts
    return f"{tenant}/{namespace}", local if domain == PERSISTENT else f"{domain}://{local}"


def is_namespace_shape(full: str) -> bool:
    """Return whether `full` has the shape `tenant/namespace`. Frozen, because verdicts depend on it."""
    tenant, separator, rest = full.partition("/")
    return bool(tenant and separator and rest and "/" not in rest)


def _check_part(what: str, text: str) -> str:
    if not PART.fullmatch(text) or len(text) > MAX_PART_LENGTH or text in (".", ".."):
        raise InvalidName(
            f"{what} {_shown(text)}: expected 1 to {MAX_PART_LENGTH} of the characters A-Z a-z 0-9 _ - = : .",
            name=shortened(text),
        )
    return text


def _local_violation(text: str) -> str | None:
    """Return what is wrong with a local topic name, or None."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "not valid UTF-8"
    if not text.strip():
        return "empty"
    if size > MAX_TOPIC_BYTES:
        return f"{size} bytes, at most {MAX_TOPIC_BYTES} are allowed"
    if text in (".", ".."):
        return "'.' and '..' are not names"
    if "/" in text or "\\" in text:
        return "must not hold a slash or backslash"
    if _ENCODED_TWICE.search(text):
        return "looks percent-encoded twice"
    if steers(text) or any(c < " " for c in text):
        return "must not hold control or text-direction characters"
    if not unicodedata.is_normalized("NFC", text):
        return "must be in Unicode normal form C"
    return None


def _shown(text: str, limit: int = 80) -> str:
    """Return `text` quoted, escaped and shortened for a message."""
    shown = ascii(text) if any(not c.isprintable() for c in text) else repr(text)
    return shown if len(shown) <= limit else shown[:limit] + "…"
