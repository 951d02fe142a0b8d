"""The client on the wire: headers it sends, positions it remembers, sockets that fail."""

from __future__ import annotations

import socket
import threading
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest

from topicfold.client import AnswerLost, AsyncClient, Client, RetryRule, ServerUnreachable, UnexpectedAnswer
from topicfold.client.transport.silence import BROKE_OFF_HINT
from topicfold.errors import Forbidden, InvalidRequest, Overloaded, Resync, TopicfoldError, TopicNotFound

IMPATIENT = RetryRule(max_attempts=2, first_delay_seconds=0.001)

_WELL = {"healthy": True, "node": "n", "scrub": None, "snapshot": None, "problems": [], "partitions": []}
"""The least that a diagnosis says."""
_PARTITION_WELL = {
    "partition": 0, "ready": True, "position": 1, "digest": "ab", "compared": None, "differences": {},
    "undecodableTopics": 0,
}  # fmt: skip
"""The least that it says of a partition."""


class Tape:
    """Keeps the requests, and answers each with what `reply` makes of it."""

    def __init__(self, reply: Callable[[httpx2.Request], httpx2.Response]) -> None:
        self.requests: list[httpx2.Request] = []
        self._reply = reply

    def client(self, **options: Any) -> Client:
        return Client(transport=httpx2.MockTransport(self._answer), retry=IMPATIENT, **options)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        return self._reply(request)

    def sent(self, header: str) -> list[str | None]:
        return [request.headers.get(header) for request in self.requests]


