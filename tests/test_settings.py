"""Settings of policies: what a node is told becomes limits, and what cannot hold is refused at start."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from topicfold.model.policy.limits import Limits
from topicfold.settings import Settings
from topicfold.starting import engine_options

QUOTA = {"destination_storage": {"limitSize": 10 << 30, "limitTime": -1, "policy": "producer_request_hold"}}


def test_a_node_that_is_told_nothing_has_pulsars_limits() -> None:
    assert Settings().policy_limits == Limits()


def test_everything_a_node_is_told_of_policies_is_in_its_limits() -> None:
    told = Settings(
        max_message_size=7,
        max_quorum=9,
        entry_filters="a,b",
        allow_override_entry_filters=False,
        cluster_name="east",
        clusters="west, north",
        topic_level_policies_enabled=False,
        http_requests_fail_on_unknown_properties_enabled=True,
        policy_defaults={"messageTTLInSeconds": "5", "backLogQuotaMap": QUOTA},
    )
    assert told.policy_limits == Limits(
        max_message_bytes=7,
        max_quorum=9,
        entry_filters=frozenset({"a", "b"}),
        may_override_entry_filters=False,
        local_cluster="east",
        clusters=frozenset({"east", "west", "north"}),
        policies_enabled=False,
        refuses_unknown=True,
        defaults={"messageTTLInSeconds": 5, "backLogQuotaMap": QUOTA},
    )


@pytest.mark.parametrize(
    ("defaults", "reason"),
    [
        ({"messageTTL": 5}, "did you mean messageTTLInSeconds?"),
        ({"messageTTLInSeconds": -1}, "Invalid value for message TTL"),
        ({"messageTTLInSeconds": 1.5}, "must be a whole number"),
        ({"retentionPolicies": {"retentionTimeInMinutes": 5}}, "Invalid retention policy"),
        ({"maxMessageSize": 6 << 20}, "maxMessageSize"),
        (
            {
                "retentionPolicies": {"retentionTimeInMinutes": -1, "retentionSizeInMB": 10 << 10},
                "backLogQuotaMap": QUOTA,
            },
            "Retention Quota must exceed",
        ),
    ],
)
def test_a_default_that_cannot_hold_is_refused_at_start(defaults: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason.replace("?", "[?]")):
        Settings(policy_defaults=defaults)


def test_a_cluster_is_called_like_a_tenant() -> None:
    with pytest.raises(ValidationError, match="cluster"):
        Settings(cluster_name="a/b")


@pytest.mark.parametrize("setting", ["request_timeout_seconds", "ready_timeout_seconds"])
def test_no_request_waits_so_long_that_its_permissions_would_have_to_be_looked_at_again(setting: str) -> None:
    assert getattr(Settings(**{setting: "30"}), setting) == 30
    with pytest.raises(ValidationError, match="less than or equal to 30"):
        Settings(**{setting: "30.1"})


@pytest.mark.parametrize("separator", ["__", ".", "-", "::", "]", "~"])
def test_what_parts_the_segments_of_names_can_be_chosen(separator: str) -> None:
    assert engine_options(Settings(wildcard_separator=separator)).wildcard_separator == separator


@pytest.mark.parametrize("separator", ["", "*", "a*", "/", "\\", " ", "é", "\n", "_" * 9])
def test_what_could_not_part_them_is_refused(separator: str) -> None:
    with pytest.raises(ValidationError, match="wildcard_separator"):
        Settings(wildcard_separator=separator)


def test_a_default_may_have_a_variable_of_its_own_though_that_has_no_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPICFOLD_POLICY_DEFAULTS", '{"maxMessageSize": 9}')
    monkeypatch.setenv("TOPICFOLD_POLICY_DEFAULTS__messageTTLInSeconds", "5")
    monkeypatch.setenv("TOPICFOLD_POLICY_DEFAULTS__BACKLOGQUOTAMAP", json.dumps(QUOTA))
    assert Settings().policy_limits.defaults == {
        "maxMessageSize": 9,
        "messageTTLInSeconds": 5,
        "backLogQuotaMap": QUOTA,
    }


def test_a_default_in_a_variable_that_is_broken_off_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPICFOLD_POLICY_DEFAULTS__RETENTIONPOLICIES", '{"retentionTimeInMinutes": 5')
    with pytest.raises(ValidationError, match="is not JSON"):
        Settings()


@pytest.mark.parametrize("setting", ["log_file", "snapshot", "auth_jwt_key_file", "auth_static_tokens_file"])
def test_a_path_that_no_system_takes_is_refused(setting: str) -> None:
    with pytest.raises(ValidationError, match="a path cannot hold a zero character"):
        Settings(**{setting: "a\0b"})


def test_a_key_that_no_label_can_have_is_not_allowed_in_vain() -> None:
    assert Settings(allowed_custom_label_keys="team,acme.io/tier").allowed_custom_label_keys == ("team", "acme.io/tier")
    with pytest.raises(ValidationError, match="ti er"):
        Settings(allowed_custom_label_keys="team,ti er")


@pytest.mark.parametrize(
    "host",
    ["topicfold.example", "a_b", "10.0.0.7:8443", "[fd00::1]", "[fd00::1]:8443", "fd00::1", "::ffff:10.0.0.7"],
)
def test_a_host_may_have_a_port(host: str) -> None:
    assert Settings(allowed_hosts=(host,)).allowed_hosts == (host,)


@pytest.mark.parametrize(
    "host", ["https://topicfold.example", "topicfold.example/", "*.example", "a b", "a:port", "::1]"]
)
def test_what_no_request_can_bear_as_its_host_is_refused(host: str) -> None:
    with pytest.raises(ValidationError, match="is not a host, such as"):
        Settings(allowed_hosts=(host,))
