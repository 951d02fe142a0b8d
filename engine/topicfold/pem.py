"""Files of certificates and keys, which must be PEM: what is wrong with one, and what would be right.

OpenSSL itself says "PEM lib" of most of it, and a server that is shown a certificate which has expired says nothing.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from topicfold.errors import BadSetting

CERTIFICATE, PRIVATE_KEY, PUBLIC_KEY = "CERTIFICATE", "PRIVATE KEY", "PUBLIC KEY"
"""What a block of PEM holds, by the last words of its first line."""

_FROM_DER: Mapping[str, str] = {
    CERTIFICATE: "openssl x509 -inform DER",
    PRIVATE_KEY: "openssl pkey -inform DER",
    PUBLIC_KEY: "openssl pkey -pubin -inform DER",
}
_FROM_PKCS12 = "openssl pkcs12 -nodes"
_SEQUENCE = b"\x30"
_PKCS12_VERSION = b"\x02\x01\x03"
_X509_VERSION = 0xA0
_UTC_TIME = 0x17


def require_pem(setting: str, file: str | Path, wanted: str) -> None:
    """Return if a file that `setting` names holds what is `wanted`, in PEM.

    Raises:
        BadSetting: it cannot be read, or does not.
    """
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise BadSetting(f"{setting} {file}: {error.strerror or error}") from None
    if not _holds(content, wanted):
        raise no_pem(setting, file, content, wanted)


def require_pair(prefix: str, cert_file: str | Path, key_file: str | Path | None) -> None:
    """Return if there are a certificate and a private key, the latter in the same file where `key_file` is None.

    The settings that name the files are `prefix` and `cert_file`, or `key_file`.

    Raises:
        BadSetting: a file cannot be read, or holds something else.
    """
    require_pem(f"{prefix}cert_file", cert_file, CERTIFICATE)
    if key_file is not None:
        require_pem(f"{prefix}key_file", key_file, PRIVATE_KEY)
    elif not _holds(Path(cert_file).read_bytes(), PRIVATE_KEY):
        raise BadSetting(
            f"{prefix}cert_file {cert_file}: holds no private key", hint=f"Name the file that does: {prefix}key_file"
        )


def no_pem(setting: str, file: str | Path, content: bytes, wanted: str) -> BadSetting:
    """Return what is wrong with a file whose `content` has nothing that is `wanted` in PEM."""
    if content[:1] != _SEQUENCE:
        return BadSetting(f"{setting} {file}: holds no {wanted.lower()} in PEM")
    form, command = "DER", _FROM_DER[wanted]
    if content[4:7] == _PKCS12_VERSION:
        form, command = "PKCS #12", _FROM_PKCS12
    return BadSetting(
        f"{setting} {file}: is {form}, and must be PEM", hint=f"To make PEM of it: {command} -in {file} -out FILE.pem"
    )


def require_current(setting: str, file: str | Path, now: datetime) -> None:
    """Return if the first certificate in a file, which OpenSSL has taken, has not expired.

    Raises:
        BadSetting: it has.
    """
    ends = _end_of(Path(file).read_text(encoding="latin-1"))
    if ends is not None and ends <= now:
        raise BadSetting(
            f"{setting} {file}: the certificate expired at {ends:%Y-%m-%d %H:%M:%S}Z", hint="Have a new one signed."
        )


def tls_reason(error: Exception) -> str:
    """Return what OpenSSL has against files."""
    if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
        return "the private key is that of another certificate"
    return getattr(error, "strerror", None) or str(error)


def _holds(content: bytes, wanted: str) -> bool:
    return f"{wanted}-----".encode() in content


def _end_of(pem: str) -> datetime | None:
    """Return when the first certificate in PEM expires; None where none has its usual heading.

    Source: RFC 5280, 4.1.
    """
    begin, end = f"-----BEGIN {CERTIFICATE}-----", f"-----END {CERTIFICATE}-----"
    if begin not in pem:
        return None
    block = pem[pem.index(begin) : pem.index(end) + len(end)]
    (_, certificate), *_ = _values(ssl.PEM_cert_to_DER_cert(block))
    (_, signed), *_ = _values(certificate)
    _, _, _, validity, *_ = (content for tag, content in _values(signed) if tag != _X509_VERSION)
    _, (tag, text) = _values(validity)
    form = "%y%m%d%H%M%SZ" if tag == _UTC_TIME else "%Y%m%d%H%M%SZ"
    return datetime.strptime(text.decode(), form).replace(tzinfo=UTC)


def _values(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and content of the values in DER that lie one behind the other."""
    at = 0
    while at < len(der):
        tag, length, at = der[at], der[at + 1], at + 2
        if length & 0x80:
            size = length & 0x7F
            length, at = int.from_bytes(der[at : at + size]), at + size
        yield tag, der[at : at + length]
        at += length