def applied(request: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(204, headers={"X-Operation-Id": "0-00"})


def positions_counted_up() -> Tape:
    positions = iter(range(1, 100))
    return Tape(lambda _: httpx2.Response(200, json=[], headers={"X-Log-Position": f"p{next(positions)}"}))


def test_each_call_carries_the_position_of_the_last_answer() -> None:
    tape = positions_counted_up()
    with tape.client() as client:
        for _ in range(3):
            client.list_tenants()
    assert tape.sent("X-Min-Position") == [None, "p1", "p2"]


def test_the_age_of_what_was_read_is_kept_until_the_next_read_tells_one() -> None:
    ages = iter([{}, {"X-Log-Age": "14.000"}, {}, {"X-Log-Age": "0.000"}])
    tape = Tape(lambda _: httpx2.Response(200, json=[], headers=next(ages)))
    seen = []
    with tape.client() as client:
        for _ in range(4):
            client.list_tenants()
            seen.append(client.age_seconds)
    assert seen == [None, 14.0, 14.0, 0.0]


def test_reading_ones_writes_can_be_switched_off() -> None:
    tape = positions_counted_up()
    with tape.client(read_your_writes=False) as client:
        client.list_tenants()
        client.list_tenants()
        assert client.position == "p2"
    assert tape.sent("X-Min-Position") == [None, None]


def test_an_answer_without_a_position_leaves_the_last_one() -> None:
    answers = iter([{"X-Log-Position": "p1"}, {}, {}])
    tape = Tape(lambda _: httpx2.Response(200, json=[], headers=next(answers)))
    with tape.client() as client:
        for _ in range(3):
            client.list_tenants()
    assert tape.sent("X-Min-Position") == [None, "p1", "p1"]


def test_a_refusals_position_is_kept_and_one_that_tells_no_age_is_one_all_the_same() -> None:
    ages = iter(("3.000", "young"))
    problem = {"code": "topic_not_found", "detail": "no"}
    tape = Tape(lambda _: httpx2.Response(404, json=problem, headers={"X-Log-Position": "p1", "X-Log-Age": next(ages)}))
    with tape.client() as client:
        for _ in range(2):
            with pytest.raises(TopicNotFound):
                client.get_topic("orders")
            assert (client.position, client.age_seconds) == ("p1", 3.0)


def test_threads_that_share_a_client_read_what_each_other_wrote() -> None:
    tape = positions_counted_up()
    with tape.client() as client:
        client.list_tenants()
        other = threading.Thread(target=client.list_tenants)
        other.start()
        other.join()
        client.list_tenants()
    assert tape.sent("X-Min-Position") == [None, "p1", "p2"]


def test_a_position_of_another_log_is_forgotten() -> None:
    gone = httpx2.Response(410, json={"code": "resync", "detail": "another log", "position": "old"})
    answers = iter([httpx2.Response(200, json=[], headers={"X-Log-Position": "old"}), gone])
    tape = Tape(lambda _: next(answers, httpx2.Response(200, json=[])))
    with tape.client() as client:
        client.list_tenants()
        with pytest.raises(Resync):
            client.list_tenants()
        client.list_tenants()
    assert tape.sent("X-Min-Position") == [None, "old", None]


def test_so_it_is_where_a_change_met_it_whose_first_attempt_is_of_unknown_outcome() -> None:
    gone = httpx2.Response(410, json={"code": "resync", "detail": "another log", "position": "old"})
    answers = iter([httpx2.Response(200, json=[], headers={"X-Log-Position": "old"}), httpx2.Response(502), gone])
    with Tape(lambda _: next(answers)).client() as client:
        client.list_tenants()
        with pytest.raises(AnswerLost):
            client.set_labels("orders", {"a": "b"})
        assert client.position == ""


@pytest.mark.parametrize(
    "look",
    [
        lambda client: list(client.topics(at="7d")),
        lambda client: client.get_topic_at("orders", 5),
        lambda client: client.effective("orders", at=5),
        lambda client: client.roll_back("orders", 5),
    ],
)
def test_a_past_that_can_be_told_no_more_is_no_reason_to_forget_what_was_written(look: Callable[[Client], Any]) -> None:
    gone = httpx2.Response(410, json={"code": "resync", "detail": "the log begins later"})
    answers = iter([httpx2.Response(200, json=[], headers={"X-Log-Position": "p1"}), gone])
    tape = Tape(lambda _: next(answers, httpx2.Response(200, json=[])))
    with tape.client() as client:
        client.list_tenants()
        with pytest.raises(Resync):
            look(client)
        client.list_tenants()
    assert tape.sent("X-Min-Position") == [None, "p1", "p1"]


def test_every_change_bears_a_key_of_its_own_and_a_read_none() -> None:
    tape = Tape(applied)
    with tape.client() as client:
        client.set_labels("orders", {"a": "b"})
        client.set_labels("orders", {"a": "b"})
        client.delete_tenant("acme", idempotency_key="mine")
    first, second, third = tape.sent("Idempotency-Key")
    assert third == "mine"
    assert None is not first != second


def test_a_reason_travels_percent_encoded_and_an_etag_in_quotes() -> None:
    tape = Tape(applied)
    with tape.client() as client:
        client.set_labels("orders", {"a": "b"}, reason="Größe: 50% (用)", if_match="ab.0")
    assert unquote(tape.sent("X-Change-Reason")[0] or "") == "Größe: 50% (用)"
    assert tape.sent("If-Match") == ['"ab.0"']


def test_an_etag_that_is_empty_is_no_leave_to_overwrite() -> None:
    tape = Tape(applied)
    with tape.client() as client:
        client.set_labels("orders", {"a": "b"}, if_match="")
        client.set_labels("orders", {"a": "b"}, if_match=None)
    # A server refuses the first: it is no ETag.
    assert tape.sent("If-Match") == ['""', None]


@pytest.mark.parametrize("option", [{"idempotency_key": "a\nb"}, {"idempotency_key": "ü"}, {"if_match": '"a\r\n"'}])
def test_what_no_header_can_carry_is_refused_before_sending(option: dict[str, str]) -> None:
    tape = Tape(lambda _: httpx2.Response(204))
    with tape.client() as client, pytest.raises(InvalidRequest):
        client.set_labels("orders", {"a": "b"}, **option)  # type: ignore[arg-type]
    assert tape.requests == []


def test_a_url_may_have_a_path_of_its_own() -> None:
    tape = positions_counted_up()
    transport = httpx2.MockTransport(tape._answer)
    with Client("http://gateway/topicfold/", transport=transport) as client:
        client.list_tenants()
    assert tape.requests[0].url.path == "/topicfold/admin/v2/tenants"


def test_a_closed_port_is_unreachable_and_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
    with Client(url, retry=IMPATIENT) as client, pytest.raises(ServerUnreachable, match=url):
        client.set_labels("orders", {"a": "b"})


@pytest.mark.parametrize(
    ("answers", "said"),
    [([], "closed the connection, as a server of https:// does$"), ([b"200 OK", b"403 No"], "closed the connection$")],
    ids=["never answered", "answered before"],
)
def test_of_a_server_that_hangs_up_and_never_answered_it_is_said_that_one_of_tls_does(
    answers: list[bytes], said: str
) -> None:
    def hang_up(server: socket.socket) -> None:
        for status in [*answers, *[b""] * IMPATIENT.max_attempts]:
            with server.accept()[0] as connection:
                connection.recv(4_096)
                if status:
                    connection.sendall(b"HTTP/1.1 %b\r\nConnection: close\r\nContent-Length: 2\r\n\r\n[]" % status)

    with socket.create_server(("127.0.0.1", 0)) as server:
        hanging_up = threading.Thread(target=hang_up, args=[server])
        hanging_up.start()
        with Client(f"http://127.0.0.1:{server.getsockname()[1]}", retry=IMPATIENT) as client:
            for _ in answers:
                with suppress(Forbidden):
                    client.list_tenants()
            with pytest.raises(ServerUnreachable, match=said):
                client.list_tenants()
        hanging_up.join()


@pytest.mark.parametrize("framing", [b"Content-Length: 9", b"Transfer-Encoding: chunked"])
def test_of_an_answer_that_breaks_off_it_is_said_that_it_was_begun_and_less_may_be_asked_for(framing: bytes) -> None:
    def break_off(server: socket.socket) -> None:
        for _ in range(IMPATIENT.max_attempts):
            with server.accept()[0] as connection:
                connection.recv(4_096)
                connection.sendall(b"HTTP/1.1 200 OK\r\n%b\r\n\r\n2\r\n[1\r\n" % framing)

    with socket.create_server(("127.0.0.1", 0)) as server:
        breaking_off = threading.Thread(target=break_off, args=[server])
        breaking_off.start()
        client = Client(f"http://127.0.0.1:{server.getsockname()[1]}", retry=IMPATIENT)
        with client, pytest.raises(ServerUnreachable, match=r"in the middle$") as broken:
            client.list_tenants()
        assert broken.value.hint == BROKE_OFF_HINT
        breaking_off.join()


@pytest.mark.parametrize("zipped", [False, True])
def test_an_answer_is_read_no_further_than_any_of_ours_reaches(
    monkeypatch: pytest.MonkeyPatch, *, zipped: bool
) -> None:
    monkeypatch.setattr("topicfold.client.transport.whole_answers.MAX_ANSWER_BYTES", 1_000)
    taken: list[int] = []

    def endless() -> Iterator[bytes]:
        packer = zlib.compressobj(wbits=31)
        while sum(taken) < 10**9:
            taken.append(10**6)
            yield (packer.compress(b"[" * 10**6) + packer.flush(zlib.Z_SYNC_FLUSH)) if zipped else b"[" * 10**6

    coding = {"Content-Encoding": "gzip"} if zipped else {}
    tape = Tape(
        lambda _: httpx2.Response(200, content=endless(), headers={"Content-Type": "application/json"} | coding)
    )
    with tape.client() as client, pytest.raises(UnexpectedAnswer, match="with more than this client reads") as refused:
        client.list_tenants()
    assert "pages" in refused.value.hint
    assert len(tape.requests) == len(taken) == 1


async def test_nor_is_one_that_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.client.transport.whole_answers.MAX_ANSWER_BYTES", 1_000)
    taken: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        while sum(taken) < 10**7:
            taken.append(10**6)
            yield b"[" * 10**6

    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, content=endless()))
    async with AsyncClient(transport=transport, retry=IMPATIENT) as client:
        with pytest.raises(UnexpectedAnswer, match="with more than this client reads"):
            await client.list_tenants()
    assert len(taken) == 1


