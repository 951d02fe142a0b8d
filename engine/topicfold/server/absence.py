"""What Pulsar answers about a namespace that does not exist; each of its resources has its own words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from topicfold.errors import NamespaceNotFound


@contextmanager
def said_of_absent_namespace(name: str, said: str = "Namespace does not exist") -> Iterator[None]:
    """Let a missing namespace be told in these words.

    Raises:
        NamespaceNotFound: it was raised inside.
    """
    try:
        yield
    except NamespaceNotFound as error:
        raise NamespaceNotFound(f"{said}: {name}", name=name, hint=error.hint) from None
