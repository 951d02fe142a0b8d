"""How steps towards a desired state are shown: each field by the name that it has in files and in the history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from topicfold.cli.output import Output, value_text
from topicfold.model.names import is_topic
from topicfold.text.counting import counted

if TYPE_CHECKING:
    from topicfold.client.desired import Step
    from topicfold.model.differences import Difference

_HEADER = ("FIELD", "OLD → NEW")
_NOTHING: Mapping[str, str] = {}


def show_steps(output: Output, steps: Sequence[Step], problems: Mapping[str, str] = _NOTHING) -> None:
    """Print what is to be done, or was; `problems` are why it was not, by name: of those only machines are told."""
    data = [
        {
            "topic" if is_topic(step.name) else "namespace": step.name,
            "new": step.etag is None,
            "problem": problems.get(step.name, step.problem),
            "changes": [each.shown._asdict() for each in step.differences],
        }
        for step in steps
    ]
    done = [step for step in steps if not problems.get(step.name)]
    first = "TOPIC" if all(is_topic(step.name) for step in done) else "NAME"
    output.show(data, [step.name for step in done], (first, *_HEADER), [row for step in done for row in _rows(step)])


def counted_by_kind(names: Iterable[str]) -> str:
    """Return how many namespaces and topics these are, in words.

    >>> counted_by_kind(["acme/pay", "persistent://acme/pay/a"]), counted_by_kind([])
    ('1 namespace and 1 topic', '0 topics')
    """
    topics, namespaces = 0, 0
    for name in names:
        topics, namespaces = (topics + 1, namespaces) if is_topic(name) else (topics, namespaces + 1)
    found = [counted(number, noun) for noun, number in (("namespace", namespaces), ("topic", topics)) if number]
    return " and ".join(found) or counted(0, "topic")


def counted_together(names: Iterable[str]) -> str:
    """Return how many these are, in words that follow "so many of".

    >>> counted_together(["acme/pay", "persistent://acme/pay/a"]), counted_together(["acme/pay"])
    ('2 namespaces and topics', '1 namespace')
    """
    some = list(names)
    said = counted_by_kind(some)
    return said if " and " not in said else f"{len(some):,} namespaces and topics"


def made_so(steps: Sequence[Step], create: str, change: str) -> str:
    """Return how many topics are made and how much else is changed, with these words for it."""
    new = [step.name for step in steps if step.etag is None]
    others = [step.name for step in steps if step.etag is not None]
    said = [f"{word} {counted_by_kind(names)}" for word, names in ((create, new), (change, others)) if names]
    return ", ".join(said) or f"{change} 0 topics"


def summed_up(steps: Sequence[Step]) -> str:
    """Return how many fields are added, changed and removed, for the end of a sentence; "" where none is."""
    kinds = Counter(_kind(each) for step in steps for each in step.differences)
    counts = [f"{kinds[kind]:,} {kind}" for kind in ("added", "changed", "removed") if kinds[kind]]
    return f": {', '.join(counts)}" if counts else ""


def _rows(step: Step) -> Iterator[tuple[str, str, str]]:
    texts = [("(topic)", _new(step))] if step.etag is None else []
    texts += [(".".join(each.path), _change(each.shown)) for each in step.differences]
    texts = texts or [("(topic)", step.problem)]
    for number, (field, change) in enumerate(texts):
        yield step.name if number == 0 else "", field, change


def _new(step: Step) -> str:
    partitions = step.body.get("partitions")
    return f"a new topic with {counted(partitions, 'partition')}" if partitions else "a new topic"


def _change(found: Difference) -> str:
    removed = " (removed)" if found.new is None else ""
    return f"{value_text(found.old)} → {value_text(found.new)}{removed}"


def _kind(found: Difference) -> str:
    if found.old is None:
        return "added"
    return "removed" if found.new is None else "changed"
