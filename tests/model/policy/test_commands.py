"""The commands that policies have: complete, and options that fit the values they state."""

from __future__ import annotations

from collections import Counter

import pytest

from topicfold.model.policy.description import Policy
from topicfold.model.policy.options import Command, Unit
from topicfold.model.policy.table import POLICIES
from topicfold.model.policy.values import MapOf, Shape

COMMANDS = [
    pytest.param(policy, command, id=command.set or command.get)
    for policy in POLICIES
    for command in (*policy.commands.topic, *policy.commands.older, *policy.commands.namespace)
]


def test_every_policy_of_topics_has_commands_of_its_own_or_is_an_entry_of_anothers() -> None:
    entries = {command.entry_of for policy in POLICIES for command in policy.commands.topic}
    without = {policy.name for policy in POLICIES if not (policy.commands.topic or policy.commands.older)}
    assert without == entries - {""}


def test_just_the_policies_that_namespaces_have_can_be_set_on_them() -> None:
    assert [policy.name for policy in POLICIES if bool(policy.commands.namespace) != bool(policy.namespace)] == []


@pytest.mark.parametrize("group", ["topic", "older", "namespace"])
def test_no_name_means_two_things_in_a_group(group: str) -> None:
    commands = [command for policy in POLICIES for command in getattr(policy.commands, group)]
    names = Counter(name for command in commands for name in (command.get, command.set, command.remove) if name)
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize(("policy", "command"), COMMANDS)
def test_the_options_of_a_command_state_members_that_its_policy_has(policy: Policy, command: Command) -> None:
    kind = policy.kind.value if isinstance(policy.kind, MapOf) else policy.kind
    members = {member.name for member in kind.members} if isinstance(kind, Shape) else {""}
    assert {option.member for option in command.options} <= members
    assert not command.set or bool(command.options) != (command.fixed is not None)


@pytest.mark.parametrize(("policy", "command"), COMMANDS)
def test_no_two_options_of_a_command_share_a_flag(policy: Policy, command: Command) -> None:
    flags = Counter(
        flag for option in (*command.options, *((command.entry,) if command.entry else ())) for flag in option.flags
    )
    assert [flag for flag, count in flags.items() if count > 1] == []


@pytest.mark.parametrize(("policy", "command"), COMMANDS)
def test_what_can_be_turned_off_can_be_turned_on(policy: Policy, command: Command) -> None:
    on, off = ({option.member for option in command.options if option.unit is unit} for unit in (Unit.TRUE, Unit.FALSE))
    assert off <= on
