"""The description of a policy's commands: their names, and the options that state a value.

Data only: `topicfold.cli` parses the options. Names, units and defaults are those of Pulsar's `pulsar-admin`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from topicfold.model.policy.values import Value


class Unit(Enum):
    """How an option is written, and what it is converted to."""

    PLAIN = "as it stands"
    SECONDS = "a time such as 90, 10m, 3h or 7d, in seconds"
    MINUTES = "a time such as 90, 10m, 3h or 7d, in whole minutes"
    MILLISECONDS = "a time such as 1s or 10m, in milliseconds; alone it is seconds"
    BYTES = "a size such as 4096, 10K, 16M or 2G, in bytes"
    MEBIBYTES = "a size such as 4096, 10M, 16G or 2T, in whole mebibytes; alone it is bytes"
    LIST = "words separated by commas"
    CONSTANT = "words separated by dashes; the constant has capitals and underscores"
    TRUE = "given: true"
    FALSE = "given: false"


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command.

    `member` is the member of the policy's value that it states, "" for the value itself. If the option is left out, its
    `default` counts as if it had been typed; without a default, the member is not stated.
    """

    flags: tuple[str, ...]
    member: str
    help: str
    unit: Unit = Unit.PLAIN
    default: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """The commands of a policy in one group: their names to get, set and remove it, "" if there is none.

    `options` are those of `set`, and `example` is an example of them. Without options, `fixed` is the value that it
    sets. `entry` is the option that names the entry of a map; given together with `entry_of`, it makes the command
    apply to that other policy.
    """

    get: str
    set: str
    remove: str
    options: tuple[Option, ...] = ()
    example: str = ""
    fixed: Value = None
    entry: Option | None = None
    entry_of: str = ""


@dataclass(frozen=True, slots=True)
class Commands:
    """A policy's commands in the groups of the command line; those after the first are other names for the same.

    `topic` are those under `topicPolicies`, `older` those that Pulsar still has under `topics`, `namespace` those under
    `namespaces`.
    """

    topic: tuple[Command, ...] = ()
    older: tuple[Command, ...] = ()
    namespace: tuple[Command, ...] = ()


def named(noun: str, *options: Option, example: str = "") -> Command:
    """Return the commands `get-NOUN`, `set-NOUN` and `remove-NOUN`."""
    return Command(f"get-{noun}", f"set-{noun}", f"remove-{noun}", options, example)


def everywhere(command: Command) -> Commands:
    """Return a policy's commands if they are the same in all groups."""
    return Commands((command,), (command,), (command,))


def required(flag: str, short: str, help_text: str) -> Option:
    """Return the required option that states the whole value of a policy."""
    return Option((flag, short), "", help_text, is_required=True)


def enable(help_text: str) -> Option:
    """Return the option that sets a policy to true."""
    return Option(("--enable", "-e"), "", help_text, Unit.TRUE)


def disable(help_text: str) -> Option:
    """Return the option that sets a policy to false."""
    return Option(("--disable", "-d"), "", help_text, Unit.FALSE)
