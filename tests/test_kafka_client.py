"""What all clients of Kafka have in common: settings that none of them takes."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicCollection, Uuid
from confluent_kafka.admin import AdminClient, NewTopic, TopicDescription
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from tests.server.auth.authority import Authority
from tests.server.auth.issuer import issuer
from topicfold.errors import BadSetting
from topicfold.kafka_client import open_kafka_client, release_id


@pytest.mark.parametrize("kind", [AdminClient, Consumer, Producer])
@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [
        ("no.such.setting", "1", 'No such configuration property: "no.such.setting"'),
        ("oauth_cb", "text", "expected oauth_cb property as a callable function"),
        ("throttle_cb", "text", "expected throttle_cb property as a callable function"),
        ("default.topic.config", "text", "'str' object has no attribute 'keys'"),
        ("sasl.password", "\udc80", "'utf-8' codec can't encode character '\\udc80' in position 0"),
    ],
)
def test_a_setting_that_cannot_be_is_told_in_the_words_of_kafkas_client(
    kind: Any, setting: str, value: str, why: str
) -> None:
    with pytest.raises(BadSetting) as refused:
        open_kafka_client(kind, {"bootstrap.servers": "127.0.0.1:1", "group.id": "any", setting: value})
    assert refused.value.reason.startswith(f"Kafka's client does not accept these settings: {why}")


@pytest.mark.parametrize("kind", [AdminClient, Consumer, Producer])
@pytest.mark.parametrize("setting", ["ssl.ca.location", "ssl.certificate.location", "ssl.key.location"])
def test_a_file_that_cannot_be_used_is_told_in_ours(kind: Any, setting: str, tmp_path: Path) -> None:
    certificate, _ = Authority(tmp_path).sign("node")
    file = tmp_path / "file"
    settings = {"security.protocol": "SSL", "ssl.certificate.location": str(certificate), setting: str(file)}
    for why in (r"No such file or directory$", r"holds no (certificate|private key) in PEM, but a public key$"):
        with pytest.raises(BadSetting, match=f"^{setting} {file}: {why}"):
            open_kafka_client(kind, {"bootstrap.servers": "127.0.0.1:1", "group.id": "any", **settings})
        file.write_text(issuer().pem)


def test_a_key_whose_password_is_missing_is_told_to_need_it(tmp_path: Path) -> None:
    certificate, file = Authority(tmp_path).sign("node")
    key = load_pem_private_key(file.read_bytes(), None)
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"s3cret")))
    settings = {"ssl.certificate.location": str(certificate), "ssl.key.location": str(file)}
    with pytest.raises(BadSetting) as refused:
        open_kafka_client(Producer, {"security.protocol": "SSL", **settings})
    assert refused.value.hint == "If the key has a password, ssl.key.password must be it."
    open_kafka_client(Producer, {"security.protocol": "SSL", **settings, "ssl.key.password": "s3cret"})


def described(surplus: int) -> TopicDescription:
    """Return a description whose id has so many references that nobody has."""
    id_ = Uuid(1, 2)
    for _ in range(surplus):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(id_))
    return TopicDescription("orders", id_, False, [])


def ids() -> int:
    gc.collect()
    return sum(isinstance(each, Uuid) for each in gc.get_objects())


@pytest.mark.parametrize("surplus", [0, 1])
def test_an_id_ends_with_the_description_that_it_came_with_and_not_before(surplus: int) -> None:
    before = ids()
    for _ in range(3):
        topic = described(surplus)
        for _ in range(3):
            assert release_id(topic) is topic
            assert str(topic.topic_id) == str(Uuid(1, 2))
        del topic
        assert ids() == before


def test_an_id_that_somebody_keeps_stays_his_however_often_its_description_is_handed_in() -> None:
    topic = release_id(described(1))
    kept = topic.topic_id
    before = sys.getrefcount(kept)
    release_id(topic)
    after = sys.getrefcount(kept)
    for _ in range(before - after):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    assert after == before


@pytest.mark.kafka
def test_whoever_asks_for_a_topic_again_and_again_keeps_none_of_its_ids(
    kafka_bootstrap: str, fresh_topic: Callable[[], str]
) -> None:
    admin, name = AdminClient({"bootstrap.servers": kafka_bootstrap, "log_level": 0}), fresh_topic()
    admin.create_topics([NewTopic(name, 1)])[name].result(20)
    found = set()
    before = ids()
    for _ in range(5):
        found.add(str(release_id(admin.describe_topics(TopicCollection([name]))[name].result(20)).topic_id))
    assert ids() == before
    assert len(found) == 1
