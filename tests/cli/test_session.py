"""What a command does with its settings once it asks a server."""

from __future__ import annotations

import socket
import socketserver
import threading
from pathlib import Path

from tests.cli.conftest import Run
from tests.client.served import serving
from tests.server.auth.authority import LOOPBACK, Authority


def test_a_server_that_does_not_answer_is_waited_for_as_long_as_is_wanted(bare_run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        ran = bare_run("tenants", "list", "--url", url, "--timeout-seconds", "0.05")
    error, hint = ran.err.splitlines()
    assert (ran.code, error) == (6, f"error: no answer from {url}: timed out after 0.05 s")
    assert hint.startswith("hint: it takes requests, but is silent; ")
    assert hint.endswith("or raise --timeout-seconds")


def test_a_server_that_hangs_up_is_asked_three_times(bare_run: Run) -> None:
    asked: list[bytes] = []

    class HangingUp(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            asked.append(self.request.recv(4))

    with socketserver.TCPServer(("127.0.0.1", 0), HangingUp) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            ran = bare_run("tenants", "list", "--url", f"http://127.0.0.1:{server.server_address[1]}")
        finally:
            server.shutdown()
    assert (ran.code, asked) == (6, [b"GET "] * 3)


def test_a_server_is_believed_and_told_who_asks_by_the_certificates_that_are_named(
    bare_run: Run, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.sign("localhost", LOOPBACK)
    of_root = authority.sign("root")
    credentials = ("--client-cert-file", str(of_root[0]), "--client-key-file", str(of_root[1]))
    with serving(
        tls_cert_file=certificate, tls_key_file=key, tls_client_ca_file=authority.file, superusers=("root",)
    ) as (url,):
        asked = ("tenants", "list", "-o", "name", "--url", url)
        unbelieved = bare_run(*asked, *credentials)
        unknown = bare_run(*asked, "--tls-ca-file", str(authority.file))
        answered = bare_run(*asked, "--tls-ca-file", str(authority.file), *credentials)
    assert (unbelieved.code, "certificate verify failed" in unbelieved.err) == (6, True)
    assert unknown.code == 5
    assert answered == (0, "public\n", "")
