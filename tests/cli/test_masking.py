"""What is secret among settings is masked, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from topicfold.cli.masking import MASK, masked


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tls_ca_file", None),
        ("token", ""),
        ("token_file", "/run/token"),
        ("port", 8080),
        ("quiet", False),
        ("kafka_bootstrap", "broker1:9092,broker2:9092"),
        ("url", "https://topicfold.example:8080/a"),
        ("superusers", ["ann@example.com"]),
    ],
)
def test_what_is_no_secret_is_shown_as_it_is(name: str, value: Any) -> None:
    assert masked(name, value) == value


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("token", "t0p", MASK),
        ("kafka_settings", {"ssl.key.pem": "t0p", "acks": "all"}, {"ssl.key.pem": MASK, "acks": "all"}),
        ("kafka_bootstrap", "me:t0p,t0p@broker:9092", f"{MASK}@broker:9092"),
        ("url", "https://me:t0p@topicfold.example/a", f"https://{MASK}@topicfold.example/a"),
        ("urls", ["https://h/?t0p", "https://h/#t0p\nt0p"], [f"https://h/?{MASK}", f"https://h/#{MASK}"]),
    ],
)
def test_what_is_secret_is_masked_by_its_name_or_by_where_it_stands(name: str, value: Any, shown: Any) -> None:
    assert masked(name, value) == shown
