"""How steps towards a desired state are shown: each field by the name that it has in files and in the history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from topicfold.cli.output import Output, value_text
from topicfold.text.counting import counted

if TYPE_CHECKING:
    from topicfold.client.desired import Step
    from topicfold.model.differences import Difference

_HEADER = ("TOPIC", "FIELD", "OLD → NEW")
_NOTHING: Mapping[str, str] = {}


def show_steps(output: Output, steps: Sequence[Step], problems: Mapping[str, str] = _NOTHING) -> None:
    """Print what is to be done, or was; `problems` are why it was not, by topic: of those only machines are told."""
    data = [
        {
            "topic": step.topic,
            "new": step.etag is None,
            "problem": problems.get(step.topic, step.problem),
            "changes": [each.shown._asdict() for each in step.differences],
        }
        for step in steps
    ]
    done = [step for step in steps if not problems.get(step.topic)]
    output.show(data, [step.topic for step in done], _HEADER, [row for step in done for row in _rows(step)])


def made_so(steps: Sequence[Step], create: str, change: str) -> str:
    """Return how many topics are made and how many others changed, with these words for it."""
    new = sum(step.etag is None for step in steps)
    numbers = ((create, new), (change, len(steps) - new))
    return ", ".join(f"{word} {counted(number, 'topic')}" for word, number in numbers if number) or f"{change} 0 topics"


def summed_up(steps: Sequence[Step]) -> str:
    """Return how many fields are added, changed and removed, for the end of a sentence; "" where none is."""
    kinds = Counter(_kind(each) for step in steps for each in step.differences)
    counts = [f"{kinds[kind]:,} {kind}" for kind in ("added", "changed", "removed") if kinds[kind]]
    return f": {', '.join(counts)}" if counts else ""


def _rows(step: Step) -> Iterator[tuple[str, str, str]]:
    texts = [("(topic)", "a new topic")] if step.etag is None else []
    texts += [(".".join(each.path), _change(each.shown)) for each in step.differences]
    texts = texts or [("(topic)", step.problem)]
    for number, (field, change) in enumerate(texts):
        yield step.topic if number == 0 else "", field, change


def _change(found: Difference) -> str:
    removed = " (removed)" if found.new is None else ""
    return f"{value_text(found.old)} → {value_text(found.new)}{removed}"


def _kind(found: Difference) -> str:
    if found.old is None:
        return "added"
    return "removed" if found.new is None else "changed"
