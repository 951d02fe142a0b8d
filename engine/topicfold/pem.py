"""Files of certificates and keys, which must be PEM: what is wrong with one, and what would be right.

OpenSSL itself says "PEM lib" of most of it, and a server that is shown a certificate which has expired says nothing.
"""

from __future__ import annotations

import base64
import re
import ssl
import stat
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
_OTHER_KEY = {"KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"}
"""What OpenSSL says where a key does not belong to the certificate; the last where it is of another kind."""
_FROM_PKCS12 = "openssl pkcs12 -nodes"
_SEQUENCE = b"\x30"
_PKCS12_VERSION = b"\x02\x01\x03"
_X509_VERSION = 0xA0
_UTC_TIME = 0x17
_FIRST_YEAR = b"50"
_MAX_BYTES = 4 * 1024 * 1024
_BLOCK = re.compile(rb"(?ms)^-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----\s*$(.*?)^-----END \1-----")


def require_pem(setting: str, file: str | Path, wanted: str) -> None:
    """Return if a file that `setting` names holds what is `wanted`, in PEM, or cannot be looked into beforehand.

    Raises:
        BadSetting: there is none, or it does not.
    """
    content = _content(setting, file)
    if content is not None and not _holds(content, wanted):
        raise no_pem(setting, file, content, wanted)


def require_pair(prefix: str, cert_file: str | Path, key_file: str | Path | None) -> None:
    """Return if there are a certificate and a private key, the latter in the same file where `key_file` is None.

    The settings that name the files are `prefix` and `cert_file`, or `key_file`.

    Raises:
        BadSetting: there is no such file, or it holds something else.
    """
    require_pem(f"{prefix}cert_file", cert_file, CERTIFICATE)
    if key_file is not None:
        require_pem(f"{prefix}key_file", key_file, PRIVATE_KEY)
        return
    content = _content(f"{prefix}cert_file", cert_file)
    if content is not None and not _holds(content, PRIVATE_KEY):
        raise BadSetting(
            f"{prefix}cert_file {cert_file}: holds no private key", hint=f"Name the file that does: {prefix}key_file"
        )


def no_pem(setting: str, file: str | Path, content: bytes, wanted: str) -> BadSetting:
    """Return what is wrong with a file whose `content` has nothing that is `wanted` in PEM."""
    if not _is_der(content):
        held = [kind.lower() for kind in _FROM_DER if _holds(content, kind)]
        instead = f", but a {' and a '.join(held)}" if held else ""
        return BadSetting(f"{setting} {file}: holds no {wanted.lower()} in PEM{instead}")
    form, command = "DER", _FROM_DER[wanted]
    if content[4:7] == _PKCS12_VERSION:
        form, command = "PKCS #12", _FROM_PKCS12
    return BadSetting(
        f"{setting} {file}: is {form}, and must be PEM", hint=f"To make PEM of it: {command} -in {file} -out FILE.pem"
    )


def certificate_end(setting: str, file: str | Path) -> datetime | None:
    """Return when the first certificate in a file expires; None if that cannot be told beforehand.

    Raises:
        BadSetting: it cannot be read.
    """
    content = _content(setting, file)
    return None if content is None else end_of(content)


def require_current(setting: str, file: str | Path, now: datetime) -> datetime | None:
    """Return when the first certificate in a file expires, if it has not yet; None if that cannot be told beforehand.

    Raises:
        BadSetting: it has, or cannot be read.
    """
    ends = certificate_end(setting, file)
    if ends is not None and ends <= now:
        raise expired(f"{setting} {file}", ends)
    return ends


def expired(place: str, ends: datetime) -> BadSetting:
    """Return that the certificate that is in some place expired when it `ends`."""
    return BadSetting(f"{place}: the certificate expired at {ends:%Y-%m-%d %H:%M:%S}Z", hint="Have a new one signed.")


def tls_reason(error: Exception) -> str:
    """Return what OpenSSL has against files."""
    if isinstance(error, ssl.SSLError) and error.reason in _OTHER_KEY:
        return "the private key is that of another certificate"
    return getattr(error, "strerror", None) or str(error)


def _is_der(content: bytes) -> bool:
    """Return whether it is one sequence of DER, and no more."""
    return content[:1] == _SEQUENCE and len(content) > 1 and _span(content, 0)[1] == len(content)


def _holds(content: bytes, wanted: str) -> bool:
    return f"{wanted}-----".encode() in content


def _content(setting: str, file: str | Path) -> bytes | None:
    """Return what a file holds; None where it may be read but once, or is too large to be what is wanted.

    Raises:
        BadSetting: it cannot be read.
    """
    path = Path(file)
    try:
        about = path.stat()
        return path.read_bytes() if stat.S_ISREG(about.st_mode) and about.st_size <= _MAX_BYTES else None
    except (OSError, ValueError) as error:
        raise BadSetting(f"{setting} {file}: {getattr(error, 'strerror', None) or error}") from None


def end_of(content: bytes) -> datetime | None:
    """Return when the first certificate in PEM expires; None where that cannot be read.

    Source: RFC 5280, 4.1; RFC 7468, 5.3 for other names of its block.
    """
    block = _BLOCK.search(content)
    if block is None:
        return None
    try:
        (_, certificate), *_ = _values(base64.b64decode(block[2]))
        (_, signed), *_ = _values(certificate)
        _, _, _, validity, *_ = (inner for tag, inner in _values(signed) if tag != _X509_VERSION)
        _, (tag, text) = _values(validity)
        century = b"" if tag != _UTC_TIME else b"19" if text[:2] >= _FIRST_YEAR else b"20"
        return datetime.strptime((century + text).decode(), "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    except (ValueError, IndexError):
        return None


def _values(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and content of the values in DER that lie one behind the other."""
    at = 0
    while at < len(der):
        start, end = _span(der, at)
        yield der[at], der[start:end]
        at = end


def _span(der: bytes, at: int) -> tuple[int, int]:
    """Return where the content of the value that begins at `at` begins, and where it ends."""
    length, start = der[at + 1], at + 2
    if length & 0x80:
        size = length & 0x7F
        length, start = int.from_bytes(der[start : start + size]), start + size
    return start, start + length
