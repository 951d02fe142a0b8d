"""The commands `permissions`, `grant-permission` and `revoke-permission` of tenants, namespaces and topics."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from topicfold.cli.arguments import read_words
from topicfold.cli.command import CHANGE_OPTIONS, command, with_parameters
from topicfold.cli.session import Session
from topicfold.model.names import parse_topic
from topicfold.model.permissions import Permission

_HEADER = ("ROLE", "ACTIONS")
_OWN = ", ".join(permission.value for permission in Permission)
_ROLE = Annotated[
    str, typer.Option("--role", "-r", metavar="ROLE", help="The role, as named by its token or certificate.")
]
_ACTIONS = Annotated[
    list[str],
    typer.Option("--actions", "-a", metavar="A,B", help=f"Some of {_OWN}; or Pulsar's produce, consume and others."),
]


def add_to(app: typer.Typer, noun: str, argument: Any, sample: str) -> None:
    """Add the commands to `app`, the group about what `noun` names; `sample` is one for the examples.

    The client has methods of the same names, each with the noun in it.
    """

    def shown_name(given: Mapping[str, Any]) -> str:
        return str(parse_topic(given[noun])) if noun == "topic" else str(given[noun])

    def permissions(session: Session, **given: Any) -> None:
        found = getattr(session.client, f"{noun}_permissions")(given[noun])
        rows = [(role, ",".join(actions)) for role, actions in sorted(found.items())]
        session.output.show({role: list(actions) for role, actions in found.items()}, sorted(found), _HEADER, rows)
        if not rows:
            session.output.note(f"no role has anything granted on {shown_name(given)}")

    def grant(session: Session, **given: Any) -> None:
        name, role, actions = shown_name(given), given["role"], read_words(given["actions"])
        written = getattr(session.client, f"grant_on_{noun}")(name, role, actions, **session.changes)
        granted = ",".join(actions)
        session.show_change(f"granted {granted} to {role} on", name, written, f"{role} had {granted} before")

    def revoke(session: Session, **given: Any) -> None:
        name, role = shown_name(given), given["role"]
        written = getattr(session.client, f"revoke_on_{noun}")(name, role, **session.changes)
        session.show_change(f"revoked all from {role} on", name, written, f"{role} had nothing granted on it")

    which, role = _parameter(noun, argument), _parameter("role", _ROLE)
    group = f"{noun}s"
    shown = f"Show what each role may do with a {noun}."
    granted = f"Grant a role actions on a {noun}. This replaces its earlier grant there."
    revoked = f"Revoke a role's grant on a {noun}."
    command(app, "permissions")(with_parameters(permissions, [which], shown, f"{group} permissions {sample}"))
    command(app, "grant-permission", CHANGE_OPTIONS)(
        with_parameters(
            grant,
            [which, role, _parameter("actions", _ACTIONS)],
            granted,
            f"{group} grant-permission {sample} --role ann --actions read-policies,list-topics",
        )
    )
    command(app, "revoke-permission", CHANGE_OPTIONS)(
        with_parameters(revoke, [which, role], revoked, f"{group} revoke-permission {sample} --role ann")
    )


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
