"""How a policy's commands are described: their names, and the options that state a value.

Data only: what an option's text becomes is read in `topicfold.cli`. Names, units and defaults are those of Pulsar's
`pulsar-admin`, as `commands` lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from topicfold.model.policy.values import Value


class Unit(Enum):
    """How an option is written, and what it becomes."""

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

    `member` is the member of the policy's value that it states, "" the value itself. Left out, it is `default` as if
    that were typed; with none the member is not stated.
    """

    flags: tuple[str, ...]
    member: str
    help: str
    unit: Unit = Unit.PLAIN
    default: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """The commands of a policy in one group: names to get, set and remove it, "" for one that is not there.

    `options` are those of `set`, and `example` a way to write them. Where there are none, `fixed` is what it sets.
    `entry` is the option that says which entry of a map is meant; with `entry_of` it makes the command one of that
    other policy.
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
    """A policy's commands in the groups of the command line; those after the first are other names of the same.

    `topic` are those under `topicPolicies`, `older` those that Pulsar keeps under `topics`, `namespace` those under
    `namespaces`.
    """

    topic: tuple[Command, ...] = ()
    older: tuple[Command, ...] = ()
    namespace: tuple[Command, ...] = ()


def named(noun: str, *options: Option, example: str = "") -> Command:
    """Return the commands `get-NOUN`, `set-NOUN` and `remove-NOUN`."""
    return Command(f"get-{noun}", f"set-{noun}", f"remove-{noun}", options, example)


def everywhere(command: Command) -> Commands:
    """Return a policy's commands where they read the same in all groups."""
    return Commands((command,), (command,), (command,))


def required(flag: str, short: str, help_text: str) -> Option:
    """Return the option that states the whole value of a policy."""
    return Option((flag, short), "", help_text, is_required=True)


def enable(help_text: str) -> Option:
    """Return the option that turns on a policy that is true or false."""
    return Option(("--enable", "-e"), "", help_text, Unit.TRUE)


def disable(help_text: str) -> Option:
    """Return the option that turns it off."""
    return Option(("--disable", "-d"), "", help_text, Unit.FALSE)
