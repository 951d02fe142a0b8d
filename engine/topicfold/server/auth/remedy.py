"""What an admin types to grant somebody what they lack."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from topicfold.model.names import argument
from topicfold.model.permissions import Permission
from topicfold.server.auth.principal import Principal


def remedy_on(noun: str, name: str, principal: Principal, permission: Permission, granted: Sequence[str]) -> str:
    """Return who can grant `permission` on the `noun` called `name`, and how.

    A grant replaces what there is, so `granted`, what the role of that name has there now, is granted again. The role
    is left open where whoever asks is called otherwise than their roles: of these nothing is told.

    >>> ann = Principal("ann", frozenset({"ann"}))
    >>> remedy_on("namespace", "acme/pay", ann, Permission.WATCH, ["list-topics"]).partition(": ")[2]
    'topicfold namespaces grant-permission --role ann --actions list-topics,watch acme/pay'
    """
    is_named = principal.name in principal.roles
    role, kept = (shlex.quote(principal.name), granted) if is_named else ("ROLE", ())
    how = "" if is_named else " (it replaces what was granted there)"
    actions = ",".join([*kept, permission.value])
    command = f"topicfold {noun}s grant-permission --role {role} --actions {actions} {argument(name)}"
    return f"An admin of the {noun} can grant {permission.value}{how}: {command}"
