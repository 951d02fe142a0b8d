"""The commands of policies, made from the table: to get, set and remove each of them, on topics and on namespaces.

A command is made when it is asked for, so that hundreds of them cost nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from topicfold.cli.command import CHANGE_OPTIONS, with_parameters
from topicfold.cli.policies.options import Given, parameter, parameter_name, stated_value
from topicfold.cli.policies.output import change_line, show_policy
from topicfold.cli.policies.places import OnNamespaces, OnTopics, Place
from topicfold.cli.retention_warning import WRITTEN, warning_after
from topicfold.cli.session import Session
from topicfold.errors import InvalidRequest
from topicfold.model.names import NON_PERSISTENT
from topicfold.model.policy.changes import RETENTION
from topicfold.model.policy.description import EnforcedBy, Policy
from topicfold.model.policy.kafka_settings import CLEANUP_POLICY, COMPACTION, NOT_COMPACTED, kafka_settings
from topicfold.model.policy.options import Command
from topicfold.model.policy.table import BY_NAME, POLICIES
from topicfold.model.policy.values import MapOf, Text

_COMPACTED = "Kafka then keeps only the last message of each key, and takes none without a key"
_UNCOMPACTED = (
    "topics that Kafka compacted until now then lose what is beyond their retention, and are not compacted again when "
    "this is removed"
)


@dataclass(frozen=True, slots=True)
class Made:
    """A command: a function of a `Session` and its own parameters, and the options of changes if it is one."""

    function: Callable[..., None]
    options: Sequence[inspect.Parameter] = ()


Maker = Callable[[], Made]


@dataclass(frozen=True, slots=True)
class Listed:
    """A policy in a group's help: what stands for it in the names of its commands, and what it is."""

    noun: str
    doc: str
    can_remove: bool


_Rows = Iterable[tuple[Policy, tuple[Command, ...]]]


def topic_policies() -> tuple[dict[str, Maker], list[Listed]]:
    """Return the commands of the group `topicPolicies`, and what its help says of them."""
    rows = [(policy, policy.commands.topic) for policy in POLICIES]
    return _makers(OnTopics("topicPolicies", has_global=True), rows), _listed(rows)


def older_topic_policies() -> tuple[dict[str, Maker], list[Listed]]:
    """Return those of the group `topics`; its help shows only what `topicPolicies` has not."""
    rows = [(policy, policy.commands.older) for policy in POLICIES]
    own = [(policy, commands) for policy, commands in rows if not policy.commands.topic]
    return _makers(OnTopics("topics", has_global=False), rows), _listed(own)


def namespace_policies() -> tuple[dict[str, Maker], list[Listed]]:
    """Return those of the group `namespaces`."""
    rows = [(policy, policy.commands.namespace) for policy in POLICIES]
    return _makers(OnNamespaces(), rows), _listed(rows)


def _makers(place: Place, rows: _Rows) -> dict[str, Maker]:
    makers: dict[str, Maker] = {}
    for policy, commands in rows:
        for command in commands:
            named = ((command.get, _getting), (command.set, _setting), (command.remove, _removing))
            makers |= {name: partial(make, place, policy, command) for name, make in named if name}
    return makers


def _listed(rows: _Rows) -> list[Listed]:
    firsts = [(policy, commands[0]) for policy, commands in rows if commands]
    return [
        Listed(command.set.removeprefix("set-"), policy.doc, can_remove=bool(command.remove))
        for policy, command in firsts
    ]


def _getting(place: Place, policy: Policy, command: Command) -> Made:
    def get(session: Session, **given: Any) -> None:
        meant, entry = _meant(policy, command, given)
        value = place.get(session, meant, entry, given)
        show_policy(session.output, value)
        if value is None and given.get("applied") is False and given.get("at") is None:
            session.output.note("it is not set here; --applied shows the value that applies")

    # Of backlog quotas all types are shown, so that none is asked for.
    entry = _entry(command) if command.entry_of else []
    parameters = [*place.which(policy, reads=True), *entry]
    help_text = f"Show the {policy.title} of a {place.noun}; null if unset."
    return Made(with_parameters(get, parameters, help_text, f"{place.group} {command.get} {place.sample}"))


