"""Parameters of queries that are more than a text: each says once what it takes, to who reads it and to who writes it.

A text is described where an operation is declared, and read by `queries.one`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from topicfold.errors import InvalidRequest, NotFound, TopicfoldError
from topicfold.server.queries import Query, one

_MAX_DIGITS = 9
_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,20}")


@dataclass(frozen=True, slots=True)
class Parameter(ABC):
    """A parameter of that name that may be given once."""

    name: str
    description: str

    @property
    @abstractmethod
    def schema(self) -> Mapping[str, Any]:
        """What it takes, as JSON schema."""

    @property
    def declared(self) -> Declared:
        """It by its name, as operations declare their query."""
        return {self.name: self}


Declared = dict[str, str | Parameter]
"""Parameters by name; of a text what it means."""


@dataclass(frozen=True, slots=True)
class Flag(Parameter):
    """`true` or `false`, and absent what is the `default`.

    Empty it is neither: a script that names a variable which is not set must not force anything by that.
    """

    default: bool = False

    @property
    def schema(self) -> Mapping[str, Any]:
        """A boolean."""
        return {"type": "boolean", "default": self.default}

    def of(self, query: Query) -> bool:
        """Return what `query` says.

        Raises:
            InvalidRequest: it is anything else, or given twice.
        """
        text = one(query, self.name)
        if text is None:
            return self.default
        if text.lower() == "true":
            return True
        if text.lower() == "false":
            return False
        raise InvalidRequest(f"query parameter {self.name} must be true or false, not {text[:80]!r}")


SYSTEM_TOPICS = Flag("includeSystemTopic", "`true`: include Pulsar's system topics, such as `__change_events`.")


@dataclass(frozen=True, slots=True)
class Count(Parameter):
    """A whole number from 1 to `most`."""

    most: int
    hint: str = ""

    @property
    def schema(self) -> Mapping[str, Any]:
        """An integer within its bounds."""
        return {"type": "integer", "format": "int32", "minimum": 1, "maximum": self.most}

    def of(self, query: Query) -> int | None:
        """Return what `query` says, None where it says nothing.

        Raises:
            InvalidRequest: it is anything else, or given twice.
        """
        text = one(query, self.name)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS and 0 < int(text) <= self.most):
            raise InvalidRequest(f"{self.name} must be 1 to {self.most}, not {text[:80]!r}", hint=self.hint)
        return int(text)


@dataclass(frozen=True, slots=True)
class Integer32(Parameter):
    """A whole number of 32 bits, as Pulsar takes it."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """An integer."""
        return {"type": "integer", "format": "int32"}

    def of(self, query: Query) -> int | None:
        """Return what `query` says, None where it says nothing.

        Raises:
            NotFound: it is anything else; as Pulsar, which takes what it cannot read for a resource it does not have.
            InvalidRequest: it is given twice.
        """
        text = one(query, self.name)
        if text is None:
            return None
        if not _WHOLE_NUMBER.fullmatch(text) or not -(1 << 31) <= int(text) < 1 << 31:
            raise NotFound(f"query parameter {self.name} must be a whole number of 32 bits, not {text[:80]!r}")
        return int(text)


@dataclass(frozen=True, slots=True)
class Choice(Parameter):
    """One of `values`; absent or empty it means the `default`, if it has one. What else is given is `refused`.

    `title` is what the values are called, if several operations take them.
    """

    values: Sequence[str]
    default: str = ""
    refused: type[TopicfoldError] = InvalidRequest
    hint: str = ""
    title: str = ""

    @property
    def schema(self) -> Mapping[str, Any]:
        """One of its values."""
        return self.values_schema | ({"default": self.default} if self.default else {})

    @property
    def values_schema(self) -> dict[str, Any]:
        """One of its values, which must be given."""
        return {"type": "string", "enum": [*self.values]} | ({"title": self.title} if self.title else {})

    def of(self, query: Query) -> str:
        """Return what `query` says, the `default` where it says nothing.

        Raises:
            InvalidRequest, NotFound: it is anything else, whichever is how that is `refused`. InvalidRequest: twice.
        """
        text = one(query, self.name)
        if text is None or (self.default and not text):
            return self.default
        if text not in self.values:
            raise self.refused(f"{self.name} must be {' or '.join(self.values)}, not {text[:80]!r}", hint=self.hint)
        return text
