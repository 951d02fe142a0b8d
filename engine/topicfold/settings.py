"""Settings of a node: flags before `TOPICFOLD_*` before the configuration file before these defaults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from topicfold.model.labels import MAX_LABELS, MAX_VALUE_LENGTH, LabelRules


def _words(value: Any) -> Any:
    """Return the words of a text: of a JSON list, or else parted by commas; anything that is no text as it is.

    Raises:
        ValueError: the text begins like a list and is none.
    """
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith("["):
        return [word.strip() for word in value.split(",") if word.strip()]
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError("neither words parted by commas nor a JSON list") from None


class Settings(BaseSettings):
    """Everything a node can be told. A value that cannot work is refused at start."""

    model_config = SettingsConfigDict(
        env_prefix="TOPICFOLD_", env_nested_delimiter="__", env_ignore_empty=True, extra="forbid", frozen=True
    )

    log_file: Path = Field(default=Path("topicfold.db"), description="The embedded log's file.")
    kafka_bootstrap: str | None = Field(default=None, description="Keep the log on this Kafka cluster instead.")
    kafka_topic: str = Field(default="__change_events", description="The Kafka topic that is the log.")
    kafka_settings: dict[str, str] = Field(default_factory=dict, description="Further settings of librdkafka.")
    partitions: int = Field(default=8, ge=1, le=1024, description="Partitions of a log that is made new.")
    host: str = Field(default="127.0.0.1", description="Address to serve on; only loopback without authentication.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port to serve on; 0 takes a free one.")
    # Without NoDecode, the environment's text would have to be JSON.
    allowed_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)] = Field(
        default=(), description="Values of Host to take beside loopback's."
    )
    allowed_custom_label_keys: Annotated[tuple[str, ...] | None, NoDecode, BeforeValidator(_words)] = Field(
        default=None, description="Label keys; absent = any."
    )
    max_custom_label_value_length: int = Field(default=MAX_VALUE_LENGTH, ge=1, le=MAX_VALUE_LENGTH)
    request_timeout_seconds: float = Field(default=15.0, gt=0, le=300)
    ready_timeout_seconds: float = Field(default=5.0, ge=0, description="How long a request waits for its namespace.")
    stale_after_seconds: float = Field(default=10.0, gt=0, description="Age of the state at which a node is not ready.")

    @property
    def label_rules(self) -> LabelRules:
        """What labels a writer may set through this node."""
        keys = self.allowed_custom_label_keys
        return LabelRules(None if keys is None else frozenset(keys), self.max_custom_label_value_length, MAX_LABELS)