def test_a_server_that_never_answers_costs_the_time_out_and_no_more() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with Client(url, timeout_seconds=0.1) as client, pytest.raises(ServerUnreachable, match="timed out"):
            client.list_tenants()
        with Client(url, timeout_seconds=0.1) as client, pytest.raises(AnswerLost):
            client.create_tenant("acme")


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, server_url: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with Client(server_url, retry=IMPATIENT) as client:
        assert client.list_tenants() == ("public",)


def test_a_request_for_another_nodes_namespace_is_sent_on_whole() -> None:
    there = "http://node2:8080/admin/v2/persistent/public/default/orders/custom-labels?authoritative=true"

    def reply(request: httpx2.Request) -> httpx2.Response:
        at_home = request.url.host == "node2"
        return applied(request) if at_home else httpx2.Response(307, headers={"Location": there})

    tape = Tape(reply)
    with tape.client(token="secret") as client:
        client.set_labels("orders", {"a": "b"}, reason="why")
    first, second = tape.requests
    assert (second.method, str(second.url), second.content) == ("POST", there, first.content)
    assert second.headers["host"] == "node2:8080"
    for header in ("Authorization", "Idempotency-Key", "X-Change-Reason", "Content-Type"):
        assert second.headers[header] == first.headers[header]


@pytest.mark.parametrize("failure", [httpx2.ConnectError("refused"), httpx2.ReadError("reset")], ids=repr)
def test_where_another_node_does_not_answer_that_one_is_named(failure: httpx2.TransportError) -> None:
    def reply(request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "node2":
            raise failure
        return httpx2.Response(307, headers={"Location": "http://node2:8080/admin/v2/tenants/acme?authoritative=true"})

    with Tape(reply).client(url="http://node1") as client, pytest.raises(TopicfoldError) as failed:
        client.create_tenant("acme")
    assert str(failed.value).startswith(f"no answer from http://node2:8080: {failure}")
    assert failed.value.values["url"] == "http://node2:8080"


def test_nodes_that_send_a_request_round_and_round_are_an_error() -> None:
    tape = Tape(lambda request: httpx2.Response(307, headers={"Location": str(request.url)}))
    with tape.client() as client, pytest.raises(TopicfoldError):
        client.list_tenants()
    assert len(tape.requests) == 2


def test_a_token_that_no_header_can_carry_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="token"):
        Client(token="a\nb")


