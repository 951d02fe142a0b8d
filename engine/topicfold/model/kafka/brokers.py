"""How a Kafka cluster is named: by some of its brokers, each as HOST:PORT, separated by commas."""

from __future__ import annotations

import re

# Kafka's client accepts these schemes, and takes any other one for a host.
_SCHEME = re.compile(r"(?:^|,)\s*(?!(?:plaintext|ssl|sasl_plaintext|sasl_ssl)://)([^,/]*://)", re.IGNORECASE)


def wrong_with_brokers(text: str) -> str:
    """Return what is wrong with the brokers that `text` names, "" if nothing is.

    URLs are wrong, except with the schemes of Kafka's listeners: Kafka's client would only fail later, with a
    misleading error.

    >>> wrong_with_brokers("broker1:9092,http://broker2:9092")
    'write HOST:PORT, without http://'
    >>> wrong_with_brokers("kafka://broker1:9092"), wrong_with_brokers("SSL://broker1:9092")
    ('write HOST:PORT, without kafka://', '')
    >>> wrong_with_brokers("me:password@broker1:9092")
    'write HOST:PORT, without user and password: Kafka has sasl.username and sasl.password'
    """
    if "@" in text:
        return "write HOST:PORT, without user and password: Kafka has sasl.username and sasl.password"
    url = _SCHEME.search(text)
    return f"write HOST:PORT, without {url[1]}" if url else ""
