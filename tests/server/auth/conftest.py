"""A node that wants to know who asks, and the file it knows its issuer by."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.memory_log import MemoryStore
from tests.server.auth.issuer import AUDIENCE, ISSUER, issuer
from tests.server.rest import RestNode, rest_node


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    """The public keys of the issuers that are trusted, one of each kind."""
    file = tmp_path / "keys.pem"
    file.write_text("".join(issuer(kind).pem for kind in ("RS256", "ES256", "ES384", "ES512", "EdDSA")))
    return file


@pytest.fixture
async def closed(store: MemoryStore, key_file: Path) -> AsyncIterator[RestNode]:
    """One node with authentication; `root` is its superuser."""
    async with rest_node(
        store, auth_jwt_key_file=key_file, auth_issuer=ISSUER, auth_audience=AUDIENCE, superusers=("root",)
    ) as made:
        yield made


def bearer(role: str = "root") -> str:
    """Return the header of a token of `role`."""
    return f"Bearer {issuer().token(sub=role)}"
