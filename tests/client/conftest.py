"""A server to talk to, and a client of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.client.served import serving
from topicfold.client import Client


@pytest.fixture
def server_url() -> Iterator[str]:
    with serving() as (url,):
        yield url


@pytest.fixture
def client(server_url: str) -> Iterator[Client]:
    with Client(server_url) as client:
        yield client
