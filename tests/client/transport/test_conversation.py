"""When a call is tried again, and what it ends in: the conversation driven by hand, under a clock of the test's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from topicfold.client.call import NO_JSON, Answer, Call
from topicfold.client.calls import patch_topic, topic_in
from topicfold.client.errors import AnswerLost, ServerUnreachable, UnexpectedAnswer
from topicfold.client.transport.conversation import (
    Attempt,
    Pause,
    RetryRule,
    conversation,
    refusal_of,
    retry_after_seconds,
)
from topicfold.client.transport.silence import HUNG_UP, PROXY_HINT, NoAnswer, Server
from topicfold.errors import (
    FixRequest,
    NewerSchema,
    NotFound,
    NotReady,
    OutcomeUnknown,
    PositionTimeout,
    Reread,
    TopicfoldError,
    TopicNotFound,
)

OK = Answer(204, {}, None)
NOT_READY = Answer(503, {}, {"code": "not_ready", "detail": "still folding"})
UNKNOWN = Answer(504, {}, {"code": "outcome_unknown", "detail": "no verdict", "operation": "ab" * 16})
NO_ROUTE = {"code": "no_route", "detail": "there is no route /x"}
REFUSED = NoAnswer("connection refused", was_sent=False)
CUT = NoAnswer("connection reset", was_sent=True)
CLOSED = NoAnswer(HUNG_UP, was_sent=True)

READ = Call("GET", "/api/v1/topics/public/default/orders", topic_in)
CHANGE = patch_topic("orders", {"labels": {"a": "b"}}, {"idempotency_key": "k1"})


class Talk:
    """A conversation that hears `outcomes` in turn; keeps its attempts and pauses."""

    def __init__(
        self,
        call: Call[Any],
        outcomes: Sequence[Answer | NoAnswer],
        seconds: float = 30.0,
        others: tuple[str, ...] = (),
    ) -> None:
        self.attempts: list[Attempt] = []
        self.pauses: list[float] = []
        self._now = 0.0
        self._outcomes = iter(outcomes)
        rule = RetryRule(max_attempts=4)
        self.refused: list[Answer] = []
        self._dialogue = conversation(
            call,
            server=Server("http://h", others=others),
            position="p7",
            timeout_seconds=seconds,
            rule=rule,
            clock=lambda: self._now,
            refused=self.refused.append,
        )

    def finish(self) -> Answer:
        outcome: Answer | NoAnswer | None = None
        while True:
            try:
                step = self._dialogue.send(outcome)
            except StopIteration as end:
                answer: Answer = end.value
                return answer
            match step:
                case Attempt():
                    self.attempts.append(step)
                    outcome = next(self._outcomes)
                case Pause(seconds):
                    self.pauses.append(seconds)
                    self._now += seconds
                    outcome = None


@pytest.mark.parametrize("outcome", [NOT_READY, UNKNOWN, REFUSED, CUT, Answer(502, {}, None)])
def test_a_change_is_tried_again_under_its_own_key_after_every_failure_that_may_pass(outcome: Answer) -> None:
    talk = Talk(CHANGE, [outcome, outcome, OK])
    assert talk.finish() is OK
    assert [dict(attempt.headers)[b"Idempotency-Key"] for attempt in talk.attempts] == [b"k1"] * 3


def test_the_next_node_is_asked_where_one_does_not_answer_or_is_not_ready() -> None:
    talk = Talk(CHANGE, [NOT_READY, CUT, REFUSED, OK], others=("http://i", "http://j"))
    assert talk.finish() is OK
    assert [attempt.url for attempt in talk.attempts] == ["http://h", "http://i", "http://j", "http://h"]


@pytest.mark.parametrize("status", [502, 503, 504])
@pytest.mark.parametrize("call", [READ, CHANGE])
def test_the_next_node_is_asked_where_the_proxy_of_one_says_that_it_is_away(call: Call[Any], status: int) -> None:
    talk = Talk(call, [Answer(status, {}, NO_JSON), OK], others=("http://i",))
    assert talk.finish() is OK
    assert [attempt.url for attempt in talk.attempts] == ["http://h", "http://i"]


def test_a_node_that_only_refuses_is_asked_on() -> None:
    talk = Talk(CHANGE, [UNKNOWN, OK], others=("http://i",))
    talk.finish()
    assert [attempt.url for attempt in talk.attempts] == ["http://h", "http://h"]


def test_of_several_nodes_the_one_is_named_whose_answer_was_lost() -> None:
    with pytest.raises(AnswerLost, match="no answer from http://h: connection reset;"):
        Talk(CHANGE, [CUT, REFUSED, REFUSED, REFUSED], others=("http://i",)).finish()


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("topic_not_found", 404, TopicNotFound),
        ("newer_schema", 503, NewerSchema),
        ("position_timeout", 504, PositionTimeout),
    ],
)
def test_what_waiting_does_not_heal_is_raised_at_once(code: str, status: int, error: type[Exception]) -> None:
    talk = Talk(CHANGE, [Answer(status, {}, {"code": code, "detail": "no"})])
    with pytest.raises(error):
        talk.finish()
    assert talk.pauses == []


def test_a_server_that_answered_meanwhile_is_not_taken_to_speak_tls() -> None:
    with pytest.raises(AnswerLost) as lost:
        Talk(CHANGE, [CLOSED, NOT_READY, NOT_READY, NOT_READY]).finish()
    assert "https" not in f"{lost.value.reason} {lost.value.hint} {lost.value.values.get('instead')}"


@pytest.mark.parametrize(
    ("url", "body", "hint"),
    [
        *product(["http://h/x/y"], [None, {}, NO_ROUTE], ["a path, /x/y, .* try http://h$"]),
        *product(["http://h"], [None, {}], ["the URL is that of a Topicfold server"]),
        ("http://h", NO_ROUTE, "^Upgrade the server to the client's version.$"),
    ],
)
def test_who_knows_no_such_route_is_not_taken_to_say_that_a_topic_is_missing(
    url: str, body: dict[str, str] | None, hint: str
) -> None:
    found = refusal_of(Answer(404, {}, body), Server(url), "GET /api/v1/topics")
    assert isinstance(found, UnexpectedAnswer)
    assert found.reason == f"{url} does not know GET /api/v1/topics"
    assert re.search(hint, found.hint)


def test_a_404_of_pulsar_says_what_is_missing() -> None:
    found = refusal_of(Answer(404, {}, {"reason": "Topic not found"}), Server("http://h/x"), "GET /admin/v2/persistent")
    assert (type(found), found.reason) == (NotFound, "Topic not found")


@pytest.mark.parametrize("status", [400, 403, 405, 501, 503])
def test_an_answer_that_gives_no_reason_is_told_with_who_gave_it_and_to_what(status: int) -> None:
    found = refusal_of(Answer(status, {}, None), Server("http://h"), "PUT /x")
    assert found.reason == f"HTTP status {status} from http://h to PUT /x"


def test_attempts_are_bounded() -> None:
    talk = Talk(READ, [NOT_READY] * 9)
    with pytest.raises(NotReady):
        talk.finish()
    assert len(talk.attempts) == 4


def test_pauses_grow_and_are_jittered() -> None:
    runs = [Talk(READ, [NOT_READY, NOT_READY, NOT_READY, OK]) for _ in range(20)]
    for talk in runs:
        talk.finish()
        assert all(low <= pause <= 2 * low for low, pause in zip((0.05, 0.1, 0.2), talk.pauses, strict=True))
    assert len({talk.pauses[0] for talk in runs}) > 1


def test_retry_after_is_waited_out() -> None:
    talk = Talk(READ, [Answer(503, {"retry-after": "3"}, {}), OK])
    talk.finish()
    assert talk.pauses == [3.0]


def test_a_retry_after_of_ages_is_a_minute() -> None:
    answer = Answer(503, {"retry-after": "9" * 400}, None)
    assert retry_after_seconds(answer) == 60


@pytest.mark.parametrize("value", ["Wed, 21 Oct 2026 07:28:00 GMT", "-5", "soon"])
def test_a_retry_after_that_is_no_number_is_not_waited_for(value: str) -> None:
    talk = Talk(READ, [Answer(503, {"retry-after": value}, {}), OK])
    talk.finish()
    assert talk.pauses[0] <= 0.1


def test_a_pause_beyond_the_time_out_is_not_begun() -> None:
    talk = Talk(READ, [Answer(503, {"retry-after": "60"}, {"code": "not_ready", "detail": "x"})], seconds=30)
    with pytest.raises(NotReady):
        talk.finish()
    assert talk.pauses == []


def test_later_attempts_have_only_the_time_that_is_left() -> None:
    talk = Talk(READ, [Answer(503, {"retry-after": "3"}, {}), OK], seconds=10)
    talk.finish()
    assert [attempt.timeout_seconds for attempt in talk.attempts] == [10, 7]


def test_a_change_cut_off_says_that_its_outcome_is_unknown_and_names_its_key() -> None:
    with pytest.raises(AnswerLost) as lost:
        Talk(CHANGE, [CUT] * 4).finish()
    assert lost.value.values["idempotency_key"] == "k1"


def test_a_stranger_that_hangs_up_may_speak_tls_and_that_is_what_to_try() -> None:
    with pytest.raises(ServerUnreachable) as unreachable:
        Talk(READ, [CLOSED] * 4).finish()
    assert unreachable.value.reason == "no answer from http://h: it closed the connection, as a server of https:// does"
    assert unreachable.value.hint == "That server may speak TLS; try https://h, or check that it is a Topicfold server"


def test_who_hangs_up_on_tls_may_not_take_the_certificate() -> None:
    silence = NoAnswer(HUNG_UP, was_sent=True)
    assert "trusts the CA of yours" in Server("https://h").unreachable(silence).hint
    assert "trusts" not in Server("https://h", has_answered=True).unreachable(silence).hint


def test_a_change_that_a_stranger_hung_up_on_is_to_be_sent_there_by_tls_under_its_key() -> None:
    with pytest.raises(AnswerLost) as lost:
        Talk(CHANGE, [CLOSED] * 4).finish()
    assert "as a server of https:// does; the change may or may not be applied" in lost.value.reason
    assert lost.value.hint == "Send it again to https://h with the Idempotency-Key k1: it is applied at most once."


@pytest.mark.parametrize(
    "outcomes", [[NOT_READY, *[CLOSED] * 3], [NoAnswer(HUNG_UP, was_sent=True, url="http://h2")] * 4]
)
@pytest.mark.parametrize(("call", "error"), [(READ, ServerUnreachable), (CHANGE, AnswerLost)])
def test_of_who_answered_before_or_was_named_by_who_did_no_tls_is_guessed(
    call: Call[Any], error: type[TopicfoldError], outcomes: list[Answer | NoAnswer]
) -> None:
    with pytest.raises(error) as silent:
        Talk(call, outcomes).finish()
    assert re.fullmatch(
        "no answer from http://h2?: it closed the connection(; the change may .*)?", silent.value.reason
    )
    assert "https" not in silent.value.hint


def test_of_a_server_that_takes_a_request_and_is_silent_it_is_not_said_to_start_one() -> None:
    silent = NoAnswer("timed out after 30 s", was_sent=True, timed_out=True)
    unheard = NoAnswer("timed out after 5 s", was_sent=False, timed_out=True)
    assert "It takes requests, but is silent." in Server("http://h").unreachable(silent).hint
    assert Server("http://h").unreachable(unheard).hint == ServerUnreachable.default_hint
    assert Server("http://h", proxy="http://p").unreachable(silent).hint == PROXY_HINT


def test_a_read_cut_off_is_only_unreachable() -> None:
    with pytest.raises(ServerUnreachable):
        Talk(READ, [CUT] * 4).finish()


def test_a_change_that_never_left_is_only_unreachable() -> None:
    with pytest.raises(ServerUnreachable):
        Talk(CHANGE, [REFUSED] * 4).finish()


@pytest.mark.parametrize("outcomes", [[UNKNOWN, CUT, CUT, CUT], [CUT, UNKNOWN, CUT, CUT]])
def test_of_unknown_outcomes_the_one_that_names_its_operation_is_told(outcomes: Sequence[Answer | NoAnswer]) -> None:
    with pytest.raises(OutcomeUnknown) as unknown:
        Talk(CHANGE, outcomes).finish()
    assert unknown.value.values["operation"] == "ab" * 16


def test_an_unknown_outcome_is_not_forgotten_when_later_attempts_fail_otherwise() -> None:
    with pytest.raises(OutcomeUnknown) as unknown:
        Talk(CHANGE, [CUT, UNKNOWN, NOT_READY, REFUSED]).finish()
    assert unknown.value.values["operation"] == "ab" * 16


@pytest.mark.parametrize(
    ("outcome", "error"), [(UNKNOWN, OutcomeUnknown), (CUT, AnswerLost), (NOT_READY, RuntimeError)]
)
def test_nor_when_nothing_more_can_be_sent(outcome: Answer | NoAnswer, error: type[Exception]) -> None:
    dialogue = conversation(
        CHANGE,
        server=Server("http://h"),
        position="",
        timeout_seconds=30.0,
        rule=RetryRule(),
        clock=lambda: 0.0,
        refused=lambda _: None,
    )
    for heard in (None, outcome, None):
        dialogue.send(heard)
    with pytest.raises(error):
        dialogue.throw(RuntimeError("closed"))


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "unauthenticated"),
        (403, "forbidden"),
        (503, "newer_schema"),
        (504, "position_timeout"),
        (410, "resync"),
        (404, "no_route"),
        (500, "error"),
        (302, ""),
    ],
)
def test_nor_when_a_later_attempt_is_refused_before_anybody_looks_at_its_key(status: int, code: str) -> None:
    with pytest.raises(AnswerLost):
        Talk(CHANGE, [CUT, Answer(status, {}, {"code": code, "detail": "no"})]).finish()


@pytest.mark.parametrize(
    ("status", "code"), [(404, "topic_not_found"), (412, "precondition_failed"), (403, "unknown_cluster")]
)
def test_what_the_log_refuses_under_a_key_settles_every_attempt(status: int, code: str) -> None:
    with pytest.raises((FixRequest, Reread)):
        Talk(CHANGE, [CUT, Answer(status, {}, {"code": code, "detail": "no"})]).finish()


def test_a_proxys_504_leaves_the_outcome_of_a_change_unknown() -> None:
    with pytest.raises(AnswerLost):
        Talk(CHANGE, [Answer(504, {}, None)] * 4).finish()


def test_the_position_goes_with_every_attempt() -> None:
    talk = Talk(READ, [NOT_READY, OK])
    talk.finish()
    assert [dict(attempt.headers)[b"X-Min-Position"] for attempt in talk.attempts] == [b"p7"] * 2
