"""What somebody may see of the topics they watch, where they may not see all of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from topicfold.model.permissions import Permission, allows
from topicfold.model.records import Grants
from topicfold.server.auth.rights import Roles


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody with `roles`, who may list all topics of `whole`, and else those that say so themselves.

    `whole` are namespaces, and tenants.

    Equal ones see the same, so what they watch is made for them once.

    >>> viewer = Viewer(frozenset({"ann"}), frozenset())
    >>> viewer.sees("a/b", {"ann": ("consume",)}), viewer.sees("a/b", {"bob": ("consume",)})
    (True, False)
    """

    roles: Roles
    whole: frozenset[str]

    @property
    def mark(self) -> str:
        """What cursors bear, so that nobody goes on from one who was shown other topics."""
        said = repr((sorted(self.roles), sorted(self.whole)))
        return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()

    def sees(self, namespace: str, grants: Grants) -> bool:
        """Return whether a topic of `namespace` with these grants of its own may be shown."""
        if namespace in self.whole or namespace.partition("/")[0] in self.whole:
            return True
        return any(allows(grants.get(role, ()), Permission.LIST_TOPICS) for role in self.roles)