@pytest.mark.parametrize("location", ["http://[", "http://node2:8080/admin/v2/tenants", "ftp://node2/x", ""], ids=repr)
def test_a_request_is_not_sent_on_to_where_it_would_be_read_or_lost(location: str) -> None:
    tape = Tape(lambda _: httpx2.Response(307, headers={"Location": location} if location else {}))
    with (
        tape.client(url="https://node1:8443", token="secret") as client,
        pytest.raises(UnexpectedAnswer, match="status 307"),
    ):
        client.list_tenants()
    assert len(tape.requests) == 1


def test_a_request_too_long_to_be_sent_is_refused() -> None:
    tape = positions_counted_up()
    with tape.client() as client, pytest.raises(InvalidRequest, match="cannot be sent"):
        list(client.topics(match=["x" * 250] * 300))
    assert tape.requests == []


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(200, html="<html>Please log in</html>"),
        httpx2.Response(204),
        httpx2.Response(200, json=[]),
        httpx2.Response(302, headers={"Location": "http://portal/"}),
    ],
    ids=lambda answer: str(answer.status_code),
)
def test_a_change_that_something_else_answers_does_not_count_as_made(answer: httpx2.Response) -> None:
    with Tape(lambda _: answer).client() as client, pytest.raises(UnexpectedAnswer):
        client.delete_topic("orders")


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(200, html="<html>Please log in</html>"),
        httpx2.Response(200),
        httpx2.Response(204),
        httpx2.Response(200, json={}),
    ],
    ids=["a page", "an empty 200", "an empty 204", "an empty object"],
)
def test_a_policy_that_something_else_is_asked_for_is_not_told_to_be_unset(answer: httpx2.Response) -> None:
    with Tape(lambda _: answer).client() as client:
        for ask in (
            lambda: client.get_policy("orders", "retentionPolicies"),
            lambda: client.get_namespace_policy("public/default", "retentionPolicies"),
        ):
            with pytest.raises(UnexpectedAnswer):
                ask()


