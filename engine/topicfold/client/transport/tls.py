"""How a client speaks TLS: which servers it trusts, and which certificate it shows them.

Files are read again once they have changed. So whoever has a certificate renewed before it expires is never cut off.
"""

from __future__ import annotations

import logging
import math
import os
import ssl
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from topicfold.client.transport.environment import system_trust
from topicfold.errors import BadSetting
from topicfold.pem import CERTIFICATE, expired, require_current, require_pair, require_pem, tls_reason

PARTING_SECONDS = 60.0
"""So long after files have changed, a request is the last one of its connection. An unused one is closed sooner."""

_log = logging.getLogger(__name__)


class _Made(NamedTuple):
    """How TLS is spoken by the files as they were `seen` before they were read; until `ends`, if that is known."""

    seen: tuple[object, ...]
    context: ssl.SSLContext
    ends: datetime | None


class RenewedTls(ssl.SSLContext):
    """TLS by what files hold when a connection is made.

    If a file cannot be used any more, as while a certificate is replaced and its key not yet, what was read last is.
    Where one is a pipe, which can be read but once, or the key has a password, none is read again. Threads may share
    it; there is no lock, which a fork could leave held: of two that read at once, the one that saw the older files may
    be last, and is then made good at the next look.
    """

    def __new__(cls, *_: object) -> Self:
        """Make one for clients."""
        return super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)

    def __init__(self, ca_file: str | Path | None, cert_file: str | Path | None, key_file: str | Path | None) -> None:
        """Read the files: authorities, or those of the system for None; a certificate; its key, or None if beside it.

        Raises:
            BadSetting: one cannot be read, or holds something else, or a certificate that has expired.
        """
        # Whoever reads them again may be in another directory by then.
        self._ca_file, self._cert_file, self._key_file = map(_absolute, (ca_file, cert_file, key_file))
        files = [file for file in (self._ca_file, self._cert_file, self._key_file) if file is not None]
        self._watched = files if all(map(os.path.isfile, files)) else []
        self._changed_at = -math.inf
        self._protocols: list[str] = []
        self._made = _Made(self._look(), *self._read())

    def has_changed(self) -> bool:
        """Return whether the files have changed of late, and read them if they have."""
        seen = self._look()
        if seen != self._made.seen:
            # Meanwhile others go on with what was read before, rather than read the same.
            self._made = self._made._replace(seen=seen)
            self._renew(seen)
        return time.monotonic() < self._changed_at + PARTING_SECONDS

    def set_alpn_protocols(self, alpn_protocols: Any) -> None:
        """Offer these protocols on connections that are made from now on."""
        self._protocols = list(alpn_protocols)

    def wrap_socket(self, *args: Any, **options: Any) -> ssl.SSLSocket:
        """Speak TLS over a socket, like `ssl.SSLContext.wrap_socket`.

        Raises:
            BadSetting: the certificate has expired, and there is no new one.
        """
        return self._current().wrap_socket(*args, **options)

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """Speak TLS over memory, like `ssl.SSLContext.wrap_bio`.

        Raises:
            BadSetting: the certificate has expired, and there is no new one.
        """
        return self._current().wrap_bio(*args, **options)

    def _current(self) -> ssl.SSLContext:
        self.has_changed()
        _, context, ends = self._made
        if self._cert_file is not None and ends is not None and ends <= datetime.now(UTC):
            raise expired(f"client_cert_file {self._cert_file}", ends)
        if self._protocols:
            context.set_alpn_protocols(self._protocols)
        return context

    def _renew(self, seen: tuple[object, ...]) -> None:
        try:
            self._made = _Made(seen, *self._read(self._no_password))
        except BadSetting as error:
            _log.warning("%s; what was read before is still used", error.reason)
            return
        self._changed_at = time.monotonic()

    def _look(self) -> tuple[object, ...]:
        """Return what differs once a file has changed."""
        return tuple(map(_trace, self._watched))

    def _read(self, password: Callable[[], str] | None = None) -> tuple[ssl.SSLContext, datetime | None]:
        """Return how to speak TLS by the files, and until when; without `password`, OpenSSL asks a terminal for it.

        Raises:
            BadSetting: one cannot be read, or holds something else, or a certificate that has expired.
        """
        if self._ca_file is not None:
            require_pem("tls_ca_file", self._ca_file, CERTIFICATE)
        try:
            context = ssl.create_default_context(cafile=self._ca_file) if self._ca_file else system_trust()
        except OSError as error:
            raise BadSetting(f"tls_ca_file {self._ca_file}: {tls_reason(error)}") from None
        return context, None if self._cert_file is None else _show(context, self._cert_file, self._key_file, password)

    def _no_password(self) -> str:
        raise BadSetting(f"{self._key_file or self._cert_file}: the key has a password, and is read only once")


def _show(
    context: ssl.SSLContext, cert_file: str | Path, key_file: str | Path | None, password: Callable[[], str] | None
) -> datetime | None:
    """Have a certificate shown; return when it expires, None if that cannot be told.

    Raises:
        BadSetting: a file cannot be read, or holds something else, or the certificate has expired.
    """
    require_pair("client_", cert_file, key_file)
    try:
        context.load_cert_chain(cert_file, key_file, password)
    except OSError as error:
        raise BadSetting(f"client_cert_file {cert_file}: {tls_reason(error)}") from None
    return require_current("client_cert_file", cert_file, datetime.now(UTC))


def _absolute(file: str | Path | None) -> str | Path | None:
    return file and Path(file).absolute()


def _trace(file: str | Path) -> tuple[int, int, int] | None:
    try:
        about = os.stat(file)
    except OSError:
        return None
    return about.st_mtime_ns, about.st_ino, about.st_size
