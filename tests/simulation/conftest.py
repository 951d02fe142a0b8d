"""Simulated nodes fail by the thousand, and what they log about it concerns nobody."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def always_quiet(quiet: None) -> None:
    """Let nodes log nothing during a test."""