def _setting(place: Place, policy: Policy, command: Command) -> Made:
    def set_it(session: Session, **given: Any) -> None:
        meant, entry = _meant(policy, command, given)
        value = stated_value(command.options, policy.kind, given) if command.options else command.fixed
        name = place.name(given)
        warning = warning_after(session, name) if meant.name == RETENTION else lambda: ""
        written = place.set(session, meant, entry, given, value)
        what, said = _what(meant, entry, given), change_line(value)
        done, already = f"set {what} to {said} on", f"its {what} was {said} before"
        session.show_change(done, name, written, already, lambda: warning() or _enforcement(name, meant, value))

    options = [parameter(option, policy.kind) for option in command.options]
    parameters = [*place.which(policy, reads=False), *options, *_entry(command)]
    help_text = _set_help(policy, place.noun)
    example = f"{place.group} {command.set} {place.sample} {command.example}".rstrip()
    return Made(with_parameters(set_it, parameters, help_text, example), CHANGE_OPTIONS)


def _enforcement(name: str, policy: Policy, value: Any) -> str:
    """Return what has to be known of a value that was set on `name`: Topicfold itself does not act on it."""
    if policy.enforced_by is EnforcedBy.NOTHING:
        return "it is not enforced: Kafka has nothing like it"
    settings = kafka_settings(policy.name, value)
    if not settings:
        return "it is not enforced: Kafka has nothing like this value"
    if name.startswith(f"{NON_PERSISTENT}://"):
        return "it is not enforced: non-persistent topics have no Kafka topic"
    cleanup = settings.get(CLEANUP_POLICY)
    if cleanup is None:
        return WRITTEN
    return f"{WRITTEN}; {_UNCOMPACTED if cleanup == NOT_COMPACTED else _COMPACTED}"


def _set_help(policy: Policy, noun: str) -> str:
    """Return what is set and what that means; where this begins with the title again, only what follows it."""
    is_again = policy.doc.lower().startswith(policy.title)
    return f"Set the {policy.title} of a {noun}" + (policy.doc[len(policy.title) :] if is_again else f". {policy.doc}")


def _removing(place: Place, policy: Policy, command: Command) -> Made:
    def remove(session: Session, **given: Any) -> None:
        meant, entry = _meant(policy, command, given)
        name = place.name(given)
        warning = warning_after(session, name) if meant.name in (RETENTION, COMPACTION) else lambda: ""
        written = place.remove(session, meant, entry, given)
        what = _what(meant, entry, given)
        session.show_change(f"removed {what} from", name, written, f"its {what} was not set", warning)

    parameters = [*place.which(policy, reads=False), *_entry(command)]
    help_text = f"Remove the {policy.title} of a {place.noun}. The level below applies again."
    return Made(
        with_parameters(remove, parameters, help_text, f"{place.group} {command.remove} {place.sample}"), CHANGE_OPTIONS
    )


def _entry(command: Command) -> list[inspect.Parameter]:
    return [parameter(command.entry, Text())] if command.entry else []


def _meant(policy: Policy, command: Command, given: Given) -> tuple[Policy, str | None]:
    """Return the policy that a command is about, and which entry of it where it is a map.

    Raises:
        InvalidRequest: the map has no such entry.
    """
    entry = given.get(parameter_name(command.entry)) if command.entry else None
    if entry and command.entry_of:
        return BY_NAME[command.entry_of], entry
    if entry and isinstance(policy.kind, MapOf) and policy.kind.keys and entry not in policy.kind.keys:
        flag = command.entry.flags[0] if command.entry else ""
        raise InvalidRequest(f"{flag}: {entry!r} is none of {', '.join(policy.kind.keys)}")
    return policy, entry


def _what(policy: Policy, entry: str | None, given: Given) -> str:
    scope = "global " if given.get("is_global") else ""
    return f"{scope}{policy.title}" + (f" ({entry})" if entry else "")
