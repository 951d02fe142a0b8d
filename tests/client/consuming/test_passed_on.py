"""What a consumer passes on to Kafka's client."""

from __future__ import annotations

import subprocess
import sys

_ASKING = """
import sys
from contextlib import suppress
from confluent_kafka import KafkaException
from topicfold.client import LabelConsumer

asked = []

def ask(statistics):
    if len(asked) < 3:
        asked.append(statistics)
        for question in [consumer.list_topics, consumer.cluster_id]:
            with suppress(KafkaException):
                question(timeout=0.05)

conf = {"bootstrap.servers": "127.0.0.1:1", "group.id": "billing", "log_level": 0}
own = {"statistics.interval.ms": 50, "stats_cb": ask}
with LabelConsumer(conf | own, match="**", url=sys.argv[1]) as consumer:
    while len(asked) < 3:
        consumer.poll(0.1)
"""


def test_a_callback_may_ask_about_the_cluster_though_another_follows(server_url: str) -> None:
    # In a process of its own: librdkafka's Python would abort it.
    subprocess.run([sys.executable, "-c", _ASKING, server_url], check=True)
