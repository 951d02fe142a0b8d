"""One client in several event loops, threads and processes: none of them has another's connections."""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from topicfold.client import AsyncClient, Client


class _TellingPort(BaseHTTPRequestHandler):
    """Answers with the port of the client's connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f'["{self.client_address[1]}"]'.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def telling_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _TellingPort) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def forgiving_loops_that_leave_connections() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()


@pytest.mark.usefixtures("forgiving_loops_that_leave_connections")
def test_event_loops_one_after_another_share_a_client_and_no_connection(telling_url: str) -> None:
    client = AsyncClient(telling_url)

    async def ask() -> set[str]:
        return {*await client.list_tenants(), *await client.list_tenants()}

    ports = [asyncio.run(ask()) for _ in range(3)]
    asyncio.run(client.close())
    with pytest.raises(RuntimeError, match="closed"):
        asyncio.run(ask())
    assert [len(each) for each in ports] == [1, 1, 1]
    assert len(set.union(*ports)) == 3


@pytest.mark.usefixtures("forgiving_loops_that_leave_connections")
def test_event_loops_of_several_threads_share_a_client(telling_url: str) -> None:
    client = AsyncClient(telling_url)

    async def ask() -> set[str]:
        return {port for _ in range(50) for port in await client.list_tenants()}

    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(asyncio.run, ask()) for _ in range(4)]
        assert [len(each.result()) for each in asked] == [1, 1, 1, 1]


def test_what_cannot_be_handed_to_another_process_says_why() -> None:
    with Client() as client, pytest.raises(TypeError, match="Client holds connections"):
        pickle.dumps(client.topics())
    with pytest.raises(TypeError, match="AsyncClient holds connections"):
        copy.copy(AsyncClient())


_FORKED = """
import os, sys, time
from concurrent.futures import ThreadPoolExecutor
import httpx2
from topicfold.client import Client
opened = httpx2.Client
def open_slowly(**options):
    time.sleep(0.2)
    return opened(**options)
client = Client(sys.argv[1])
print(*client.list_tenants(), *client.list_tenants(), flush=True)
if os.fork() == 0:
    httpx2.Client = open_slowly
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(client.list_tenants) for _ in range(8)]
    print(*[port for each in asked for port in each.result()], flush=True)
    os._exit(0)
os.wait()
print(*client.list_tenants())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_process_that_was_forked_shares_no_connection_with_its_parent(telling_url: str) -> None:
    ran = subprocess.run([sys.executable, "-c", _FORKED, telling_url], capture_output=True, text=True, check=True)
    first, second, *childs, third = ran.stdout.split()
    assert first == second == third
    assert len(childs) == 8
    assert first not in childs


_ALONE = """
import os, signal, sys, threading
from topicfold.client import Client
from topicfold.client.transport import sending
client, covering = Client(sys.argv[1]), sending.covering
is_within, may_leave = threading.Event(), threading.Event()
def covering_slowly(*positions):
    is_within.set()
    may_leave.wait()
    return covering(*positions)
sending.covering = covering_slowly
asking = threading.Thread(target=client.list_tenants)
asking.start()
is_within.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    sending.covering = covering
    client.list_tenants()
    client.close()
    os._exit(0)
status = os.waitpid(child, 0)[1]
may_leave.set()
asking.join()
sys.exit(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_process_that_was_forked_waits_for_no_thread_that_only_its_parent_has(telling_url: str) -> None:
    assert subprocess.run([sys.executable, "-c", _ALONE, telling_url], check=False).returncode == 0
