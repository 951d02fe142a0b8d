"""What a watch makes of the streams it gets: driven by hand, against a log that resumes as a server does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.scripted import CONFIRMED, added, line, names, topic
from topicfold.client.call import Answer, Query
from topicfold.client.errors import QueryUnconfirmed, ServerUnreachable, UnexpectedAnswer
from topicfold.client.find_calls import Asked
from topicfold.client.frames import Frame, Modified, Reset
from topicfold.client.transport.conversation import Pause, RetryRule
from topicfold.client.transport.silence import HUNG_UP, NoAnswer, Server
from topicfold.client.watching import Event, Interrupted, Open, Read, Watching, WatchQuery
from topicfold.errors import Forbidden, NewerSchema, Overloaded, Resync, TopicfoldError, Unauthenticated

Stream = Sequence[bytes | NoAnswer | Interrupted] | Answer | NoAnswer | Interrupted

NDJSON = {"content-type": "application/x-ndjson", "x-topicfold-query": CONFIRMED}
CUT = NoAnswer("connection reset", was_sent=True)
START = (added("a"), added("b"), line("BOOKMARK", "c0", initial=True))
CHANGES = tuple(added(f"t{number}", f"c{number}") for number in range(1, 6))


class Play:
    """A watch that gets these streams in turn; keeps what it asked for, its pauses and its frames."""

    def __init__(
        self,
        *streams: Stream,
        since: str = "",
        initial: bool = True,
        max_attempts: int = 3,
        others: tuple[str, ...] = (),
    ) -> None:
        self.urls: list[str] = []
        self.asked: list[Query] = []
        self.pauses: list[float] = []
        self.frames: list[Frame] = []
        asked = Asked.of("public/default", None, None, None, None)
        server = Server("http://h", others=others)
        self.watching = Watching(WatchQuery(asked, since, initial), server, RetryRule(max_attempts))
        self._streams = iter(streams)
        self._reading: Iterator[bytes | NoAnswer | Interrupted] = iter(())

    def run(self) -> list[Frame]:
        """Follow until there are no more streams."""
        steps, event = self.watching.steps(), None
        while True:
            step = steps.send(event)
            event = None
            match step:
                case Open(query, url):
                    stream = next(self._streams, None)
                    if stream is None:
                        return self.frames
                    self.asked.append(query)
                    self.urls.append(url)
                    event = self._opened(stream)
                case Read():
                    event = next(self._reading, b"")
                case Pause(seconds):
                    self.pauses.append(seconds)
                case _:
                    self.frames.append(step)

    def _opened(self, stream: Stream) -> Event:
        if isinstance(stream, (Answer, NoAnswer, Interrupted)):
            return stream
        self._reading = iter(stream)
        return Answer(200, NDJSON, None)

    @property
    def since(self) -> list[str | None]:
        return [dict(query).get("since") for query in self.asked]


def problem(status: int, code: str, **headers: str) -> Answer:
    return Answer(status, headers, {"code": code, "detail": "because"})


def test_a_stream_that_breaks_off_is_gone_on_with_on_the_next_node_and_one_that_ends_on_the_same() -> None:
    play = Play([*START, CUT], [CHANGES[0]], [CHANGES[1], CUT], [], others=("http://i",))
    play.run()
    assert play.urls == ["http://h", "http://i", "http://i", "http://h"]


def test_a_watch_begins_with_the_start_state_and_resumes_behind_the_last_frame() -> None:
    play = Play([*START, CHANGES[0], CUT], [*CHANGES[1:3]], [line("BOOKMARK", "c9")], [])
    assert names(play.run()) == ["a", "b", "complete", "t1", "t2", "t3", "bookmark"]
    assert play.since == [None, "c1", "c3", "c9"]
    assert [dict(query)["initial"] for query in play.asked] == ["true", "false", "false", "false"]
    assert {dict(query)["namespace"] for query in play.asked} == {"public/default"}


def test_without_a_start_state_none_is_asked_for_nor_told() -> None:
    play = Play([line("BOOKMARK", "c0", initial=True), CHANGES[0]], initial=False)
    assert names(play.run()) == ["bookmark", "t1"]
    assert dict(play.asked[0])["initial"] == "false"


class Resuming(Play):
    """A server that resumes; it cuts stream after stream behind so many bytes, and sends `size` of them at a time."""

    def __init__(self, cuts: Sequence[int], size: int) -> None:
        super().__init__(*[[]] * (len(cuts) + 1), max_attempts=100)
        self._cuts = iter(cuts)
        self._size = size

    def _opened(self, _: Stream) -> Event:
        since = self.since[-1]
        lines = (*START, *CHANGES) if since in (None, "-") else CHANGES[int(since[1:]) :]
        data = b"".join(lines)[: next(self._cuts, None)]
        return super()._opened([*(data[at : at + self._size] for at in range(0, len(data), self._size)), CUT])


@given(st.lists(st.integers(0, 700), max_size=12), st.integers(1, 200))
def test_wherever_streams_are_cut_everything_is_told_once_and_in_order(cuts: list[int], size: int) -> None:
    told = " ".join(names(Resuming(cuts, size).run()))
    *cut_short, last = (each.split() for each in told.split("reset"))
    assert last == ["a", "b", "complete", "t1", "t2", "t3", "t4", "t5"]
    assert all(start in (["a"], ["a", "b"]) for start in cut_short)


def test_a_start_state_that_is_cut_is_told_again_behind_a_reset() -> None:
    play = Play([added("a"), CUT], CUT, [*START])
    assert names(play.run()) == ["a", "reset", "a", "b", "complete"]
    assert play.since == [None, "-", "-"]


def test_who_is_cut_off_in_every_start_state_asks_after_growing_pauses_until_one_is_complete(
    caplog: pytest.LogCaptureFixture,
) -> None:
    play = Play(*[[START[0], CUT]] * 9, [*START, CUT], [*CHANGES, CUT])
    play.run()
    assert all(1.0 <= pause <= 2.0 for pause in play.pauses[6:9])
    assert all(pause <= 0.1 for pause in play.pauses[9:])
    assert "trying again" in caplog.records[0].message
    assert [record.message for record in caplog.records[1:]] == ["http://h answers again"]


def test_a_cursor_that_is_too_old_begins_anew_behind_a_reset() -> None:
    play = Play(problem(410, "gone"), [*START], since="c0", initial=False)
    assert names(play.run()) == ["reset", "a", "b", "complete"]
    assert play.since == ["c0", "-"]


def test_a_reset_of_the_servers_is_told_once_and_what_was_before_is_not_resumed() -> None:
    play = Play([*START, line("RESET", reason="too far behind"), CUT], [*START])
    assert names(play.run()) == ["a", "b", "complete", "reset", "a", "b", "complete"]
    assert play.since == [None, "-"]


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        ([line("RESET", reason="too far behind"), CUT], "too far behind"),
        ([line("ERROR", problem={"code": "gone", "status": 410})], "the changes since then are no longer known"),
    ],
)
def test_a_reset_that_answers_who_begins_anew_is_not_told_beside_its_reason(
    ends: Sequence[bytes | NoAnswer], reason: str
) -> None:
    again = line("RESET", reason="what followed a reset was cut off")
    play = Play([*START, *ends], [again, CUT], [again, *START])
    assert names(play.run()) == ["a", "b", "complete", "reset", "a", "b", "complete"]
    assert play.frames[3] == Reset(reason)


def test_a_reset_of_the_servers_is_told_in_a_watch_that_began_anew_before() -> None:
    play = Play(problem(410, "gone"), [*START, line("RESET", reason="too far behind"), *START], since="c0")
    assert names(play.run()) == ["reset", "a", "b", "complete", "reset", "a", "b", "complete"]


def test_a_reset_within_the_start_state_of_a_watch_that_begins_anew_is_told() -> None:
    play = Play(problem(410, "gone"), [added("a"), line("RESET", reason="too far behind"), *START[1:]], since="c0")
    assert names(play.run()) == ["reset", "a", "reset", "b", "complete"]


def test_who_goes_on_from_a_cursor_is_told_no_start_state_though_one_is_asked_for() -> None:
    play = Play([CHANGES[0], CUT], [CHANGES[1]], since="c0")
    assert names(play.run()) == ["t1", "t2"]
    assert play.since == ["c0", "c1"]


def test_no_cursor_and_yet_gone_is_an_error_rather_than_a_loop() -> None:
    with pytest.raises(Resync):
        Play(problem(410, "gone"), [*START]).run()


def test_gone_in_the_middle_of_a_start_state_has_it_told_again() -> None:
    gone = line("ERROR", problem={"code": "gone", "status": 410, "detail": "other rights"})
    play = Play([added("a"), gone], [gone], [*START])
    assert names(play.run()) == ["a", "reset", "a", "b", "complete"]
    assert play.since == [None, "-", "-"]


def test_an_error_in_the_stream_is_healed_by_trying_again_or_raised() -> None:
    busy, gone, expired = (
        line("ERROR", problem={"code": code, "status": status, "detail": "because"})
        for code, status in (("overloaded", 503), ("gone", 410), ("unauthenticated", 401))
    )
    play = Play([*START, busy], [gone], [*START, expired], problem(401, "unauthenticated"))
    with pytest.raises(Unauthenticated):
        play.run()
    assert play.since == [None, "c0", "-", "c0"]
    assert names(play.frames) == ["a", "b", "complete", "reset", "a", "b", "complete"]


def test_who_is_let_in_again_after_a_token_has_expired_goes_on() -> None:
    expired = line("ERROR", problem={"code": "unauthenticated", "status": 401, "detail": "because"})
    play = Play([*START, CHANGES[0], expired], [CHANGES[1]])
    assert names(play.run()) == ["a", "b", "complete", "t1", "t2"]
    assert play.since[1] == "c1"


@pytest.mark.parametrize(
    ("refused", "error"),
    [
        (problem(403, "forbidden"), Forbidden),
        (problem(500, "error"), TopicfoldError),
        (problem(503, "newer_schema"), NewerSchema),
    ],
)
def test_a_refusal_is_raised_and_not_asked_for_again(refused: Answer, error: type[TopicfoldError]) -> None:
    play = Play([*START], refused, [*START])
    with pytest.raises(error):
        play.run()
    assert len(play.asked) == 2


def test_no_server_at_all_is_an_error_after_as_many_attempts_as_for_a_call() -> None:
    with pytest.raises(ServerUnreachable):
        Play(CUT, CUT, CUT).run()


def test_streams_that_end_before_they_begin_are_an_error_too() -> None:
    with pytest.raises(ServerUnreachable):
        Play([], [], []).run()


SILENCE = NoAnswer("timed out after 45 s", was_sent=True, timed_out=True)


@pytest.mark.parametrize(
    "streams",
    [[SILENCE], [[SILENCE]], [[added("a"), SILENCE]], [[added("a"), CUT], [b"\n", SILENCE]]],
    ids=["no answer", "no frame", "half a start state", "half of another"],
)
def test_a_start_state_that_is_held_back_is_waited_for_once_and_said_to_be(streams: Sequence[Stream]) -> None:
    with pytest.raises(ServerUnreachable, match="timed out after 45 s") as unreachable:
        Play(*streams, [*START]).run()
    assert "A proxy that buffers holds a watch's answer back" in unreachable.value.hint


def test_a_host_that_cannot_be_connected_to_in_time_is_tried_again_and_no_proxy_is_blamed() -> None:
    unheard = NoAnswer("timed out after 5 s", was_sent=False, timed_out=True)
    with pytest.raises(ServerUnreachable) as unreachable:
        Play(*[unheard] * 3).run()
    assert "proxy" not in unreachable.value.hint
    assert names(Play(unheard, unheard, [*START]).run()) == ["a", "b", "complete"]


def test_once_the_start_state_is_complete_silence_ends_no_watch() -> None:
    play = Play([*START, SILENCE], SILENCE, problem(410, "gone"), [added("a"), SILENCE], [*START])
    assert names(play.run()) == ["a", "b", "complete", "reset", "a", "reset", "a", "b", "complete"]


@pytest.mark.parametrize("wait", [Interrupted(), [Interrupted()]], ids=["for an answer", "for a frame"])
def test_waits_that_are_given_up_do_not_count_as_a_server_that_is_away(
    wait: Stream, caplog: pytest.LogCaptureFixture
) -> None:
    play = Play(*[wait] * 9, [*CHANGES], since="c0")
    assert names(play.run()) == ["t1", "t2", "t3", "t4", "t5"]
    assert play.since == ["c0"] * 10
    assert play.pauses[:9] == [0.0] * 9
    assert not caplog.records


def test_once_it_has_begun_a_watch_outlasts_any_outage_with_growing_pauses() -> None:
    play = Play([*START, CUT], *[CUT] * 1100, problem(504, "future"), [*CHANGES])
    assert len(play.run()) == 8
    assert play.pauses[0] <= 0.1
    assert all(1.0 <= pause <= 2.0 for pause in play.pauses[10:-1])


def test_a_server_that_is_full_is_asked_again_when_it_says() -> None:
    play = Play(problem(429, "overloaded", **{"retry-after": "7"}), [*START])
    play.run()
    assert play.pauses[0] == 7.0
    with pytest.raises(Overloaded):
        Play(*[problem(429, "overloaded")] * 3).run()


def test_what_is_sent_again_behind_its_own_cursor_is_not_told_again() -> None:
    play = Play([*START, CHANGES[0], CUT], [CHANGES[0], CHANGES[1]])
    assert names(play.run()) == ["a", "b", "complete", "t1", "t2"]


def test_only_a_stranger_that_hangs_up_may_speak_tls() -> None:
    closed = NoAnswer(HUNG_UP, was_sent=True)
    for streams, hint in ([closed] * 3, "may speak TLS; try https://h"), ([[], closed, closed], "that the server runs"):
        with pytest.raises(ServerUnreachable) as unreachable:
            Play(*streams).run()
        assert hint in unreachable.value.hint


def test_empty_lines_tell_nothing_but_that_the_server_is_there() -> None:
    play = Play(*[[b"\n", CUT]] * 6, [b"\n", *START])
    assert names(play.run()) == ["a", "b", "complete"]


AWAY, BACK = "no answer from http://h: refused; trying again", "http://h answers again"
AWAY_IN_START = "no answer from http://h: connection reset; trying again"
AWAY_IN_SILENCE = "no answer from http://h: timed out after 45 s; trying again"


@pytest.mark.parametrize(
    ("failures", "ends", "warned"),
    [
        (2, [[b"\n"]], []),
        (9, [], [AWAY]),
        (9, [[CHANGES[0]], [b"\n"]], [AWAY, BACK]),
        (9, [problem(503, "overloaded")], [AWAY]),
        (9, [[CUT], [b"\n"]], [AWAY, BACK]),
    ],
    ids=["a moment", "for good", "for a while", "and then refuses", "and then cuts"],
)
def test_of_a_server_that_stays_away_it_is_told_once_and_once_that_it_is_back(
    failures: int, ends: Sequence[Stream], warned: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    play = Play([*START, CUT], *[NoAnswer("refused", was_sent=False)] * failures, *ends)
    play.run()
    assert [record.message for record in caplog.records] == warned


def test_of_a_server_that_was_waited_for_in_vain_it_is_told_at_once_and_not_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Play([*START, SILENCE], SILENCE, [*CHANGES]).run()
    assert [record.message for record in caplog.records] == [AWAY_IN_SILENCE, BACK]


@pytest.mark.parametrize(
    ("ends", "warned"),
    [([[*START]], [AWAY_IN_START, BACK]), ([[b"\n", START[0], CUT]] * 9, [AWAY_IN_START])],
    ids=["and then is complete", "again and again"],
)
def test_who_is_cut_off_in_every_start_state_is_told_of_an_answer_once_one_is_complete(
    ends: Sequence[Stream], warned: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    Play(*[[START[0], CUT]] * 5, *ends).run()
    assert [record.message for record in caplog.records] == warned


@pytest.mark.parametrize(
    ("streams", "when"),
    [([[*START], *[[]] * 9], "it begins"), ([[START[0]]] * 9, "the initial topics are complete")],
)
def test_streams_that_end_politely_too_early_again_and_again_are_told_of_too(
    streams: Sequence[Stream], when: str, caplog: pytest.LogCaptureFixture
) -> None:
    Play(*streams).run()
    said = f"no answer from http://h: it ends the stream before {when}; trying again"
    assert [record.message for record in caplog.records] == [said]


def test_of_streams_that_are_silent_once_open_no_answer_is_told_before_one_speaks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Play([*START, SILENCE], [SILENCE], [SILENCE]).run()
    assert [record.message for record in caplog.records] == [AWAY_IN_SILENCE]
    Play([*START, SILENCE], [SILENCE], [b"\n"]).run()
    assert [record.message for record in caplog.records[1:]] == [AWAY_IN_SILENCE, BACK]


def test_a_server_that_opens_streams_only_to_refuse_them_is_asked_as_one_that_refuses_at_once() -> None:
    busy = line("ERROR", problem={"code": "overloaded", "status": 503, "detail": "because"})
    play = Play(*[[busy]] * 3)
    with pytest.raises(Overloaded):
        play.run()
    assert play.pauses[1] > play.pauses[0]


@pytest.mark.parametrize(
    "garbage",
    [
        b"<html>\n", b"[1]\n", b"\xff\n", b'{"type":"ADDED"}\n', b'{"type":"MOVED","cursor":"c"}\n',
        b"[" * 99_999 + b"\n", line("ADDED", topic=topic("x")), b"x" * (2 << 20),
        line("ADDED", "c", topic=topic("x") | {"labels": {"team": 1}}),
        line("ADDED", "c", topic=topic("x"), actors=[1]),
        line("MODIFIED", "c", topic=topic("x"), old={"labels": [["team", "pay"]]}),
    ],
    ids=["page", "no object", "no UTF-8", "no topic", "of another type", "deep", "no cursor", "endless",
         "other labels", "other actors", "other old labels"],
)  # fmt: skip
def test_what_is_no_frame_is_an_error_behind_the_frames_before_it(garbage: bytes) -> None:
    play = Play([b"".join(START) + garbage], [*CHANGES])
    with pytest.raises(UnexpectedAnswer):
        play.run()
    assert len(play.frames) == 3


def test_who_meets_a_frame_of_a_newer_server_is_told_to_upgrade() -> None:
    with pytest.raises(UnexpectedAnswer) as unexpected:
        Play([b"".join(START) + line("MOVED", "c1")]).run()
    assert (
        unexpected.value.reason
        == "http://h sends a watch something that this client does not know: a frame of type 'MOVED'"
    )
    assert unexpected.value.hint == "Upgrade the client to the server's version."


@pytest.mark.parametrize("said", [None, "{}", "garbage", CONFIRMED.replace('""', '"tier=gold"')])
def test_a_server_that_does_not_confirm_the_query_is_not_listened_to(said: str | None) -> None:
    headers = {"content-type": "application/x-ndjson", **({} if said is None else {"x-topicfold-query": said})}
    play = Play(Answer(200, headers, None))
    with pytest.raises(QueryUnconfirmed) as unconfirmed:
        play.run()
    assert unconfirmed.value.values["confirmed"] == said


def test_a_page_instead_of_frames_is_told_from_topicfold() -> None:
    with pytest.raises(UnexpectedAnswer, match="text/html"):
        Play(Answer(200, {**NDJSON, "content-type": "text/html; charset=utf-8"}, None)).run()


def test_changes_carry_old_labels_and_actors() -> None:
    changed: dict[str, Any] = {
        "topic": topic("a", tier="gold"),
        "old": {"labels": {"tier": "silver"}},
        "actors": ["ana"],
        "time": "2026-01-02T03:04:05.678Z",
    }
    (frame,) = Play([line("MODIFIED", "c1", **changed)], since="c0").run()
    assert isinstance(frame, Modified)
    assert (frame.topic.labels, frame.old_labels, frame.actors) == ({"tier": "gold"}, {"tier": "silver"}, ("ana",))
    assert frame.time == "2026-01-02T03:04:05.678Z"


def test_a_cursor_to_go_on_from_is_there_once_the_start_state_is_complete() -> None:
    cut_short, complete = Play([*START[:2]]), Play([*START])
    cut_short.run()
    complete.run()
    assert (cut_short.watching.cursor, complete.watching.cursor) == ("", "c0")


def test_a_reset_has_a_reason() -> None:
    frame = Play([line("RESET", reason="too far behind")], since="c0").run()[0]
    assert frame == Reset("too far behind")
