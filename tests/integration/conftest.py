"""The logs that every promise is shown on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", pytest.param("kafka", marks=pytest.mark.kafka)])
def log_options(request: pytest.FixtureRequest, tmp_path: Path) -> Sequence[str]:
    """The options of `topicfold serve` that choose a fresh log."""
    if request.param == "sqlite":
        return ["--log", str(tmp_path / "log.db")]
    bootstrap = request.getfixturevalue("kafka_bootstrap")
    return ["--kafka", bootstrap, "--kafka-topic", request.getfixturevalue("fresh_topic")()]
