"""How a Kafka cluster is called: by some of its brokers, each HOST:PORT, with commas between them."""

from __future__ import annotations

import re

_HTTP = re.compile(r"(?:^|,)\s*(https?://)", re.IGNORECASE)


def wrong_with_brokers(text: str) -> str:
    """Return what is wrong with the brokers that `text` names, "" where nothing is.

    A URL of HTTP is: Kafka's client would fail later, and speak of something else.

    >>> wrong_with_brokers("broker1:9092,http://broker2:9092")
    'write HOST:PORT, without http://'
    """
    url = _HTTP.search(text)
    return f"write HOST:PORT, without {url[1]}" if url else ""