@pytest.mark.parametrize(
    ("ask", "body"),
    [
        (Client.list_tenants, [{}]),
        (Client.list_clusters, [1]),
        (lambda client: client.get_cluster("west"), {"serviceUrl": 1}),
        (lambda client: client.list_namespaces("public"), {"public/default": 1}),
        (lambda client: client.namespace_labels("public/default"), {"team": "pay"}),
        (lambda client: client.tenant_permissions("public"), {"ann": [1]}),
        (lambda client: client.effective("orders"), {"policies": {"retentionPolicies": {"value": 1}}}),
        (Client.diagnosis, {"healthy": True}),
        (Client.diagnosis, {**_WELL, "problems": ["the disk is full"]}),
        (Client.diagnosis, {**_WELL, "partitions": {}}),
        (Client.diagnosis, {**_WELL, "scrub": {}}),
        (Client.diagnosis, {**_WELL, "snapshot": {"path": "/snapshot"}}),
        (Client.diagnosis, {**_WELL, "partitions": [{**_PARTITION_WELL, "compared": {"node": "n2"}}]}),
        (Client.readiness, {}),
        (Client.readiness, {"ready": True, "partitions": {"0": {"ready": True}}}),
    ],
)
def test_an_answer_with_something_else_inside_is_not_topicfolds(ask: Callable[[Client], Any], body: Any) -> None:
    with (
        Tape(lambda _: httpx2.Response(200, json=body)).client() as client,
        pytest.raises(UnexpectedAnswer, match=r"does not answer GET .* as Topicfold does"),
    ):
        ask(client)


def test_an_answer_whose_age_is_no_number_is_not_topicfolds() -> None:
    answer = httpx2.Response(200, json=[], headers={"X-Log-Age": "new"})
    with (
        Tape(lambda _: answer).client() as client,
        pytest.raises(UnexpectedAnswer, match=r"does not answer GET .* as Topicfold does"),
    ):
        client.list_tenants()


def test_a_diagnosis_of_another_version_is_taken_with_what_it_has_beside() -> None:
    body = {**_WELL, "weather": "fine", "partitions": [_PARTITION_WELL]}
    with Tape(lambda _: httpx2.Response(200, json=body)).client() as client:
        assert client.diagnosis() == body


def test_a_page_in_the_place_of_topics_is_not_taken_for_an_old_servers_answer() -> None:
    page = httpx2.Response(200, html="<html>Please log in</html>")
    with (
        Tape(lambda _: page).client() as client,
        pytest.raises(UnexpectedAnswer, match="text/html instead of JSON") as caught,
    ):
        list(client.topics("team=pay"))
    assert caught.value.code == "unexpected_answer"


