"""Names of the settings of `topicfold serve`, as far as any other command needs them.

They are those of `topicfold.settings`, which costs too much to import for that.
"""

from __future__ import annotations

from collections.abc import Mapping

SERVER_SETTINGS = (
    "log_file",
    "kafka_bootstrap",
    "kafka_topic",
    "kafka_settings",
    "snapshot",
    "partitions",
    "cluster_bootstrap",
    "cluster_settings",
    "adopt_only",
    "follow_cluster",
    "follow_every_seconds",
    "host",
    "port",
    "allowed_hosts",
    "allowed_custom_label_keys",
    "max_custom_label_value_length",
    "wildcard_separator",
    "topic_listing",
    "max_topic_list_in_flight_heap_mem_size_mb",
    "enable_broker_topic_list_watcher",
    "subscription_pattern_max_length",
    "topic_level_policies_enabled",
    "policy_defaults",
    "http_requests_fail_on_unknown_properties_enabled",
    "max_message_size",
    "max_quorum",
    "entry_filters",
    "allow_override_entry_filters",
    "cluster_name",
    "clusters",
    "advertised_url",
    "owners",
    "auth_jwt_key_file",
    "auth_jwks_url",
    "auth_issuer",
    "auth_audience",
    "auth_role_claim",
    "auth_accept_without_nbf",
    "auth_static_tokens_file",
    "superusers",
    "insecure",
    "tls_cert_file",
    "tls_key_file",
    "tls_client_ca_file",
    "request_timeout_seconds",
    "ready_timeout_seconds",
    "drain_seconds",
    "stale_after_seconds",
    "past_max_events",
    "digest_within_seconds",
    "scrub_every_seconds",
)
SERVER_FLAGS: Mapping[str, str] = {
    "log_file": "--log",
    "kafka_bootstrap": "--kafka",
    "kafka_settings": "--kafka-setting",
    "cluster_settings": "--cluster-setting",
}
"""Flags that are not called like their settings."""
