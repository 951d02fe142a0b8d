"""Finding topics over HTTP: what matches, page by page and all at once, on any node."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import quote

import httpx2
import orjson
import pytest
from starlette.requests import Request

from tests import plain_http
from tests.builders import topic_put
from tests.memory_log import MemoryStore
from tests.runtime.nodes import turns
from tests.server.finding.asking import find_all, make, names_in, pages
from tests.server.rest import RestNode, listening, rest_node
from topicfold.log.codec import encode_event
from topicfold.model.names import parse_topic
from topicfold.runtime import slices
from topicfold.runtime.finding.tried_names import Outcome
from topicfold.runtime.revision import decode_revision
from topicfold.server.connections.in_flight import InFlight
from topicfold.server.finding import found_items
from topicfold.server.finding.find import FIND_PATH, MAX_PAGE
from topicfold.wire.confirmation import query_text
from topicfold.wire.resources import FoundTopics

DEFAULT = "persistent://public/default"


async def test_topics_are_found_by_label_over_several_namespaces_sorted_by_full_name(orders: RestNode) -> None:
    for namespace in ("public/pay", "public/pay-2"):
        await orders.done("PUT", f"/admin/v2/namespaces/{namespace}")
    await make(orders, "public/pay/bills", "public/pay-2/bills", "non-persistent://public/pay/z", team="pay")
    answer = await orders.get(
        f"{FIND_PATH}?namespace=public/pay-2&namespace=public/pay&namespace=public/default&label=team=pay"
    )
    FoundTopics.model_validate(answer)
    assert names_in(answer) == sorted(names_in(answer))
    assert answer["counts"] == {
        "matched": 4, "namespaces": {"public/default": 1, "public/pay": 2, "public/pay-2": 1},
    }  # fmt: skip


async def test_an_item_has_what_a_frame_of_a_watch_shows(orders: RestNode) -> None:
    answer = await orders.get(FIND_PATH)
    record = await orders.send("GET", f"{FIND_PATH}/public/default/orders")
    [item] = answer["items"]
    assert item["version"] == record.headers["etag"].strip('"')
    assert decode_revision(item["position"]).positions[3] <= decode_revision(answer["position"]).positions[3]
    expected = {"name": f"{DEFAULT}/orders", "labels": {"team": "pay", "tier": "gold"}, "partitions": 0}
    assert {**item, "version": "", "position": ""} == expected | {"version": "", "position": ""}


async def test_the_answer_says_its_position_and_what_was_understood(orders: RestNode) -> None:
    answer = await orders.send("GET", f"{FIND_PATH}?labelSelector=tier%20in%20(gold),team=pay&match=**&limit=5")
    assert answer.headers["x-log-position"] == answer.json()["position"]
    understood = query_text(["public/default"], "team=pay,tier in (gold)", {}, ["**"])
    assert answer.headers["x-topicfold-query"] == understood


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("labelSelector=team=pay", "ab"),
        ("labelSelector=team", "abc"),
        ("labelSelector=team%21=pay", "cd"),
        ("labelSelector=", "abcd"),
        ("label=team=pay&label=tier=a=b,c", ""),
        ("match=a__*", "a"),
        ("match=a__*&match=b__**", "ab"),
        ("regex=.__x", "abcd"),
        ("regex=.__&labelSelector=team", ""),
        ("regex=[bc].*&labelSelector=team=pay&match=**", "b"),
        ("labels=team:pay", "ab"),
        ("labels=team:pay&topics_pattern=(((", "ab"),
        ("topics_pattern=public/default/[ab].*", "ab"),
        ("topics_pattern=persistent://public/default/[ab].*", "ab"),
        ("topics_pattern=[ab].*", ""),
    ],
)
async def test_all_conditions_must_hold_at_once(rest: RestNode, query: str, expected: str) -> None:
    await make(rest, "a__x", "b__x", team="pay")
    await make(rest, "c__x", team="ops")
    await make(rest, "d__x")
    assert await find_all(rest, query) == [f"{DEFAULT}/{letter}__x" for letter in expected]


@pytest.mark.parametrize(
    ("query", "code", "said"),
    [
        ("lable=a=b", "invalid_request", "Did you mean label?"),
        ("label=a", "invalid_request", "team=payments"),
        ("label==x", "invalid_request", "is not key=value"),
        ("label=a=1&label=a=2", "invalid_request", "two values"),
        ("labels=a:1&label=a=2", "invalid_request", "two values"),
        ("labels=", "invalid_request", "'' is not a pair"),
        ("labelSelector=team=pay=", "invalid_selector", "column 9"),
        ("match=a__**__b", "invalid_pattern", "a__**__b"),
        ("match=a__*&match=a__x*", "invalid_pattern", "a__x*"),
        ("regex=(", "invalid_regex", "missing )"),
        (f"regex={'a' * 257}", "invalid_regex", "at most 256"),
        ("topics_pattern=(", "invalid_regex", "missing )"),
        (f"topics_pattern={'a' * 51}", "invalid_regex", "51 characters, at most 50"),
        ("topics_pattern=a&regex=a", "invalid_request", "both given"),
        ("topics_pattern=a&namespace=a/b&namespace=c/d", "invalid_request", "one namespace, not for a/b and c/d"),
        ("topics_hash=abc", "invalid_request", "8 hexadecimal digits"),
        ("limit=0", "invalid_request", "limit must be 1 to 1000, not '0'"),
        ("limit=1001", "invalid_request", "limit must be 1 to 1000"),
        ("limit=1e3", "invalid_request", "limit must be 1 to 1000"),
        ("limit=1&limit=2", "invalid_request", "limit is given 2 times"),
        ("fields=name", "invalid_request", "fields must be record"),
        ("continue=x", "invalid_request", "is not valid"),
        ("continue=AQAA", "invalid_request", "is not valid"),
        ("namespace=x", "invalid_name", "x"),
        ("namespace=a/b%2Fc", "invalid_name", "a/b/c"),
        ("&".join(f"namespace=public/n{number}" for number in range(101)), "invalid_request", "at most 100"),
        ("&".join(f"match=a{number}" for number in range(65)), "invalid_request", "at most 64"),
    ],
)
async def test_a_malformed_query_is_400_and_says_what_was_wrong(
    rest: RestNode, query: str, code: str, said: str
) -> None:
    answer = await rest.send("GET", f"{FIND_PATH}?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert said in answer.text


async def test_a_namespace_that_is_not_there_is_404(rest: RestNode) -> None:
    assert await rest.problem("GET", f"{FIND_PATH}?namespace=public/no") == (404, "namespace_not_found")


async def test_pages_hold_each_topic_once_and_end(rest: RestNode) -> None:
    await rest.done("PUT", "/admin/v2/namespaces/public/pay")
    names = [f"t{number}" for number in range(7)] + [f"non-persistent://public/pay/n{number}" for number in range(5)]
    await make(rest, *names, team="pay")
    query = "label=team=pay&namespace=public/default&namespace=public/pay"
    whole = await rest.get(f"{FIND_PATH}?{query}")
    for limit in (1, 4, 12, 1000):
        found_pages = await pages(rest, f"{query}&limit={limit}")
        assert names_in(*found_pages) == names_in(whole)
        assert {page["counts"]["matched"] for page in found_pages} == {12}
        assert max(len(page["items"]) for page in found_pages) <= limit


async def test_the_last_page_is_known_to_be_the_last(rest: RestNode) -> None:
    await make(rest, "a", "b")
    assert "continue" not in await rest.get(f"{FIND_PATH}?limit=2")


async def test_continue_goes_on_behind_a_topic_that_is_gone(rest: RestNode) -> None:
    await make(rest, "a", "b", "c", "d")
    first = await rest.get(f"{FIND_PATH}?limit=2")
    await rest.done("DELETE", "/api/v1/topics/public/default/b")
    second = await rest.get(f"{FIND_PATH}?limit=2&continue={first['continue']}")
    assert names_in(second) == [f"{DEFAULT}/c", f"{DEFAULT}/d"]


async def test_pages_go_on_behind_names_that_rules_of_today_would_refuse(rest: RestNode, store: MemoryStore) -> None:
    partition = rest.node.engine.partition("public/default")
    life = rest.node.engine.states[partition].namespaces["public/default"].incarnation
    names = sorted(f"{DEFAULT}/{local}" for local in ("a" * 300, "b\\c", "d%41", "plain"))
    for number, name in enumerate(names, 1):
        store.append(partition, encode_event(topic_put(number, life, name=name)))
    await rest.node.caught_up()
    for fields in ("", "&fields=record"):
        assert names_in(*await pages(rest, f"limit=1{fields}")) == names


async def test_records_of_a_page_are_read_in_slices_and_are_of_one_cut(
    rest: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make(rest, *(f"t{number:02}" for number in range(60)), team="pay")
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    asking = asyncio.create_task(rest.get(f"{FIND_PATH}?limit=100&fields=record"))
    await turns(40)
    assert not asking.done()
    await rest.node.writing.set_labels(parse_topic("t59"), {"team": "ops"}, rest.node.asked())
    items = (await asking)["items"]
    assert [item["labels"] for item in items] in ([{"team": "pay"}] * 60, [{"team": "pay"}] * 59 + [{"team": "ops"}])
    assert [item["etag"] for item in items] == [item["version"] for item in items]


async def test_topics_with_many_labels_are_written_in_slices_and_are_of_one_cut(
    rest: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = {f"key-{number}": "pay" for number in range(8)}
    await make(rest, *(f"t{number:02}" for number in range(60)), **labels)
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    monkeypatch.setattr(found_items, "LABELS_AT_ONCE", 59 * len(labels))
    asking = asyncio.create_task(rest.get(f"{FIND_PATH}?limit=100"))
    await turns(40)
    assert not asking.done()
    await rest.node.writing.set_labels(parse_topic("t59"), {"key-0": "ops"}, rest.node.asked())
    found = [item["labels"] for item in (await asking)["items"]]
    assert found[:59] == [labels] * 59
    assert found[59] in (labels, labels | {"key-0": "ops"})


async def test_a_page_ends_behind_4_mib_of_records_and_the_next_goes_on(rest: RestNode) -> None:
    names = [f"t{number:02}" for number in range(22)]
    for name in names:
        await rest.done("PUT", f"/api/v1/topics/public/default/{name}", {"properties": {"text": "x" * 200_000}})
    found = await pages(rest, "limit=22&fields=record")
    assert [len(page["items"]) for page in found] == [21, 1]
    assert names_in(*found) == [f"{DEFAULT}/{name}" for name in names]
    assert len(await pages(rest, "limit=22")) == 1
    at_once = await rest.send("GET", f"{FIND_PATH}?fields=record")
    assert "content-length" not in at_once.headers
    assert names_in(at_once.json()) == [f"{DEFAULT}/{name}" for name in names]


async def test_another_node_first_folds_up_to_where_the_page_was_read(nodes: list[RestNode]) -> None:
    one, other, _ = nodes
    other.node.log.pause()
    await make(one, "a", "b")
    first = await one.get(f"{FIND_PATH}?limit=1")
    waiting = asyncio.ensure_future(other.get(f"{FIND_PATH}?limit=1&continue={first['continue']}"))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    other.node.log.resume()
    second = await waiting
    assert names_in(second) == [f"{DEFAULT}/b"]
    partition = one.node.engine.partition("public/default")
    positions = [decode_revision(page["position"]).positions[partition] for page in (first, second)]
    assert positions[0] <= positions[1]


async def test_a_topic_that_matches_all_the_while_comes_once_whatever_else_changes(nodes: list[RestNode]) -> None:
    stays = [f"s{number:02}" for number in range(20)]
    await make(nodes[0], *stays, team="pay")
    found_names: list[str] = []
    after, turn = "", 0
    while True:
        node = nodes[turn % 3]
        page = await node.get(f"{FIND_PATH}?label=team=pay&limit=3{after}")
        found_names += names_in(page)
        if "continue" not in page:
            break
        after = f"&continue={page['continue']}"
        await make(nodes[(turn + 1) % 3], f"a{turn}", f"z{turn}", team="pay")
        await node.done("DELETE", f"/api/v1/topics/public/default/{'a' if turn % 2 else 'z'}{turn}")
        turn += 1
    assert [name for name in found_names if "/s" in name] == [f"{DEFAULT}/{name}" for name in stays]
    assert len(found_names) == len(set(found_names))
    assert found_names == sorted(found_names)


async def test_continue_belongs_to_one_query(rest: RestNode) -> None:
    await make(rest, "a", "b", team="pay")
    after = (await rest.get(f"{FIND_PATH}?label=team=pay&limit=1"))["continue"]
    answer = await rest.send("GET", f"{FIND_PATH}?label=team=ops&limit=1&continue={after}")
    assert (answer.status_code, answer.json()["detail"]) == (400, "continue belongs to another query")
    assert len((await rest.get(f"{FIND_PATH}?label=team=pay&limit=9&continue={after}"))["items"]) == 1


async def test_continue_of_another_log_is_410(rest: RestNode, nodes: list[RestNode]) -> None:
    await make(rest, "a", "b")
    after = (await rest.get(f"{FIND_PATH}?limit=1"))["continue"]
    rest.node.engine.identity = rest.node.engine.identity.__class__(bytes(16), 8, "another")
    assert await rest.problem("GET", f"{FIND_PATH}?limit=1&continue={after}") == (410, "resync")


async def test_records_come_where_they_are_asked_for(orders: RestNode) -> None:
    [item] = (await orders.get(f"{FIND_PATH}?fields=record"))["items"]
    record = await orders.get(f"{FIND_PATH}/public/default/orders")
    assert {key: item[key] for key in record} == record
    assert item["version"] == record["etag"]


async def many(rest: RestNode, count: int) -> list[str]:
    """Make many topics at once, and return their full names, sorted."""
    locals_ = [f"t{number:05}" for number in range(count)]
    for start in range(0, count, 200):
        await asyncio.gather(*(make(rest, local, team="pay") for local in locals_[start : start + 200]))
    return [f"{DEFAULT}/{local}" for local in locals_]


async def test_a_long_answer_is_one_cut_while_the_fold_goes_on(rest: RestNode, monkeypatch: pytest.MonkeyPatch) -> None:
    names = await many(rest, MAX_PAGE + 1)

    async def change_meanwhile(request: object) -> bool:
        await rest.done("DELETE", f"/api/v1/topics/public/default/{next(doomed)}")
        await make(rest, f"z{next(doomed)}", team="pay")
        return False

    doomed = iter([f"t{number:05}" for number in range(MAX_PAGE, 0, -1)])
    monkeypatch.setattr(Request, "is_disconnected", change_meanwhile)
    answer = await rest.get(f"{FIND_PATH}?label=team=pay")
    assert names_in(answer) == names
    assert all(item["labels"] == {"team": "pay"} for item in answer["items"])
    assert answer["counts"]["matched"] == len(names)
    assert "content-length" not in (await rest.send("GET", f"{FIND_PATH}?label=team=pay")).headers


async def test_records_of_a_long_answer_are_those_of_its_cut(rest: RestNode, monkeypatch: pytest.MonkeyPatch) -> None:
    await many(rest, MAX_PAGE + 1)
    turns = iter(range(100))

    async def change_meanwhile(request: object) -> bool:
        path = f"/admin/v2/persistent/public/default/t{MAX_PAGE:05}/custom-labels"
        await rest.done("POST", path, {"labels": {"team": f"changed-{next(turns)}"}})
        return False

    monkeypatch.setattr(Request, "is_disconnected", change_meanwhile)
    items = (await rest.get(f"{FIND_PATH}?fields=record"))["items"]
    assert len(items) == MAX_PAGE + 1
    assert {(item["labels"]["team"], item["etag"] == item["version"]) for item in items} == {("pay", True)}


async def test_a_long_answer_during_which_too_much_changes_does_not_end_as_if_it_were_whole(
    rest: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit, value in (
        ("server.finding.find.MAX_PAGE", 2),
        ("server.finding.found_items.CHUNK", 1),
        ("runtime.cut.MAX_CHANGES", 1),
    ):
        monkeypatch.setattr(f"topicfold.{limit}", value)
    await make(rest, *"abcd")
    values = iter(range(100))

    async def change_meanwhile(request: object) -> bool:
        await rest.node.writing.set_labels(parse_topic("d"), {"k": str(next(values))}, rest.node.asked())
        return False

    monkeypatch.setattr(Request, "is_disconnected", change_meanwhile)
    async with listening(rest) as port, plain_http.async_client() as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get(f"http://127.0.0.1:{port}{FIND_PATH}")


async def test_a_long_answer_too_many_is_503(rest: RestNode, monkeypatch: pytest.MonkeyPatch) -> None:
    await many(rest, MAX_PAGE + 1)
    monkeypatch.setattr("topicfold.server.connections.long_answer.MAX_LONG_ANSWERS", 1)
    meanwhile: list[httpx2.Response] = []

    async def ask_meanwhile(request: object) -> bool:
        if next(first, False):
            meanwhile.extend([await rest.send("GET", path) for path in (FIND_PATH, f"{FIND_PATH}?limit=1000")])
        return False

    first = iter([True])

    monkeypatch.setattr(Request, "is_disconnected", ask_meanwhile)
    for _ in range(2):
        assert len((await rest.get(FIND_PATH))["items"]) == MAX_PAGE + 1
    refused, page = meanwhile
    assert (refused.status_code, refused.headers["retry-after"], refused.json()["code"]) == (503, "1", "overloaded")
    assert page.status_code == 200


async def test_a_topic_list_that_one_has_is_not_listed_again(rest: RestNode) -> None:
    await make(rest, "a", "b", team="pay")
    query = "topics_pattern=public/default/.*"
    first = await rest.get(f"{FIND_PATH}?{query}")
    assert (first["hash"], first["changed"], len(first["items"])) == ("c7559e98", True, 2)
    same = await rest.get(f"{FIND_PATH}?{query}&topics_hash={first['hash']}")
    assert (same["hash"], same["changed"], same["items"]) == ("c7559e98", False, [])
    await make(rest, "c")
    assert len((await rest.get(f"{FIND_PATH}?{query}&topics_hash={first['hash']}"))["items"]) == 3
    FoundTopics.model_validate(same)


async def test_no_hash_is_sent_where_it_is_not_asked_for(orders: RestNode) -> None:
    assert orjson.loads((await orders.send("GET", FIND_PATH)).content).keys() == {"position", "counts", "items"}


async def test_the_kafka_topic_is_told_where_one_is_recorded(rest: RestNode) -> None:
    await rest.done("PUT", "/api/v1/topics/public/default/a", {"kafkaName": "Legacy.A"})
    for query in ("", "?fields=record"):
        [item] = (await rest.get(f"{FIND_PATH}{query}"))["items"]
        assert item["kafkaName"] == "Legacy.A"


@pytest.mark.parametrize(
    ("document", "text", "expected"),
    [
        ('{"matchLabels":{"team":"pay"}}', "team=pay", "ab"),
        (
            '{"matchLabels":{"team":"pay"},"matchExpressions":[{"key":"tier","operator":"DoesNotExist"}]}',
            "team=pay,!tier",
            "b",
        ),
        ('{"matchLabels":{"tier":"a=b,c"}}', 'tier="a=b,c"', "a"),
        ("{}", "", "abcd"),
    ],
)
async def test_a_selector_may_be_a_document_of_kubernetes(
    rest: RestNode, document: str, text: str, expected: str
) -> None:
    await make(rest, "a", team="pay", tier="a=b,c")
    await make(rest, "b", team="pay")
    await make(rest, "c", team="ship")
    await make(rest, "d")
    answer = await rest.send("GET", f"{FIND_PATH}?labelSelector={quote(document)}")
    assert names_in(answer.json()) == [f"{DEFAULT}/{name}" for name in expected]
    assert json.loads(answer.headers["x-topicfold-query"])["labelSelector"] == text


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ('{"matchLabels":{"team":"pay"}', "column 30: no JSON"),
        ('{"matchlabels":{}}', "an object of matchLabels and matchExpressions should stand here"),
        ('{"matchLabels":{"a":"b","a":"c"}}', "'a' stands twice in one object"),
        ('{"matchExpressions":[{"key":"a","operator":"in"}]}', "matchExpressions[0].operator: one of In"),
        ("{team}", "column 2: no JSON"),
        (r'{"matchLabels":{"\ud800":"a"}}', r"'\ud800' holds half a surrogate pair"),
        (r'{"\udfff":1,"\udfff":2}', r"'\udfff' holds half a surrogate pair"),
        (r'{"matchLabels":{"a":"\ud800"}}', "matchLabels.a: the value holds characters that cannot be printed"),
        ('{"matchExpressions":[' + "1" * 5_000 + "]}", "a number that is too long"),
    ],
)
async def test_a_document_that_is_no_selector_is_refused_with_where_it_is_wrong(
    rest: RestNode, document: str, said: str
) -> None:
    refused = await rest.send("GET", f"{FIND_PATH}?labelSelector={quote(document)}")
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_selector")
    assert said in refused.json()["detail"]


async def test_an_expression_is_tried_no_more_where_the_client_is_gone(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[object] = []
    enough = 50_000

    def try_long(*arguments: object) -> bool:
        tries.append(arguments)
        return len(tries) >= enough

    monkeypatch.setattr(Outcome, "cover", try_long)
    async with listening(orders) as port, asyncio.timeout(60):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {FIND_PATH}?regex=a HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        while not tries:
            await turns(1)
        writer.transport.abort()
        tried = 0
        while len(tries) > tried:
            tried = len(tries)
            await turns(50)
    assert len(tries) < enough


async def test_an_expression_that_takes_too_long_is_503_and_says_when_to_come_again(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Outcome, "cover", lambda *arguments: False)
    async with rest_node(store, request_timeout_seconds=0.1) as rest, asyncio.timeout(60):
        for path in (FIND_PATH, "/api/v1/explain"):
            answer = await rest.send("GET", f"{path}?regex=a")
            assert (answer.status_code, answer.json()["code"]) == (503, "overloaded"), answer.text
            assert "retry-after" in answer.headers


async def test_long_pages_on_their_way_are_bounded_in_bytes_and_short_ones_are_not(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_flight = InFlight(10 << 20, 10 << 20)
    monkeypatch.setattr("topicfold.server.node.InFlight", lambda *limits: in_flight)
    async with rest_node(store) as rest:
        for number in range(12):
            await rest.done("PUT", f"/api/v1/topics/public/default/t{number}", {"properties": {"text": "x" * 100_000}})
        in_flight.take("ann", 9 << 20)
        answer = await rest.send("GET", f"{FIND_PATH}?fields=record")
        assert (answer.status_code, answer.json()["code"]) == (503, "overloaded")
        assert "limit" in answer.json()["hint"]
        for short in ("?fields=record&limit=2", ""):
            assert (await rest.send("GET", FIND_PATH + short)).status_code == 200
        in_flight.give_back("ann", 9 << 20)
        for _ in range(12):
            assert len((await rest.get(f"{FIND_PATH}?fields=record"))["items"]) == 12
