"""Settings of librdkafka as Kafka's Java client, by which Spark reads, takes them.

That client wants a certificate and its key as text, or both in one file, so files are read: other machines need none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from topicfold.errors import BadSetting

_NAMES: Mapping[str, str] = {
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}
_OF_FILES: Mapping[str, str] = {
    "ssl.certificate.location": "ssl.keystore.certificate.chain",
    "ssl.key.location": "ssl.keystore.key",
}
"""What these files hold is the value."""
_LOGIN_MODULES: Mapping[str, str] = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_HOST_NAMES = "ssl.endpoint.identification.algorithm"
_PKCS8 = ("-----BEGIN PRIVATE KEY-----", "-----BEGIN ENCRYPTED PRIVATE KEY-----")


def java_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings of librdkafka as Kafka's Java client spells them.

    >>> java_settings({"security.protocol": "SSL", "ssl.ca.location": "/ca.pem"})["ssl.truststore.type"]
    'PEM'

    Raises:
        BadSetting: a file cannot be read, or the Java client cannot use the key.
    """
    found = {_NAMES.get(name, name): value for name, value in settings.items() if name not in _OF_FILES}
    found |= {_OF_FILES[name]: _text(name, file) for name, file in settings.items() if name in _OF_FILES}
    for store in ("truststore", "keystore"):
        if any(name.startswith(f"ssl.{store}.") for name in found):
            found[f"ssl.{store}.type"] = "PEM"
    if "ssl.keystore.location" in found:
        found["ssl.keystore.type"] = "PKCS12"
    key = found.get("ssl.keystore.key", "")
    if key and not any(begin in key for begin in _PKCS8):
        raise BadSetting(
            "the client's private key is not PKCS #8, and Kafka's Java client, which Spark uses, takes no other",
            hint="To convert it: openssl pkcs8 -topk8 -nodes -in KEY.pem -out NEW.pem",
        )
    if "ENCRYPTED" not in key:
        # librdkafka does not use it then; Java would decrypt the key all the same.
        found.pop("ssl.key.password", None)
    if found.get(_HOST_NAMES) == "none":
        found[_HOST_NAMES] = ""
    user, password = found.pop("sasl.username", None), found.pop("sasl.password", None)
    module = _LOGIN_MODULES.get(found.get("sasl.mechanism", "").upper())
    if user is not None and module is not None:
        found["sasl.jaas.config"] = (
            f'{module} required username="{_quoted(user)}" password="{_quoted(password or "")}";'
        )
    return found


def _text(setting: str, file: str) -> str:
    try:
        return Path(file).read_text()
    except (OSError, ValueError) as error:
        raise BadSetting(f"{setting} {file}: {getattr(error, 'strerror', None) or error}") from None


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
