"""The process: what starts it, what keeps it from starting, how it stops."""

from __future__ import annotations

import errno
import gc
import json
import os
import re
import signal
import socket
import subprocess
import sys
import weakref
from contextlib import suppress
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest
import structlog

from tests import plain_http
from tests.ports import free_ports
from tests.server.auth.authority import LOOPBACK, Authority
from tests.server.rest import RestNode, problem_in
from tests.server.serving import command, served
from topicfold.client import Client, RetryRule
from topicfold.errors import BadSetting
from topicfold.server import run
from topicfold.server.auth.setup import Security
from topicfold.server.connections.spare_memory import CROWD, SpareMemory
from topicfold.server.run import listen, server_of
from topicfold.settings import Settings


def test_a_server_answers_and_stops_in_good_order(tmp_path: Path) -> None:
    with served(tmp_path / "log.db") as (process, url):
        with plain_http.client(base_url=url) as client:
            assert client.get("/livez").status_code == 200
            assert client.put("/api/v1/topics/public/default/orders").status_code == 201
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert '"stopped"' in process.stderr.read()
        assert process.wait(10) == 0


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_not_to_wait_cuts_off_who_has_not_said_all_and_calls_that_no_fault(
    tmp_path: Path, sent: signal.Signals
) -> None:
    with served(tmp_path / "log.db") as (process, url):
        await_ready(url)
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client:
            head = "PUT /api/v1/topics/public/default/orders HTTP/1.1", f"Host: 127.0.0.1:{port}", "Content-Length: 9"
            client.sendall("\r\n".join([*head, "", ""]).encode())
            assert plain_http.get(f"{url}/livez").status_code == 200
            process.send_signal(sent)
            assert process.stderr is not None
            with suppress(ConnectionRefusedError, ConnectionResetError):
                while True:
                    socket.create_connection(("127.0.0.1", port)).close()
            process.send_signal(sent)
            with suppress(ConnectionResetError):
                assert client.recv(1000) == b""
        assert '"error"' not in process.stderr.read()
        assert process.wait(10) == 0


