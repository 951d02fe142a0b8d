"""`topicfold trim` on a broker that does not allow it everything: it deletes nothing, and names the right it lacks."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation

from tests.brokers.guarded import GuardedKafka
from tests.compaction.logs import append, random_values, settings_of
from tests.integration.command import topicfold
from tests.integration.logs import opened
from tests.integration.trims import compact

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
BATCH = 20


def starts(options: Sequence[str]) -> list[int]:
    async def asked() -> list[int]:
        async with opened(options) as log:
            return [*(await log.start_offsets()).values()]

    return asyncio.run(asked())


def test_who_may_not_delete_is_told_the_command_that_allows_it(guarded: GuardedKafka, tmp_path: Path) -> None:
    topic, root, values = f"t-{uuid.uuid4().hex}", tmp_path / "snapshot", random_values(1, 3 * BATCH)
    options = ["--kafka", guarded.bootstrap, "--kafka-topic", topic]
    for number in range(3):
        append(settings_of(kafka_bootstrap=guarded.bootstrap, kafka_topic=topic),
               values[number * BATCH : (number + 1) * BATCH])  # fmt: skip
        asyncio.run(compact(options, root))
    pairs = [word for key, value in guarded.settings().items() for word in ("--kafka-setting", f"{key}={value}")]
    as_ann = ["--kafka", guarded.guarded_bootstrap, "--kafka-topic", topic, *pairs]
    guarded.allow(topic, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS, AclOperation.READ, AclOperation.WRITE)
    refused = topicfold("trim", *as_ann, "--snapshot", str(root), "--grace", "0", "-q")
    assert refused.returncode == 6
    assert f"error: Kafka denies us Delete on topic {topic}" in refused.stderr
    assert f"--operation Delete --topic {topic}" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert starts(options) == [0, 0]
    guarded.allow(topic, AclOperation.DELETE)
    done = topicfold("trim", *as_ann, "--snapshot", str(root), "--grace", "0", "-q")
    assert done.returncode == 0, done.stderr
    assert starts(options)[1] > BATCH
