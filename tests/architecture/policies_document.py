"""The table in `docs/policies.md`, made from the table of policies.

Run as a script, it puts the table there: `PYTHONPATH=engine python -m tests.architecture.policies_document`.
"""

from __future__ import annotations

from pathlib import Path

from topicfold.model.policy.description import Policy
from topicfold.model.policy.options import Command
from topicfold.model.policy.table import POLICIES

DOCUMENT = Path(__file__).parents[2] / "docs" / "policies.md"
START = "<!-- Made from the table of policies by tests/architecture/policies_document.py -->\n"
END = "<!-- end -->\n"

_HEADER = "| policy | path | commands | hierarchy | enforced by |\n|---|---|---|---|---|\n"


def table() -> str:
    """Return the table, one line a policy."""
    return _HEADER + "".join(f"| {' | '.join(_cells(policy))} |\n" for policy in POLICIES)


def with_table(text: str) -> str:
    """Return the document with the table between its markers."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return before + START + table() + END + after


def _cells(policy: Policy) -> tuple[str, ...]:
    return (
        f"`{policy.name}`<br>{policy.doc}",
        f"`{policy.topic.path}`",
        _commands(policy),
        " › ".join(_levels(policy)),
        policy.enforced_by.value,
    )


def _commands(policy: Policy) -> str:
    """Return what follows `get-`, `set-` and `remove-` in the names of the commands."""
    commands = policy.commands
    if commands.topic:
        (first, *_) = commands.topic
        said = f"`{_noun(first)}`"
    elif commands.older:
        (first, *_) = commands.older
        said = f"`topics …-{_noun(first)}`"
    else:
        first = next(c for each in POLICIES for c in each.commands.topic if c.entry_of == policy.name)
        said = f"`{_noun(first)} {' '.join(first.entry.flags[1:]) if first.entry else ''}`"
    if commands.namespace and _noun(commands.namespace[0]) != _noun(first):
        said += f"<br>`namespaces …-{_noun(commands.namespace[0])}`"
    return said


def _noun(command: Command) -> str:
    return command.set.removeprefix("set-")


def _levels(policy: Policy) -> list[str]:
    levels = {
        "topic": True,
        "global": policy.topic.has_global,
        "namespace": policy.namespace is not None,
        "broker": True,
    }
    return [level for level, is_there in levels.items() if is_there]


if __name__ == "__main__":
    DOCUMENT.write_text(with_table(DOCUMENT.read_text()))
    print(f"{len(POLICIES)} policies written to {DOCUMENT.name}")
