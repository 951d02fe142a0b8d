"""What an admin types to grant somebody what they lack."""

from __future__ import annotations

import shlex

from topicfold.model.permissions import Permission
from topicfold.server.auth.principal import Principal


def remedy_on(noun: str, name: str, principal: Principal | None, permission: Permission) -> str:
    """Return who can grant `permission` on the `noun` called `name`, and how.

    The role is left open where whoever asks is called otherwise than their roles: of these nothing is told.

    >>> ann = Principal("ann", frozenset({"ann"}))
    >>> remedy_on("namespace", "acme/pay", ann, Permission.WATCH).partition(": ")[2]
    'topicfold namespaces grant-permission acme/pay --role ann --actions watch'
    """
    role = shlex.quote(principal.name) if principal is not None and principal.name in principal.roles else "ROLE"
    command = f"topicfold {noun}s grant-permission {shlex.quote(name)} --role {role} --actions {permission.value}"
    return f"An admin of the {noun} can grant {permission.value} (it replaces what was granted there): {command}"
