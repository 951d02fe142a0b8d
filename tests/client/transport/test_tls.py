"""Files of TLS that are read again: which, when, and by whom."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from tests.server.auth.authority import Authority
from topicfold.client.transport.tls import RenewedTls

_SECONDS = 60


def test_files_are_those_of_the_directory_where_the_client_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    elsewhere = tmp_path / "uploads"
    elsewhere.mkdir()
    Authority(elsewhere)
    monkeypatch.chdir(tmp_path)
    tls = RenewedTls(authority.file.name, None, None)
    monkeypatch.chdir(elsewhere)
    assert not tls.has_changed()
    renewed = Authority(tmp_path)
    assert tls.has_changed()
    assert _trusted_by(tls) == _serial(renewed)


def test_where_a_file_is_a_pipe_none_is_waited_for_again(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pipes = tmp_path / "certificate", tmp_path / "key"
    for pipe, file in zip(pipes, authority.sign("root"), strict=True):
        os.mkfifo(pipe)
        threading.Thread(target=pipe.write_bytes, args=(file.read_bytes(),), daemon=True).start()
    tls = RenewedTls(authority.file, *pipes)
    Authority(tmp_path)
    looking = threading.Thread(target=tls.has_changed, daemon=True)
    looking.start()
    looking.join(_SECONDS)
    assert not looking.is_alive()


def test_nobody_is_asked_for_the_password_of_a_key_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    certificate, file = Authority(tmp_path).sign("root")
    tls = RenewedTls(None, certificate, file)
    key = load_pem_private_key(file.read_bytes(), None)
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"s3cret")))
    assert not tls.has_changed()
    assert caplog.messages == [
        f"{file}: the key has a password, and is read only once; what was read before is still used"
    ]


def test_whoever_read_older_files_last_does_not_have_them_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority(tmp_path)
    tls = RenewedTls(authority.file, None, None)
    read, renewals = RenewedTls._read, list[Authority]()

    def overtaken(self: RenewedTls, password: Callable[[], str] | None = None) -> object:
        found = read(self, password)
        if len(renewals) == 1:
            renewals.append(Authority(tmp_path))
            self.has_changed()  # as another thread, meanwhile
        return found

    monkeypatch.setattr(RenewedTls, "_read", overtaken)
    renewals.append(Authority(tmp_path))
    for _ in range(2):
        tls.has_changed()
    assert _trusted_by(tls) == _serial(renewals[-1])


def _trusted_by(tls: RenewedTls) -> object:
    spoken = tls.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost")
    return spoken.context.get_ca_certs()[0]["serialNumber"]


def _serial(authority: Authority) -> object:
    return ssl.create_default_context(cafile=authority.file).get_ca_certs()[0]["serialNumber"]
