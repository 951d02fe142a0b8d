"""The namespaces that a query is about: those that it names, or all of them.

All means those that there are at each moment: one that is created later is among them from its first moment on.

Source: Kubernetes' lists and watches across all namespaces.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from topicfold.errors import InvalidRequest
from topicfold.model.events import partition_of
from topicfold.model.names import parse_namespace

ALL = "*"
"""How all of them are written where names of namespaces are; no namespace is called so."""


@dataclass(frozen=True, slots=True)
class Named:
    """The namespaces `names`, each once, whether they are there or not."""

    names: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """What they are written as in a query."""
        return self.names

    def __contains__(self, namespace: object) -> bool:
        return namespace in self.names

    def partitions(self, count: int) -> frozenset[int]:
        """Return those of `count` partitions in which they lie."""
        return frozenset(partition_of(each, count) for each in self.names)


@dataclass(frozen=True, slots=True)
class Everywhere:
    """All namespaces; it has the members of `Named`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Nothing: none is named."""
        return ()

    @property
    def texts(self) -> tuple[str, ...]:
        """What they are written as in a query."""
        return (ALL,)

    def __contains__(self, namespace: object) -> bool:
        return True

    def partitions(self, count: int) -> frozenset[int]:
        """Return all of `count` partitions."""
        return frozenset(range(count))


Namespaces = Named | Everywhere


def parse_namespaces(texts: Iterable[str]) -> Namespaces:
    """Return the namespaces that `texts` name, or all of them for a `*`.

    Raises:
        InvalidName: one breaks the rules.
        InvalidRequest: there are names beside the `*`.

    >>> parse_namespaces(["acme/pay", "acme/pay"]), parse_namespaces(["*"])
    (Named(names=('acme/pay',)), Everywhere())
    """
    distinct = dict.fromkeys(texts)
    if ALL not in distinct:
        return Named(tuple(map(parse_namespace, distinct)))
    if len(distinct) > 1:
        raise InvalidRequest(
            f"{ALL} means all namespaces, and others are named beside it", hint="Leave one of them out."
        )
    return Everywhere()
