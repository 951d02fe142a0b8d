"""A server that plays scripts: a real socket that answers each request with the next script's bytes, and cuts them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from topicfold.client.frames import Added, Bookmark, Frame
from topicfold.wire.confirmation import query_text

CONFIRMED = query_text(["public/default"])


@dataclass(frozen=True)
class Script:
    """Bytes that are sent one piece at a time; then the connection is cut, or left open for as long as there is one."""

    pieces: tuple[bytes, ...]
    stays_open: bool = False


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]


def line(kind: str, cursor: str = "", **members: Any) -> bytes:
    """Return a frame as it travels."""
    return json.dumps({"type": kind, **({"cursor": cursor} if cursor else {}), **members}).encode() + b"\n"


def topic(name: str, **labels: str) -> dict[str, Any]:
    """Return a topic as frames have it."""
    return {"name": f"persistent://public/default/{name}", "labels": labels, "version": "v1", "partitions": 0}


def added(name: str, cursor: str = "", **labels: str) -> bytes:
    """Return the frame that tells of a topic: of the start state without a cursor."""
    return line("ADDED", cursor, topic=topic(name, **labels), **({"actors": ["ana"]} if cursor else {}))


def stream(*lines: bytes, confirmed: str | None = CONFIRMED, ends: bool = False, stays_open: bool = False) -> Script:
    """Return a watch that sends these lines, each in a chunk; `ends` politely, or is cut behind the last one."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n"
    head += "" if confirmed is None else f"X-Topicfold-Query: {confirmed}\r\n"
    chunks = (b"%x\r\n%b\r\n" % (len(each), each) for each in lines)
    return Script((f"{head}\r\n".encode(), *chunks, *([b"0\r\n\r\n"] if ends else [])), stays_open)


def refusal(status: int, code: str, **headers: str) -> Script:
    """Return an answer that is a problem document."""
    body = json.dumps({"code": code, "detail": "because", "status": status}).encode()
    extra = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = (
        f"HTTP/1.1 {status} No\r\nContent-Type: application/problem+json\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    )
    return Script((head.encode() + body,))


class ScriptedServer:
    """Plays `scripts` in turn, one a connection; when they have run out it answers nothing and stays open."""

    def __init__(self, scripts: Iterable[Script]) -> None:
        self.requests: list[Asked] = []
        self._scripts = iter(scripts)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, name="scripted")
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def start(self) -> None:
        """Serve until `end`."""
        self._thread.start()

    def end(self) -> None:
        """Cut everything."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        for each in (self._listener, *self._open):
            each.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                self._play(self._listener.accept()[0])

    def _play(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked = b""
        while b"\r\n\r\n" not in asked:
            asked += connection.recv(65536)
        self.requests.append(_request(asked.decode()))
        script = next(self._scripts, Script((), stays_open=True))
        with suppress(OSError):
            for piece in script.pieces:
                connection.sendall(piece)
        if script.stays_open:
            self._open.append(connection)
        else:
            connection.close()


def _request(text: str) -> Asked:
    first, *rest = text.split("\r\n\r\n")[0].split("\r\n")
    target = urlsplit(first.split(" ")[1])
    headers = {name.lower(): value for name, value in (each.split(": ", 1) for each in rest)}
    return Asked(target.path, parse_qs(target.query, keep_blank_values=True), headers)


@contextmanager
def scripted(*scripts: Script) -> Iterator[ScriptedServer]:
    """Serve these scripts."""
    server = ScriptedServer(scripts)
    server.start()
    try:
        yield server
    finally:
        server.end()


def names(frames: Sequence[Frame]) -> list[str]:
    """Return what frames tell, one short word each."""
    return [_word(frame) for frame in frames]


def _word(frame: Frame) -> str:
    match frame:
        case Added(topic=each):
            return each.name.rpartition("/")[2]
        case Bookmark(is_initial=is_initial):
            return "complete" if is_initial else "bookmark"
        case _:
            return type(frame).__name__.lower()
