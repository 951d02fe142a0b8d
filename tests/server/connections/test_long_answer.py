"""Answers that are made while they are sent: as fast as the client reads, not for ever, and never whole by mistake."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from starlette.types import Message
from structlog.testing import capture_logs
from uvicorn.protocols.http.flow_control import FlowControl

from topicfold.errors import LogUnavailable
from topicfold.log.payload import decode_indexed
from topicfold.runtime.cut import Cuts
from topicfold.server.connections.long_answer import LongAnswer
from topicfold.server.connections.stream import Line, note_line
from topicfold.state.topic_table import TopicTable


class Wire:
    """A connection whose client reads until `reads` parts have come, and then no more."""

    def __init__(self, reads: int = 1000, *, is_gone: bool = False) -> None:
        self.sent: list[bytes] = []
        self.is_aborted = False
        self.knows_of_abort = False
        self.ended = 0
        self.cuts = [Cuts().open("a/b", TopicTable(decode_indexed), ())]
        self._reads = reads
        self._is_gone = is_gone

    async def answer(self, parts: AsyncIterator[bytes], seconds: float = 5.0) -> None:
        """Send an answer over it."""
        scope: dict[str, Any] = {"type": "http", "path": "/", "headers": []}
        transport = cast("asyncio.Transport", self)
        note_line(scope, Line(transport, FlowControl(transport)))
        await LongAnswer(parts, {}, self.cuts, self._on_end, seconds)(scope, self._receive, self._send)

    def abort(self) -> None:
        """As a transport has it: the protocol is told in the loop's next turn."""
        self.is_aborted = True
        asyncio.get_running_loop().call_soon(setattr, self, "knows_of_abort", True)

    def _on_end(self) -> None:
        self.ended += 1

    async def _receive(self) -> Message:
        if not self._is_gone:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if len(self.sent) == self._reads:
            await asyncio.Event().wait()
        self.sent.append(message.get("body", b"start"))


async def parts(*texts: bytes, then: Exception | None = None) -> AsyncIterator[bytes]:
    """Yield `texts`, and raise."""
    for text in texts:
        yield text
    if then is not None:
        raise then


async def test_a_client_that_reads_has_it_whole() -> None:
    wire = Wire()
    await wire.answer(parts(b"a", b"b"))
    assert wire.sent == [b"start", b"a", b"b", b""]
    assert (wire.is_aborted, wire.ended) == (False, 1)


async def test_no_part_is_made_before_the_one_before_was_sent() -> None:
    made: list[bytes] = []

    async def noted() -> AsyncIterator[bytes]:
        for text in (b"a", b"b", b"c"):
            made.append(text)
            yield text

    wire = Wire(reads=2)
    await wire.answer(noted(), 0.05)
    assert made == [b"a", b"b"]


async def test_a_client_that_reads_too_slowly_is_cut_off() -> None:
    wire = Wire(reads=2)
    await wire.answer(parts(b"a", b"b", b"c"), 0.05)
    assert wire.sent == [b"start", b"a"]
    assert (wire.is_aborted, wire.ended) == (True, 1)


async def test_an_error_on_the_way_cuts_it_off() -> None:
    wire = Wire()
    await wire.answer(parts(b"a", then=LogUnavailable("away")))
    assert wire.sent == [b"start", b"a"]
    assert (wire.is_aborted, wire.ended) == (True, 1)


@pytest.mark.parametrize(
    ("reads", "then", "reason"),
    [(2, None, "not sent whole in 0.05 s"), (1000, LogUnavailable("away"), "away")],
    ids=["not read", "failed"],
)
async def test_the_log_says_which_answer_was_cut_and_why(reads: int, then: Exception | None, reason: str) -> None:
    with capture_logs() as lines:
        await Wire(reads).answer(parts(b"a", b"b", then=then), 0.05)
    assert [(line["event"], line["path"], line["reason"]) for line in lines] == [("answer_cut", "/", reason)]


async def test_others_have_their_turn_while_it_is_made() -> None:
    wire = Wire()

    async def other() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
            wire.sent.append(b"other")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(wire.answer(parts(b"a", b"b", b"c")))
        tasks.create_task(other())
    assert b"other" in wire.sent[: wire.sent.index(b"b")]


async def test_the_connection_knows_that_it_is_cut_before_the_answer_is_over() -> None:
    """Else the server's own log says that the application ended without an answer."""
    wire = Wire()
    await wire.answer(parts(b"a", then=LogUnavailable("away")))
    assert wire.knows_of_abort


async def test_nothing_more_is_made_for_a_client_that_is_gone() -> None:
    wire = Wire(is_gone=True)
    await wire.answer(parts(b"a", b"b"))
    assert (wire.sent, wire.ended) == ([b"start"], 1)


@pytest.mark.parametrize(
    ("wire", "then"),
    [(Wire(), None), (Wire(is_gone=True), None), (Wire(reads=2), None), (Wire(), LogUnavailable("away"))],
    ids=["whole", "gone", "not read", "failed"],
)
async def test_what_it_was_made_of_is_kept_no_longer(wire: Wire, then: Exception | None) -> None:
    await wire.answer(parts(b"a", b"b", then=then), 0.05)
    assert not any(cut._past.cuts for cut in wire.cuts)


@pytest.mark.parametrize("texts", [(), (b"",)])
async def test_an_empty_body_is_whole_too(texts: tuple[bytes, ...]) -> None:
    wire = Wire()
    await wire.answer(parts(*texts))
    assert b"".join(wire.sent) == b"start"
    assert not wire.is_aborted