def test_readiness_that_a_proxy_answers_for_a_server_that_is_away_may_be_asked_for_again() -> None:
    ready = {"ready": True, "partitions": {}}
    for page in ({"html": "<html>no server is available</html>"}, {"json": {"message": "no healthy upstream"}}):
        pages = iter([httpx2.Response(503, **page), httpx2.Response(200, json=ready)])
        with Tape(lambda _, pages=pages: next(pages)).client() as client:
            assert client.readiness().is_ready


def test_a_server_that_has_no_memory_to_report_its_readiness_says_so() -> None:
    problem = {"status": 503, "code": "overloaded", "reason": "no memory", "hint": "", "detail": "no memory"}
    with (
        Tape(lambda _: httpx2.Response(503, json=problem)).client() as client,
        pytest.raises(Overloaded, match="no memory"),
    ):
        client.readiness()


TOPIC = {"name": "persistent://public/default/orders", "labels": {}, "partitions": 0, "etag": "e"}
TENANT = {"adminRoles": [], "allowedClusters": []}
CHANGED = {"etag": "e", "offset": 1, "position": "p", "kind": "changed", "time": None, "madeBy": [], "changes": None}


@pytest.mark.parametrize(
    ("ask", "answer", "other"),
    [
        (lambda client: client.get_labels("orders"), {}, {"team": 1}),
        (lambda client: client.get_properties("orders"), {}, {"owner": None}),
        (lambda client: client.partitioned_topic_metadata("orders"), {"partitions": 0}, {"partitions": "3"}),
        (lambda client: client.get_topic("orders"), TOPIC, {"etag": 1}),
        (lambda client: client.get_topic("orders"), TOPIC, {"labels": {"team": ["pay"]}}),
        (lambda client: client.get_topic("orders"), TOPIC, {"properties": []}),
        (lambda client: client.get_topic("orders"), TOPIC, {"policies": {"local": 3}}),
        (lambda client: client.version(), {"version": "1.0"}, {"version": 1.0}),
        (lambda client: client.get_tenant("public"), TENANT, {"adminRoles": "root"}),
        (lambda client: client.history("orders"), {"name": "n", "before": None, "items": [CHANGED]},
         {"items": [CHANGED | {"time": 5}]}),
    ],
)  # fmt: skip
def test_an_answer_with_something_of_another_type_is_not_topicfolds(
    ask: Callable[[Client], object], answer: dict[str, Any], other: dict[str, Any]
) -> None:
    bodies = iter([answer, answer | other])
    with Tape(lambda _: httpx2.Response(200, json=next(bodies))).client() as client:
        ask(client)
        with pytest.raises(UnexpectedAnswer):
            ask(client)


def test_an_answer_nested_beyond_reading_is_not_topicfolds() -> None:
    answer = httpx2.Response(200, content=b"[" * 100_000)
    with Tape(lambda _: answer).client() as client, pytest.raises(UnexpectedAnswer):
        client.list_tenants()


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.set_labels("orders", {"team": "\udcff"}),
        lambda client: client.set_labels("orders", {"team": "pay"}, reason="\udcff"),
        lambda client: client.get_cluster("\udcff"),
        lambda client: client.find_topics(match="\udcff"),
        lambda client: client.list_topics("public/default", properties={"k": "\udcff"}),
        lambda client: next(client.watch(match="\udcff")),
    ],
)
def test_what_utf_8_cannot_write_is_refused_and_not_sent(ask: Callable[[Client], Any]) -> None:
    tape = Tape(applied)
    with tape.client() as client, pytest.raises(InvalidRequest, match=r"'\\udcff' cannot be sent"):
        ask(client)
    assert tape.requests == []


def test_a_connection_that_does_not_come_about_says_how_long_it_was_waited_for() -> None:
    def never(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectTimeout("")

    with Tape(never).client() as client, pytest.raises(ServerUnreachable, match=r"timed out after 5 s$"):
        client.list_tenants()
