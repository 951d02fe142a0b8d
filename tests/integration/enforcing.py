"""One node, a cluster, and what the enforcer makes of policies there."""

from __future__ import annotations

import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource

from tests import plain_http
from tests.integration.command import topicfold
from tests.integration.node import Node, running

WITHIN_SECONDS = 60.0


class Kafka:
    """Topics' own settings, as Kafka's tools see and set them."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def own(self, topic: str) -> dict[str, str]:
        """Return what a topic overrides."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        entries = self._admin.describe_configs([resource])[resource].result(20)
        return {entry.name: entry.value for entry in entries.values() if entry.source == 1}

    def set(self, topic: str, setting: str, value: str) -> None:
        entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
        self._admin.incremental_alter_configs([resource])[resource].result(20)


class Site:
    """One node on a log in a file, a cluster, and a namespace of its own."""

    def __init__(self, node: Node, kafka: Kafka) -> None:
        self.node, self.kafka, self.options = node, kafka, node.options
        self.namespace = f"{uuid.uuid4().hex[:8]}/pay"
        self._ask("PUT", f"tenants/{self.namespace.partition('/')[0]}", {})
        self._ask("PUT", f"namespaces/{self.namespace}", {})

    def make(self, name: str) -> str:
        """Make a topic; return its name in Kafka."""
        self._ask("PUT", f"persistent/{self.namespace}/{name}", {})
        return f"{self.namespace.replace('/', '..')}..{name}"

    def set(self, name: str, policy: str, value: Any) -> None:
        self._ask("POST", f"persistent/{self.namespace}/{name}/{policy}", value)

    def remove(self, name: str, policy: str) -> None:
        self._ask("DELETE", f"persistent/{self.namespace}/{name}/{policy}")

    def set_namespace(self, policy: str, value: Any) -> None:
        self._ask("POST", f"namespaces/{self.namespace}/{policy}", value)

    def remove_namespace(self, policy: str) -> None:
        self._ask("DELETE", f"namespaces/{self.namespace}/{policy}")

    def enforce(self, *more: str) -> subprocess.CompletedProcess[str]:
        """Run the enforcer to its end."""
        return topicfold("enforce", *self.options, *more)

    def reaches(self, topic: str, wanted: dict[str, str]) -> None:
        """Return once the topic overrides just this."""
        deadline = time.monotonic() + WITHIN_SECONDS
        while (found := self.kafka.own(topic)) != wanted:
            assert time.monotonic() < deadline, f"{topic} overrides {found}, not {wanted}"
            time.sleep(0.05)

    def _ask(self, method: str, path: str, body: Any = None) -> None:
        answer = plain_http.request(method, f"{self.node.url}/admin/v2/{path}", json=body, timeout=30)
        assert answer.status_code == 204, answer.text


@contextmanager
def site_on(bootstrap: str, directory: Path) -> Iterator[Site]:
    log = ["--log", str(directory / "log.db"), "--cluster-bootstrap", bootstrap]
    with running(log, directory) as (node,):
        yield Site(node, Kafka(bootstrap))
