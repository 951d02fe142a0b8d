"""What every route needs of the node it serves."""

from __future__ import annotations

from dataclasses import dataclass

from topicfold.runtime.engine import Engine
from topicfold.runtime.reading import Reading
from topicfold.runtime.writing import Writing
from topicfold.settings import Settings


@dataclass(frozen=True, slots=True)
class Node:
    """One running engine behind HTTP."""

    engine: Engine
    reading: Reading
    writing: Writing
    settings: Settings

    @classmethod
    def of(cls, engine: Engine, settings: Settings) -> Node:
        """Return the node that `engine` is."""
        return cls(engine, Reading(engine), Writing(engine), settings)
