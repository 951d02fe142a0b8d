"""A Kafka broker with an authorizer: who comes without a name may do everything, the user `ann` what ACLs allow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
)
from confluent_kafka.admin._resource import ResourceType

from tests.brokers.process import KafkaProcess
from tests.ports import free_ports
from tests.prerequisites import CHECKOUT

_PASSWORD = "ann-s-password"
_GUARDED = """
listeners=PLAINTEXT://127.0.0.1:{port},GUARDED://127.0.0.1:{guarded},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},GUARDED://127.0.0.1:{guarded}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,GUARDED:SASL_PLAINTEXT
listener.name.guarded.sasl.enabled.mechanisms=PLAIN
listener.name.guarded.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_ann="{password}";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""


class GuardedKafka(KafkaProcess):
    """A broker on 127.0.0.1 with a second listener, on which clients must say who they are."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        (self._guarded,) = free_ports(1)

    @property
    def properties(self) -> str:
        return super().properties + _GUARDED.format(
            port=self._port, guarded=self._guarded, controller=self._controller_port, password=_PASSWORD
        )

    @property
    def guarded_bootstrap(self) -> str:
        """Where `ann` finds it."""
        return f"127.0.0.1:{self._guarded}"

    def settings(self, password: str = _PASSWORD) -> Mapping[str, str]:
        """Return what the client of `ann` must be told."""
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "ann",
            "sasl.password": password,
        }

    def allow(self, name: str, *operations: AclOperation, kind: ResourceType = ResourceType.TOPIC) -> None:
        """Let `ann` do `operations` on a topic, or something else; returns once the broker knows."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        bindings = [AclBinding(*_permission(kind, name, each)) for each in operations]
        for future in admin.create_acls(bindings).values():
            future.result(20)

    def withdraw(self, topic: str, *operations: AclOperation) -> None:
        """Let `ann` do `operations` on a topic no more."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        filters = [AclBindingFilter(*_permission(ResourceType.TOPIC, topic, each)) for each in operations]
        for future in admin.delete_acls(filters).values():
            future.result(20)


def _permission(kind: ResourceType, name: str, operation: AclOperation) -> tuple[object, ...]:
    """Return what Kafka's client takes for `ann` being allowed `operation`."""
    literal = ResourcePatternType.LITERAL
    return kind, name, literal, "User:ann", "*", operation, AclPermissionType.ALLOW


def documented(whose: str, column: int) -> list[AclOperation]:
    """Return the rights in a row and column of the table on deploying, up to a colon or semicolon in it."""
    (row,) = re.findall(rf"^\| {re.escape(whose)} \|.*$", (CHECKOUT / "deploy/README.md").read_text(), re.MULTILINE)
    words = re.findall(r"[A-Z]\w+", re.split("[:;]", row.split("|")[column])[0])
    return [AclOperation[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word).upper()] for word in words]
