"""What Spark's client of Kafka is told of a secured cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.auth.authority import Authority
from topicfold.compaction.spark.java_settings import java_settings
from topicfold.errors import BadSetting


def test_a_client_certificate_in_files_is_given_as_text(tmp_path: Path) -> None:
    certificate, key = Authority(tmp_path).sign("node")
    found = java_settings({"ssl.certificate.location": str(certificate), "ssl.key.location": str(key)})
    assert found == {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": certificate.read_text(),
        "ssl.keystore.key": key.read_text(),
    }


def test_certificates_that_are_text_already_get_the_names_of_the_java_client(tmp_path: Path) -> None:
    key = Authority(tmp_path).sign("node")[1].read_text()
    found = java_settings({"ssl.ca.pem": "an authority", "ssl.certificate.pem": "a certificate", "ssl.key.pem": key})
    assert found == {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "an authority",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "a certificate",
        "ssl.keystore.key": key,
    }


def test_a_key_without_a_password_is_given_without_one(tmp_path: Path) -> None:
    key = Authority(tmp_path).sign("node")[1].read_text()
    assert "ssl.key.password" not in java_settings({"ssl.key.pem": key, "ssl.key.password": "s3cret"})
    encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nabc\n-----END ENCRYPTED PRIVATE KEY-----\n"
    assert java_settings({"ssl.key.pem": encrypted, "ssl.key.password": "s3cret"})["ssl.key.password"] == "s3cret"


def test_a_keystore_stays_the_pkcs12_file_that_librdkafka_takes() -> None:
    given = {"ssl.keystore.location": "client.p12", "ssl.keystore.password": "s3cret"}
    assert java_settings(given) == {**given, "ssl.keystore.type": "PKCS12"}


def test_host_names_that_are_not_looked_at_are_not_looked_at_by_java() -> None:
    name = "ssl.endpoint.identification.algorithm"
    assert [java_settings({name: value})[name] for value in ("none", "https")] == ["", "https"]


def test_a_key_in_another_form_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text("-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----\n")
    with pytest.raises(BadSetting, match="not PKCS #8") as refused:
        java_settings({"ssl.key.location": str(key)})
    assert "openssl pkcs8 -topk8" in refused.value.hint
    with pytest.raises(BadSetting, match=r"ssl\.key\.location .*/gone\.pem: No such file"):
        java_settings({"ssl.key.location": str(tmp_path / "gone.pem")})
