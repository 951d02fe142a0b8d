"""Who a TLS client is, by the certificate that TLS itself has verified: never by a header.

Source: RFC 6125 (a subject's common name counts only where there are no alternative names); SPIFFE.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from typing import Any

from topicfold.errors import Unauthenticated
from topicfold.server.auth.principal import Credential, principal_with

_KINDS = ("URI", "DNS")


def credential_of_certificate(certificate: Mapping[str, Any]) -> Credential | None:
    """Return who the holder of a verified certificate is, None where it names nobody.

    Its URIs and DNS names are the roles, else its common name; the first of them is the one that the history shows.
    `certificate` has the form of `ssl.SSLSocket.getpeercert`.
    """
    names = [value for kind in _KINDS for found, value in certificate.get("subjectAltName", ()) if found == kind]
    if not names:
        names = [value for found, value in _attributes(certificate) if found == "commonName"]
    try:
        return Credential(principal_with(names), ssl.cert_time_to_seconds(certificate["notAfter"]))
    except Unauthenticated:
        return None


def _attributes(certificate: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    return (attribute for name in certificate.get("subject", ()) for attribute in name)
