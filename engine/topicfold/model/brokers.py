"""How a Kafka cluster is called: by some of its brokers, each HOST:PORT, with commas between them."""

from __future__ import annotations

import re

# Kafka's client takes these, and takes any other scheme for a host.
_SCHEME = re.compile(r"(?:^|,)\s*(?!(?:plaintext|ssl|sasl_plaintext|sasl_ssl)://)([^,/]*://)", re.IGNORECASE)


def wrong_with_brokers(text: str) -> str:
    """Return what is wrong with the brokers that `text` names, "" where nothing is.

    A URL is, but for the schemes that Kafka's listeners have: Kafka's client would fail later, and speak of something
    else.

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
