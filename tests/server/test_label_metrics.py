"""Labels as a metric: what Prometheus reads of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request

from tests.markdown import code_blocks
from tests.server.rest import RestNode
from topicfold.model.names import parse_topic
from topicfold.runtime.slices import CHUNK
from topicfold.server.label_metrics import MAX_KEYS, PATH

KEY = "key=team"


@pytest.fixture
async def shop(rest: RestNode) -> RestNode:
    """A node with topics in two namespaces."""
    await rest.done("PUT", "/admin/v2/namespaces/public/shop")
    await make(rest, "public/default/orders", {"team": "pay", "tier": "gold", "note": 'a "b" \\ c'})
    await make(rest, "public/shop/bills", {"team": "tax", "acme.io/cost-center": "é7"})
    await make(rest, "public/shop/stock", {"tier": "gold"})
    return rest


async def make(rest: RestNode, path: str, labels: Mapping[str, str], **more: object) -> None:
    """Make a topic."""
    await rest.done("PUT", f"/api/v1/topics/{path}", {"labels": labels, **more})


async def samples(rest: RestNode, query: str) -> dict[str, dict[str, str]]:
    """Return the labels of all samples by their topic, as Prometheus reads them."""
    answer = await rest.send("GET", f"{PATH}?{query}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    [family] = text_string_to_metric_families(answer.text)
    assert (family.name, family.type) == ("kafka_topic_label_info", "gauge")
    assert all(each.value == 1 for each in family.samples)
    return {each.labels.pop("topic"): each.labels for each in family.samples}


async def test_every_kafka_topic_bears_the_labels_that_are_asked_for(shop: RestNode) -> None:
    assert await samples(shop, f"namespace=*&{KEY}&key=tier") == {
        "orders": {"namespace": "public/default", "label_team": "pay", "label_tier": "gold"},
        "public..shop..bills": {"namespace": "public/shop", "label_team": "tax"},
        "public..shop..stock": {"namespace": "public/shop", "label_tier": "gold"},
    }


async def test_the_document_shows_what_it_answers(rest: RestNode) -> None:
    document = (Path(__file__).parents[2] / "docs" / "health.md").read_text()
    [example] = [each for each in code_blocks(document, "console") if PATH in each]
    asked, *told = example.splitlines()
    await make(rest, "public/default/orders", {"team": "payments", "tier": "gold"})
    answer = await rest.send("GET", asked.partition("$URL")[2].rstrip('"'))
    assert answer.text.splitlines() == told


async def test_values_are_read_as_they_are_and_keys_become_names(shop: RestNode) -> None:
    read = await samples(shop, "namespace=*&key=note&key=acme.io/cost-center")
    assert read["orders"]["label_note"] == 'a "b" \\ c'
    assert read["public..shop..bills"]["label_acme_io_cost_center"] == "é7"


async def test_a_query_says_of_which_topics(shop: RestNode) -> None:
    assert set(await samples(shop, f"{KEY}")) == {"orders"}
    assert set(await samples(shop, f"namespace=public/s*&{KEY}&labelSelector=!team")) == {"public..shop..stock"}
    assert set(await samples(shop, f"namespace=*&{KEY}&match=*&regex=b.*&label=team%3Dtax")) == {"public..shop..bills"}


async def test_a_topic_is_called_as_kafka_calls_it_and_one_that_kafka_has_not_is_left_out(shop: RestNode) -> None:
    await make(shop, "public/shop/legacy", {"team": "old"}, kafkaName="legacy-v1")
    await shop.done("PUT", "/admin/v2/non-persistent/public/shop/passing")
    read = await samples(shop, f"namespace=public/shop&{KEY}")
    assert set(read) == {"public..shop..bills", "public..shop..stock", "legacy-v1"}
    assert read["legacy-v1"] == {"namespace": "public/shop", "label_team": "old"}


async def test_topics_are_told_as_they_were_when_the_answer_began(
    shop: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(CHUNK + 1):
        await make(shop, f"public/shop/t{number}", {"team": "many"})

    async def change_meanwhile(request: object) -> bool:
        for number in range(CHUNK + 1):
            await shop.node.writing.set_labels(parse_topic(f"public/shop/t{number}"), {"team": "x"}, shop.node.asked())
        return False

    monkeypatch.setattr(Request, "is_disconnected", change_meanwhile)
    read = await samples(shop, f"namespace=public/shop&regex=t.*&{KEY}")
    assert {each["label_team"] for each in read.values()} == {"many"}
    assert len(read) == CHUNK + 1


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "0 label keys, 1 to 16 are allowed"),
        ("&".join(f"key=k{number}" for number in range(MAX_KEYS + 1)), "17 label keys, 1 to 16 are allowed"),
        ("key=a%20b", "key 'a b': a key is 1 to"),
        ("key=a.b&key=a-b", "keys 'a.b' and 'a-b' would both be called label_a_b"),
        (f"{KEY}&limit=5", "query parameter 'limit' is not known here"),
        (f"{KEY}&at=1h", "query parameter 'at' is not known here"),
    ],
)
async def test_what_cannot_be_told_is_refused(shop: RestNode, query: str, said: str) -> None:
    answer = await shop.send("GET", f"{PATH}?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert answer.json()["detail"].startswith(said)


@pytest.mark.parametrize("query", ["namespace=public/none", "namespace=none/*"])
async def test_a_namespace_that_is_not_there_is_404_and_counts_as_no_answer(shop: RestNode, query: str) -> None:
    answer = await shop.send("GET", f"{PATH}?{KEY}&{query}")
    assert answer.status_code == 404
    assert shop.app.node.long_answers.counts.total() == 0


async def test_one_too_many_at_once_is_503(shop: RestNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.server.connections.long_answer.MAX_LONG_ANSWERS", 1)
    meanwhile: list[httpx2.Response] = []

    async def ask_meanwhile(request: object) -> bool:
        if not meanwhile:
            meanwhile.append(await shop.send("GET", f"{PATH}?{KEY}"))
        return False

    monkeypatch.setattr(Request, "is_disconnected", ask_meanwhile)
    for _ in range(2):
        assert set(await samples(shop, KEY)) == {"orders"}
    assert (meanwhile[0].status_code, meanwhile[0].json()["code"]) == (503, "overloaded")
