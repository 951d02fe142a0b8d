"""Settings as they may be shown: what is secret is masked, by its name, or by where it stands in a URL."""

from __future__ import annotations

import re
from typing import Any

MASK = "****"

_SECRET = re.compile(r"password|passphrase|secret|token|credential|jaas|private|key\.pem", re.IGNORECASE)
# Where a secret is, not the secret.
_PLACE = re.compile("_file$|_url$")
_USER_IN_URL = re.compile(r"(?<=://)[^/?#]*@")
_QUERY_OF_URL = re.compile(r"(://[^?#]*[?#]).+", re.DOTALL)


def masked(name: str, value: Any) -> Any:
    """Return the value of a setting in JSON's values; of tables each entry is masked by its own name.

    >>> masked("kafka_settings", {"sasl.password": "x", "security.protocol": "SSL"})
    {'sasl.password': '****', 'security.protocol': 'SSL'}
    >>> masked("auth_jwks_url", "https://issuer.example/keys?api_key=x")
    'https://issuer.example/keys?****'
    """
    if value and _SECRET.search(name) and not _PLACE.search(name):
        return MASK
    if isinstance(value, dict):
        return {key: masked(key, each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked(name, each) for each in value]
    if value is None or isinstance(value, int | float):
        return value
    if name.endswith("bootstrap") and "@" in str(value):
        # No broker has a user, and a password may hold what parts brokers.
        return f"{MASK}@{str(value).rpartition('@')[2]}"
    # TOML has dates and times, too.
    return _QUERY_OF_URL.sub(rf"\1{MASK}", _USER_IN_URL.sub(f"{MASK}@", str(value)))
