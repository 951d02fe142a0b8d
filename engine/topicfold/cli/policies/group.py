"""A group that has commands of policies: made when they are asked for, and in its help one line a policy.

Thirty policies with three commands each would be a wall of help; `get-NAME`, `set-NAME` and `remove-NAME` is a rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command

from topicfold.cli.command import command, new_app
from topicfold.cli.policies.commands import Listed, Maker


def policy_group(makers: Mapping[str, Maker], listed: Sequence[Listed]) -> type[TyperGroup]:
    """Return a class of groups that have these commands beside their own; help and completion show what is `listed`."""
    shown = [name for each in listed for name in _names(each)]

    class PolicyGroup(TyperGroup):
        def __init__(self, **told: Any) -> None:
            super().__init__(**told)
            self._own = self.commands
            self.commands = _Commands(self._own, makers)

        def list_commands(self, ctx: Any) -> list[str]:
            return [*self._own, *shown]

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            own = [(name, each) for name, each in self._own.items() if not each.hidden]
            room = formatter.width - 6 - max((len(name) for name, _ in own), default=0)
            with formatter.section("Commands"):
                formatter.write_dl([(name, each.get_short_help_str(room)) for name, each in own])
            with formatter.section("Policies, each with get-, set- and remove- before it"):
                formatter.write_dl([(each.noun, _line(each)) for each in listed])

    return PolicyGroup


class _Commands(MutableMapping[str, Any]):
    """A group's commands by name: its own, and those that are made when they are looked up."""

    def __init__(self, own: MutableMapping[str, Any], makers: Mapping[str, Maker]) -> None:
        self._own = own
        self._makers = makers
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self._own:
            return self._own[name]
        if name not in self._made:
            made = self._makers[name]()
            app = new_app()
            command(app, name, made.options)(made.function)
            self._made[name] = get_command(app).commands[name]  # type: ignore[attr-defined]  # it is a group
        return self._made[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._own[name] = value

    def __delitem__(self, name: str) -> None:
        del self._own[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self._makers

    def __len__(self) -> int:
        return len(self._own) + len(self._makers)


def _names(listed: Listed) -> list[str]:
    verbs = ("get", "set", "remove") if listed.can_remove else ("get", "set")
    return [f"{verb}-{listed.noun}" for verb in verbs]


def _line(listed: Listed) -> str:
    return listed.doc if listed.can_remove else f"{listed.doc} It cannot be removed."
