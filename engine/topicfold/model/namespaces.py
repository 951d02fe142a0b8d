"""The namespaces that a query is about: some by name, others by patterns such as `acme/*`.

A pattern means those that match at each moment: one that is created later is among them from its first moment on.

Source: Kubernetes' lists and watches across all namespaces.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from topicfold.errors import InvalidName
from topicfold.model.events import partition_of
from topicfold.model.names import DEFAULT_TENANT, parse_namespace

ANY = "*"
"""Any characters of a tenant's or a namespace's own name; no name contains it."""
ALL = "*"
"""The pattern of all namespaces."""


@dataclass(frozen=True, slots=True)
class NamespacePattern:
    """A pattern for namespaces: `tenant/namespace` with any number of `*` in both, or `*` alone.

    `tenant` is the one in which everything that matches lies, None where that can be in several.

    >>> pattern = NamespacePattern.parse("acme/team-*")
    >>> pattern.matches("acme/team-pay"), pattern.matches("acme/hr"), pattern.tenant
    (True, False, 'acme')
    """

    text: str
    tenant: str | None = field(compare=False, repr=False)
    _parts: tuple[tuple[str, ...], ...] = field(compare=False, repr=False)
    """What the `*` of the tenant stand between, and those of the namespace; nothing where all match."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the pattern that `text` writes.

        Raises:
            InvalidName: it breaks a rule of names where it has no `*`, or two stand side by side.
        """
        if text == ALL:
            return cls(text, None, ())
        own, _, part = text.partition("/")
        try:
            # With a letter for each star it is a name, or breaks the same rule.
            parse_namespace(text.replace(ANY, "x"))
        except InvalidName as error:
            raise _refusal(text, error.reason.partition(": ")[2]) from None
        if ANY + ANY in text:
            raise _refusal(text, "one '*' already stands for any characters")
        return cls(text, None if ANY in own else own, (tuple(own.split(ANY)), tuple(part.split(ANY))))

    def matches(self, namespace: str) -> bool:
        """Return whether a namespace, as `tenant/namespace`, matches. Cost: O(its length)."""
        return not self._parts or all(map(_fits, self._parts, namespace.split("/")))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Those that have one of `names`, whether they are there or not, and those that match one of `patterns`."""

    names: tuple[str, ...]
    patterns: tuple[NamespacePattern, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """What they are written as in a query."""
        return (*self.names, *map(str, self.patterns))

    @property
    def are_all(self) -> bool:
        """Whether every namespace is one of them."""
        return any(each.text == ALL for each in self.patterns)

    @property
    def tenants(self) -> tuple[str, ...]:
        """The tenants that patterns name, each once."""
        return tuple(dict.fromkeys(each.tenant for each in self.patterns if each.tenant is not None))

    def __contains__(self, namespace: object) -> bool:
        return namespace in self.names or any(each.matches(str(namespace)) for each in self.patterns)

    def partitions(self, count: int) -> frozenset[int]:
        """Return those of `count` partitions in which they lie, or can come to lie."""
        if self.patterns:
            return frozenset(range(count))
        return frozenset(partition_of(each, count) for each in self.names)


def is_pattern(text: str) -> bool:
    """Return whether `text` means namespaces by a pattern."""
    return ANY in text


def parse_namespaces(texts: Iterable[str]) -> Namespaces:
    """Return the namespaces that `texts` name, or describe by patterns.

    Raises:
        InvalidName: one breaks the rules.

    >>> parse_namespaces(["acme/pay", "*/hr", "acme/pay"])
    Namespaces(names=('acme/pay',), patterns=(NamespacePattern(text='*/hr'),))
    """
    distinct = dict.fromkeys(texts)
    names = tuple(parse_namespace(each) for each in distinct if not is_pattern(each))
    return Namespaces(names, tuple(NamespacePattern.parse(each) for each in distinct if is_pattern(each)))


def _refusal(text: str, reason: str) -> InvalidName:
    return InvalidName(
        f"namespace pattern {text[:80]!r}: {reason}",
        name=text[:80],
        hint=f"Write tenant/namespace, say {DEFAULT_TENANT}/team-*. A {ALL} alone means all namespaces.",
    )


def _fits(pieces: tuple[str, ...], text: str) -> bool:
    """Return whether `text` consists of `pieces` in order, with anything between them."""
    first, *others = pieces
    if not others:
        return text == first
    *middle, last = others
    at, end = len(first), len(text) - len(last)
    if at > end or not text.startswith(first) or not text.endswith(last):
        return False
    for piece in middle:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True
