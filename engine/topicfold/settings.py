"""Settings of a node: flags before `TOPICFOLD_*` before the configuration file before these defaults."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from topicfold.errors import TopicfoldError
from topicfold.model.finding.pattern import SEPARATOR
from topicfold.model.labels import MAX_LABELS, MAX_VALUE_LENGTH, LabelRules
from topicfold.model.names import check_cluster
from topicfold.model.policy.changes import contradicts
from topicfold.model.policy.limits import MAX_MESSAGE_BYTES, MAX_QUORUM, Limits
from topicfold.model.policy.resolve import broker_level
from topicfold.model.policy.retention import RETENTION_BELOW
from topicfold.model.policy.whole import check_changed, read_policies
from topicfold.model.records import EMPTY
from topicfold.model.system_topics import EVENTS_TOPIC
from topicfold.setting_values import base_url, brokers, hosts, label_keys, owned, path, policies, separator, words

MAX_WAIT_SECONDS = 30.0
"""The longest that a request may wait in a queue: whether it may do what it asks was looked at before, and once."""

_ALL_ADDRESSES = ("", "0.0.0.0", "::")  # noqa: S104 -- to be told apart from a name, not to be listened on

_Path = Annotated[Path, AfterValidator(path)]


class _Variables(EnvSettingsSource):
    """The environment, where JSON that is nested too deep is none: it would be an error of no setting."""

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        """Return what the text of a variable says.

        Raises:
            ValueError: it is no JSON.
        """
        try:
            return super().decode_complex_value(field_name, field, value)
        except RecursionError:
            raise ValueError("nested too deep") from None


class Settings(BaseSettings):
    """Everything a node can be told. A value that cannot work is refused at start."""

    model_config = SettingsConfigDict(
        env_prefix="TOPICFOLD_", env_nested_delimiter="__", env_ignore_empty=True, extra="forbid", frozen=True
    )

    log_file: _Path = Field(default=Path("topicfold.db"), description="File of the embedded log, on a local disk.")
    kafka_bootstrap: Annotated[str | None, AfterValidator(brokers)] = Field(
        default=None, description="Keep the log in this Kafka cluster instead of a file."
    )
    kafka_topic: str = Field(default=EVENTS_TOPIC, description="The Kafka topic that holds the log.")
    kafka_settings: dict[str, str] = Field(default_factory=dict, description="Additional librdkafka settings.")
    snapshot: _Path | None = Field(default=None, description="Start from the snapshot in this directory.")
    partitions: int = Field(default=8, ge=1, le=1024, description="Number of partitions of a new log.")
    cluster_bootstrap: Annotated[str | None, AfterValidator(brokers)] = Field(
        default=None,
        description="The Kafka cluster that holds the topics; absent = the one that holds the log, if any.",
    )
    cluster_settings: dict[str, str] = Field(default_factory=dict, description="librdkafka settings for that cluster.")
    adopt_only: bool = Field(default=False, description="Keep records only; never create or delete a topic in Kafka.")
    follow_cluster: bool = Field(default=False, description="Create records of topics that appear in Kafka.")
    follow_every_seconds: float = Field(
        default=5.0, gt=0, le=3600, description="How often to check the cluster for new topics."
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on; without authentication, loopback only.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port to listen on; 0 = any free port.")
    # Without NoDecode, the environment's text would have to be JSON.
    allowed_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(words), AfterValidator(hosts)] = Field(
        default=(), description="Values of the header Host to accept besides loopback's."
    )
    allowed_custom_label_keys: Annotated[
        tuple[str, ...] | None, NoDecode, BeforeValidator(words), AfterValidator(label_keys)
    ] = Field(default=None, description="Allowed label keys; absent = any.")
    max_custom_label_value_length: int = Field(
        default=MAX_VALUE_LENGTH,
        ge=1,
        le=MAX_VALUE_LENGTH,
        description="Maximum number of characters in a label's value.",
    )
    wildcard_separator: Annotated[str, AfterValidator(separator)] = Field(
        default=SEPARATOR,
        description="Separator of the segments of topic names, for wildcards; not *, / or a backslash.",
    )
    topic_listing: str = Field(
        default="all",
        description="The topic listing used under /admin/v2: all, by-properties, or package.module:Class.",
    )
    max_topic_list_in_flight_heap_mem_size_mb: int = Field(
        default=100, ge=1, description="Maximum size of all topic listings being sent to clients, in megabytes."
    )
    enable_broker_topic_list_watcher: bool = Field(default=True, description="Whether topics can be watched.")
    subscription_pattern_max_length: int = Field(
        default=50, ge=1, le=256, description="Maximum number of characters in `topics_pattern`."
    )
    topic_level_policies_enabled: bool = Field(
        default=True, description="Whether topics can have policies of their own."
    )
    policy_defaults: Annotated[dict[str, Any], BeforeValidator(policies)] = Field(
        default_factory=dict,
        description="Policies by name, for topics for which neither the topic nor its namespace sets them.",
    )
    http_requests_fail_on_unknown_properties_enabled: bool = Field(
        default=False, description="Refuse unknown members of a policy instead of ignoring them."
    )
    max_message_size: int = Field(
        default=MAX_MESSAGE_BYTES, gt=0, description="The largest maximum message size that a policy can set, in bytes."
    )
    max_quorum: int = Field(
        default=MAX_QUORUM, ge=1, description="The largest number of bookies that a persistence policy can set."
    )
    entry_filters: Annotated[tuple[str, ...] | None, NoDecode, BeforeValidator(words)] = Field(
        default=None, description="Entry filters that policies can name; absent = any."
    )
    allow_override_entry_filters: bool = Field(
        default=True, description="Whether topics and namespaces can override this node's entry filters."
    )
    cluster_name: str = Field(default="standalone", description="Name of the local cluster.")
    clusters: Annotated[tuple[str, ...], NoDecode, BeforeValidator(words)] = Field(
        default=(), description="Clusters that replication policies can name, besides registered ones."
    )
    auth_jwt_key_file: _Path | None = Field(
        default=None, description="Public keys for verifying tokens: PEM, or a JSON Web Key Set."
    )
    auth_jwks_url: str | None = Field(
        default=None, description="URL of such a key set: https, or http on this machine."
    )
    auth_issuer: str = Field(default="", description="Required issuer of tokens (claim iss); empty = any.")
    auth_audience: str = Field(default="", description="Required audience of tokens (claim aud); empty = any.")
    auth_role_claim: str = Field(default="sub", min_length=1, description="The claim that holds the role.")
    auth_accept_without_nbf: bool = Field(
        default=False, description="Also accept tokens without the claim nbf, such as those of `pulsar tokens create`."
    )
    auth_static_tokens_file: _Path | None = Field(
        default=None, description="A file with lines of TOKEN ROLE, compared literally; for development only."
    )
    superusers: Annotated[tuple[str, ...], NoDecode, BeforeValidator(words)] = Field(
        default=(), description="Roles that are allowed everything."
    )
    insecure: bool = Field(
        default=False, description="Allow listening on addresses other than loopback without authentication."
    )
    tls_cert_file: _Path | None = Field(default=None, description="The server's certificate chain; turns on TLS.")
    tls_key_file: _Path | None = Field(default=None, description="The private key, if it is not in the same file.")
    tls_client_ca_file: _Path | None = Field(
        default=None,
        description="CA certificates that client certificates are verified with; a certificate's names are its roles.",
    )
    advertised_url: Annotated[str | None, AfterValidator(base_url)] = Field(
        default=None, description="URL under which clients reach this node, such as http://node1:8080."
    )
    owners: dict[Annotated[str, AfterValidator(owned)], Annotated[str, AfterValidator(base_url)]] = Field(
        default_factory=dict,
        description="The advertised_url of the node that serves `tenant/namespace` or `tenant/*`.",
    )
    request_timeout_seconds: float = Field(
        default=15.0, gt=0, le=MAX_WAIT_SECONDS, description="Time limit of a request."
    )
    ready_timeout_seconds: float = Field(
        default=5.0, ge=0, le=MAX_WAIT_SECONDS, description="How long a request waits for its namespace to be ready."
    )
    drain_seconds: float = Field(
        default=0.0,
        ge=0,
        le=300,
        description="How long to keep serving, as not ready, after a stop signal, so that requests go elsewhere.",
    )
    stale_after_seconds: float = Field(
        default=10.0, gt=0, description="Age of the state from which a node is not ready."
    )

    past_max_events: int = Field(
        default=1_000_000, ge=0, description="Maximum number of events to fold for one query of the past (`at`)."
    )
    digest_within_seconds: float = Field(
        default=5.0,
        ge=0,
        le=3600,
        description="How soon after a change nodes compare their states; 0 = this node sends no digest.",
    )
    scrub_every_seconds: float = Field(
        default=600.0, ge=0, description="How often to check the state in memory for corruption; 0 = never."
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return where settings are looked for: what the class is called with, then variables."""
        return init_settings, _Variables(settings_cls)

    @property
    def served_hosts(self) -> tuple[str, ...]:
        """Values of Host that are taken beside loopback's: those named, the address if it is one, and what others use.

        Another node's redirect leads to the advertised URL.
        """
        advertised = urlsplit(self.advertised_url or "").hostname
        own = [host for host in (self.host, advertised) if host and host not in _ALL_ADDRESSES]
        return (*self.allowed_hosts, *own)

    @property
    def has_authentication(self) -> bool:
        """Whether a request has to say and prove who sends it."""
        return self.takes_jwt or self.auth_static_tokens_file is not None or self.tls_client_ca_file is not None

    @property
    def takes_jwt(self) -> bool:
        """Whether a JSON Web Token proves who sends a request."""
        return self.auth_jwt_key_file is not None or self.auth_jwks_url is not None

    @property
    def cluster(self) -> tuple[str, dict[str, str]] | None:
        """Where the cluster is that has the topics, and librdkafka's settings for it; None where there is none."""
        if self.cluster_bootstrap is not None:
            return self.cluster_bootstrap, self.cluster_settings
        if self.kafka_bootstrap is not None:
            return self.kafka_bootstrap, {**self.kafka_settings, **self.cluster_settings}
        return None

    def compact_command(self, snapshot: Path) -> str:
        """Return what to type, wherever one is, for another commit in a snapshot of this log.

        It says nothing of settings of librdkafka: they may be secret.
        """
        log = ["--log", str(self.log_file.absolute())]
        if self.kafka_bootstrap is not None:
            log = ["--kafka", self.kafka_bootstrap, "--kafka-topic", self.kafka_topic]
        return shlex.join(["topicfold", "compact", "--once", *log, "--snapshot", str(snapshot.absolute())])

    @property
    def label_rules(self) -> LabelRules:
        """What labels a writer may set through this node."""
        keys = self.allowed_custom_label_keys
        return LabelRules(None if keys is None else frozenset(keys), self.max_custom_label_value_length, MAX_LABELS)

    @property
    def policy_limits(self) -> Limits:
        """What policies may say on this node, and what holds where they say nothing.

        Raises:
            InvalidPolicy, PolicyUnmet, Forbidden: a default may not be set.
        """
        bounds = Limits(
            max_message_bytes=self.max_message_size,
            max_quorum=self.max_quorum,
            entry_filters=None if self.entry_filters is None else frozenset(self.entry_filters),
            may_override_entry_filters=self.allow_override_entry_filters,
            local_cluster=self.cluster_name,
            clusters=frozenset({self.cluster_name, *self.clusters}),
            policies_enabled=self.topic_level_policies_enabled,
            refuses_unknown=self.http_requests_fail_on_unknown_properties_enabled,
        )
        defaults = read_policies(self.policy_defaults, "policy_defaults")
        check_changed(EMPTY, defaults, bounds)
        return replace(bounds, defaults=defaults)

    @model_validator(mode="after")
    def _security_is_whole(self) -> Self:
        """Refuse half of what would be needed: it would leave a door open that somebody meant to close."""
        about_tokens = ("auth_issuer", "auth_audience", "auth_role_claim", "auth_accept_without_nbf")
        fields = type(self).model_fields
        for name in about_tokens:
            if getattr(self, name) != fields[name].default and not self.takes_jwt:
                raise ValueError(f"{name} needs auth_jwks_url or auth_jwt_key_file")
        if self.superusers and not self.has_authentication:
            raise ValueError(
                "superusers need authentication: "
                "auth_jwks_url, auth_jwt_key_file, auth_static_tokens_file or tls_client_ca_file"
            )
        for name in ("tls_key_file", "tls_client_ca_file"):
            if self.tls_cert_file is None and getattr(self, name) is not None:
                raise ValueError(f"{name} needs tls_cert_file, the certificate that this server shows")
        return self

    @model_validator(mode="after")
    def _cluster_can_be_followed(self) -> Self:
        if self.follow_cluster and self.cluster is None:
            raise ValueError("follow_cluster needs a Kafka cluster: name it as cluster_bootstrap")
        return self

    @model_validator(mode="after")
    def _owners_are_told_apart(self) -> Self:
        if self.owners and self.advertised_url is None:
            raise ValueError("owners need advertised_url: a node that does not know itself would send everything away")
        return self

    @model_validator(mode="after")
    def _policies_can_hold(self) -> Self:
        try:
            limits = self.policy_limits
            for cluster in limits.clusters:
                check_cluster(cluster)
        except TopicfoldError as error:
            raise ValueError(error.reason) from None
        if contradicts(EMPTY, broker_level(limits)):
            raise ValueError(f"policy_defaults: {RETENTION_BELOW}")
        return self
