"""What the settings say about authentication and TLS, as what does it; what cannot work is refused at start.

Files are read then, and never again: some can be read but once, and others are replaced while a node serves.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import structlog

from topicfold.clock import wall_clock_seconds
from topicfold.errors import BadSetting
from topicfold.loopback import is_loopback
from topicfold.pem import CERTIFICATE, certificate_end, end_of, expired, require_pair, require_pem, tls_reason
from topicfold.server.auth.authenticator import Authenticator
from topicfold.server.auth.static_tokens import read_static_tokens
from topicfold.settings import Settings

_log = structlog.get_logger(__name__)


class Security(NamedTuple):
    """What tells who asks, None where nobody has to say; and how TLS is spoken, None where it is not.

    `certificate_ends` says when the certificates expire that the node shows, by the settings that name them.
    """

    authenticator: Authenticator | None
    tls: ssl.SSLContext | None
    certificate_ends: Mapping[str, datetime]


def security_of(settings: Settings) -> Security:
    """Return who may come in, and how.

    Raises:
        BadSetting: a file cannot be read or holds something else, or a URL cannot be trusted.
    """
    return Security(authenticator_of(settings), tls_of(settings), certificate_ends(settings))


def authenticator_of(settings: Settings) -> Authenticator | None:
    """Return what tells who asks, None where nobody has to say.

    Raises:
        BadSetting: a file cannot be read or holds something else, or a URL cannot be trusted.
    """
    if not settings.has_authentication:
        return None
    verifier = None
    if settings.takes_jwt:
        from topicfold.server.auth.verifier import verifier_of

        verifier = verifier_of(settings, wall_clock_seconds)
    static_file = settings.auth_static_tokens_file
    static_tokens = {} if static_file is None else read_static_tokens(static_file)
    return Authenticator(
        wall_clock_seconds,
        verifier,
        static_tokens,
        takes_certificates=settings.tls_client_ca_file is not None,
    )


def tls_of(settings: Settings) -> ssl.SSLContext | None:
    """Return how TLS is spoken, None where it is not.

    With a file of client authorities a client may show a certificate, and one that is shown must be theirs.

    Raises:
        BadSetting: a file cannot be read or holds something else.
    """
    if settings.tls_cert_file is None:
        return None
    require_pair("tls_", settings.tls_cert_file, settings.tls_key_file)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(settings.tls_cert_file, settings.tls_key_file, password=_no_password)
    except (OSError, ssl.SSLError, ValueError) as error:
        raise BadSetting(
            f"tls_cert_file {settings.tls_cert_file}: cannot be used with its key: {tls_reason(error)}",
            hint="A chain of certificates in PEM, and the private key of the first, without a password.",
        ) from None
    if settings.tls_client_ca_file is not None:
        require_pem("tls_client_ca_file", settings.tls_client_ca_file, CERTIFICATE)
        try:
            context.load_verify_locations(settings.tls_client_ca_file)
        except (OSError, ssl.SSLError) as error:
            raise BadSetting(f"tls_client_ca_file {settings.tls_client_ca_file}: {tls_reason(error)}") from None
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def certificate_ends(settings: Settings) -> Mapping[str, datetime]:
    """Return when the certificates expire that a node shows, to clients and to brokers, by the settings that name them.

    Raises:
        BadSetting: a file cannot be read.
    """
    own = settings.tls_cert_file
    ends = {
        "tls_cert_file": None if own is None else certificate_end("tls_cert_file", own),
        "kafka_settings": _end_for_brokers("kafka_settings", settings.kafka_settings),
        "cluster_settings": _end_for_brokers("cluster_settings", settings.cluster_settings),
    }
    return {setting: end for setting, end in ends.items() if end is not None}


def warn_of_security(settings: Settings) -> None:
    """Say loudly what is fit for development only.

    So it does of a certificate that has expired: whoever looks at it turns away.
    """
    for setting, end in certificate_ends(settings).items():
        if end.timestamp() <= wall_clock_seconds():
            error = expired(setting, end)
            _log.warning("certificate_expired", reason=error.reason, hint=error.hint)
    if not settings.has_authentication:
        if settings.insecure and not is_loopback(settings.host):
            _log.warning("insecure", reason="anyone who reaches this address can read and change everything")
        return
    if settings.auth_static_tokens_file is not None:
        _log.warning("static_tokens", reason="for development only: they never expire, and are stored in a file")
    if settings.takes_jwt:
        _warn_of_tokens(settings)
    if not settings.superusers:
        _log.warning(
            "no_superuser", reason="nobody can create tenants or grant rights on them; name a role in superusers"
        )
    if settings.tls_cert_file is None and not is_loopback(settings.host):
        _log.warning("tokens_in_the_clear", reason="without TLS, anyone who intercepts them can use them")


def _end_for_brokers(name: str, settings: Mapping[str, str]) -> datetime | None:
    if text := settings.get("ssl.certificate.pem"):
        return end_of(text.encode(errors="replace"))
    file = settings.get("ssl.certificate.location")
    return certificate_end(f"{name}: ssl.certificate.location", file) if file else None


def _warn_of_tokens(settings: Settings) -> None:
    if not settings.auth_issuer:
        _log.warning(
            "any_issuer", reason="tokens of any issuer with these keys are accepted; name the issuer in auth_issuer"
        )
    if not settings.auth_audience:
        _log.warning("any_audience", reason="tokens for other services are accepted; name this one in auth_audience")
    if settings.auth_accept_without_nbf:
        _log.warning("tokens_without_nbf", reason="tokens without a start of validity are accepted")


def _no_password() -> str:
    raise ValueError("the key has a password")