def test_a_server_whose_terminal_is_closed_stops_in_good_order_too(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # were these tests begun with `nohup`, it would outlive it
    try:
        with served(tmp_path / "log.db") as (process, url):
            await_ready(url)
            process.send_signal(signal.SIGHUP)
            assert process.stderr is not None
            assert '"stopped"' in process.stderr.read()
            assert process.wait(10) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_server_that_is_to_outlive_its_terminal_does(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` does
    try:
        with served(tmp_path / "log.db", drain_seconds=300) as (process, url):
            await_ready(url)
            process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGTERM)  # the second one that counted would end the draining
            while plain_http.get(f"{url}/readyz").status_code == 200:
                pass
            assert plain_http.put(f"{url}/api/v1/topics/public/default/orders").status_code == 201
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_a_server_held_is_not_taken_apart_object_by_object_before_its_process_ends() -> None:
    program = """
import sys
from topicfold.server.run import serve
from topicfold.settings import Settings
class Held:
    def __del__(self):
        print("taken apart")
held = Held()
held.itself = held
sys.exit(serve(Settings(host="0.0.0.0")))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")


def await_ready(url: str) -> None:
    while plain_http.get(f"{url}/readyz").status_code != 200:
        pass


def test_a_server_that_is_to_drain_goes_on_not_ready_until_it_is_told_again(tmp_path: Path) -> None:
    with served(tmp_path / "log.db", drain_seconds=300) as (process, url):
        await_ready(url)
        process.send_signal(signal.SIGTERM)
        while (answer := plain_http.get(f"{url}/readyz")).status_code == 200:
            pass
        assert problem_in(answer.status_code, answer.headers, answer.content) == (503, "not_ready")
        assert "is being stopped" in answer.json()["reason"]
        report = plain_http.get(f"{url}/readyz?verbose").json()
        assert (report["ready"], report["partitions"]["0"]["ready"]) == (False, False)
        problems = plain_http.get(f"{url}/api/v1/doctor").json()["problems"]
        assert [problem["what"] for problem in problems] == ["this node is being stopped"]
        assert plain_http.put(f"{url}/api/v1/topics/public/default/orders").status_code == 201
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_a_server_has_drained_after_its_time(tmp_path: Path) -> None:
    with served(tmp_path / "log.db", drain_seconds=0.2) as (process, url):
        await_ready(url)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        lines = [json.loads(line) for line in process.stderr]
        assert [line["seconds"] for line in lines if line["event"] == "draining"] == [0.2]
        assert process.wait(10) == 0


def test_a_server_whose_announcement_cannot_be_written_serves_all_the_same(tmp_path: Path) -> None:
    arguments = command(port=0, log_file=str(tmp_path / "log.db"))
    with (
        Path("/dev/full").open("wb") as full,
        subprocess.Popen(arguments, stdout=full, stderr=subprocess.PIPE, text=True) as process,
    ):
        assert process.stderr is not None
        try:
            url = json.loads(next(line for line in process.stderr if '"serving"' in line))["url"]
            assert plain_http.get(f"{url}/livez").status_code == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        finally:
            process.kill()


def test_a_quiet_server_says_nothing_of_what_goes_well(tmp_path: Path) -> None:
    [port] = free_ports(1)
    arguments = [*command(port=port, log_file=str(tmp_path / "log.db")), "quiet"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        with Client(f"http://127.0.0.1:{port}", retry=RetryRule(max_attempts=100)) as client:
            client.create_topic("orders")
        process.send_signal(signal.SIGTERM)
        assert (process.communicate(timeout=30), process.returncode) == (("", ""), 0)


def test_a_server_fetches_keys_when_it_starts_and_serves_meanwhile_and_warns_where_there_are_none(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as site:
        site.settimeout(20)
        keys = f"http://127.0.0.1:{site.getsockname()[1]}/keys"
        with served(tmp_path / "log.db", auth_jwks_url=keys) as (process, url):
            with site.accept()[0]:
                assert plain_http.get(f"{url}/livez").status_code == 200
            assert process.stderr is not None
            assert any('"keys_not_fetched"' in line for line in process.stderr)


def test_a_server_stops_though_calls_of_its_topic_listing_never_come_back(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"topic_listing": "tests.server.plugins:Hanging", "request_timeout_seconds": 0.2}
    with served(tmp_path / "log.db", **settings) as (process, url):
        for number in range(3):
            listing = f"{url}/admin/v2/persistent/public/default?properties=hang={number}"
            assert plain_http.get(listing).json()["code"] == "listing_failed"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_a_server_speaks_tls_and_knows_its_clients_by_their_certificates(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = map(str, authority.sign("localhost", LOOPBACK))
    files = {"tls_cert_file": certificate, "tls_key_file": key, "tls_client_ca_file": str(authority.file)}
    with served(tmp_path / "log.db", **files, superusers="root") as (_, url):
        assert url.startswith("https://127.0.0.1:")
        for client, status in ((authority.sign("root"), 201), (authority.sign("mallory"), 403), (None, 401)):
            with httpx2.Client(base_url=url, verify=authority.trusting(client)) as http:
                assert http.put("/api/v1/topics/public/default/orders").status_code == status


def test_a_file_that_can_be_read_but_once_says_who_may_come_in(tmp_path: Path) -> None:
    pipe = tmp_path / "tokens"
    os.mkfifo(pipe)
    writing = Thread(target=pipe.write_text, args=("s3cret root\n",), daemon=True)
    writing.start()
    with served(tmp_path / "log.db", auth_static_tokens_file=str(pipe), superusers="root") as (_, url):
        answer = plain_http.get(f"{url}/admin/v2/tenants", headers={"Authorization": "Bearer s3cret"})
        assert answer.status_code == 200


async def test_a_server_that_takes_anothers_place_has_its_keys_whatever_is_in_their_file_by_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("s3cret root\n")
    given: list[Security] = []

    async def serve_once(settings: Settings, security: Security, *_: object) -> bool:
        tokens.write_text("# being edited")
        given.append(security)
        return len(given) < 2

    monkeypatch.setattr(run, "_serve_once", serve_once)
    await run._serve(Settings(port=0, auth_static_tokens_file=tokens), None)
    assert given[0].authenticator is not None
    assert given[0] is given[1]


async def test_a_server_that_stops_lets_the_longest_request_end(rest: RestNode) -> None:
    seconds = server_of(rest.node.engine, Settings(request_timeout_seconds=30)).config.timeout_graceful_shutdown
    assert seconds is not None
    assert seconds > 30


async def test_a_server_that_is_told_to_stop_does_so_though_another_was_to_take_its_place(rest: RestNode) -> None:
    server = server_of(rest.node.engine, Settings())
    server.starts_anew = True
    server.handle_exit(signal.SIGTERM, None)
    assert (server.should_exit, server.starts_anew) == (True, False)


async def test_a_server_that_drains_is_told_twice_more_before_it_cuts_answers_off(rest: RestNode) -> None:
    server = server_of(rest.node.engine, Settings(drain_seconds=300))
    told = []
    for _ in range(3):
        server.handle_exit(signal.SIGINT, None)
        told.append((await server.on_tick(1), server.force_exit))
    assert told == [(False, False), (True, False), (True, True)]


async def test_all_answers_say_when_they_were_made(rest: RestNode) -> None:
    server = server_of(rest.node.engine, Settings())
    await server.on_tick(0)
    ((name, value),) = server.server_state.default_headers
    assert name == b"date"
    # As HTTP has it, to the second: RFC 9110, 5.6.7.
    assert format_datetime(parsedate_to_datetime(value.decode()), usegmt=True).encode() == value


async def test_a_server_gives_memory_back_once_a_crowd_has_left_and_is_answered_no_more(
    rest: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[None] = []
    monkeypatch.setattr(run, "SpareMemory", lambda: SpareMemory(lambda: given.append(None)))
    server = server_of(rest.node.engine, Settings())
    state: Any = server.server_state
    crowd, counts = range(CROWD), []
    for connections, tasks in ((crowd, crowd), ((), crowd), ((), crowd), ((), ()), ((), ())):
        state.connections, state.tasks = set(connections), set(tasks)
        await server.on_tick(0)
        counts.append(len(given))
    assert counts == [0, 0, 0, 0, 1]


async def test_a_server_says_when_it_starts_that_it_lets_anybody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve_once(*_: object) -> bool:
        return False

    monkeypatch.setattr(run, "_serve_once", serve_once)
    with structlog.testing.capture_logs() as told:
        await run._serve(Settings(host="0.0.0.0", port=0, insecure=True), None)
    assert "insecure" in [each["event"] for each in told]


async def test_an_engine_whose_place_another_takes_is_gone_before(monkeypatch: pytest.MonkeyPatch) -> None:
    class Engine:
        def __init__(self) -> None:
            self.part = self.__str__

    engines: list[weakref.ref[Engine]] = []
    left: list[Engine | None] = []

    async def serve_once(*_: object) -> bool:
        left.extend(engine() for engine in engines)
        engines.append(weakref.ref(Engine()))
        return not left

    monkeypatch.setattr(run, "_serve_once", serve_once)
    gc.disable()
    try:
        await run._serve(Settings(port=0), None)
    finally:
        gc.enable()
    assert left == [None]


def test_a_server_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    for status in (201, 409):
        with served(tmp_path / "log.db") as (_, url):
            assert plain_http.put(f"{url}/api/v1/topics/public/default/orders").status_code == status


@pytest.mark.parametrize(
    ("settings", "code", "reason"),
    [
        ({"host": "0.0.0.0"}, 2, "loopback"),
        ({"host": "192.0.2.1"}, 2, "loopback"),
        ({"host": "x" * 64, "insecure": True}, 2, "cannot be listened on"),
        ({"auth_jwt_key_file": "/dev/null"}, 2, "auth_jwt_key_file /dev/null: contains no supported public key"),
        ({"auth_static_tokens_file": "/nowhere/tokens"}, 2, "auth_static_tokens_file"),
        ({"auth_jwks_url": "http://192.0.2.1/keys"}, 2, "https"),
        ({"tls_cert_file": "/nowhere/cert"}, 2, "tls_cert_file"),
        ({"log_file": "/dev/null/log.db"}, 2, ""),
        ({"log_file": "/dev/null/\x1b[2J\nerror: another"}, 2, r"/dev/null/\x1b[2J\nerror: another"),
        ({"kafka_bootstrap": "127.0.0.1:1"}, 6, ""),
        ({"kafka_bootstrap": "127.0.0.1:1", "kafka_settings": {"acks": "0"}}, 2, "acks"),
    ],
)
def test_what_keeps_a_server_from_starting_is_said_in_one_line(
    settings: dict[str, object], code: int, reason: str
) -> None:
    run = subprocess.run(command(port=0, **settings), capture_output=True, text=True, timeout=60, check=False)
    said = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
    assert (run.returncode, len(said)) == (code, 1), run.stderr
    assert reason in said[0]
    waits = '{"log": "topic __change_events at 127.0.0.1:1", "event": "waiting_for_log"'
    assert (waits in run.stderr) is (code == 6)
    assert "Traceback" not in run.stderr


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.db").write_text("not a log, and long enough to have a header of its own" * 40)
    run = subprocess.run(
        command(port=0, log_file=str(tmp_path / "log.db")), capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 1
    assert re.match(r"error: .*log\.db", run.stderr), run.stderr


def test_a_port_that_is_taken_is_refused_with_a_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(BadSetting, match="in use") as caught:
        listen(Settings(port=taken.getsockname()[1]))
    assert "--port" in caught.value.hint


def test_an_address_of_another_machine_is_not_taken_for_a_port_that_is_taken() -> None:
    with pytest.raises(BadSetting, match="cannot be listened on") as caught:
        listen(Settings(host="203.0.113.7", port=0, insecure=True))
    assert "--host" in caught.value.hint


def test_a_port_that_only_some_may_take_is_not_taken_for_one_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(BadSetting, match="Permission denied") as caught:
        listen(Settings(port=80))
    assert "CAP_NET_BIND_SERVICE" in caught.value.hint


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.5"])
def test_loopback_is_listened_on(host: str) -> None:
    with listen(Settings(host=host, port=0)) as listener:
        assert listener.getsockname()[0].startswith(("127.", "::1"))


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "10.1.2.3", "example.org", "127.0.0.1.example.org"])
def test_nothing_but_loopback_is_listened_on(host: str) -> None:
    with pytest.raises(BadSetting, match="loopback"):
        listen(Settings(host=host, port=0))
