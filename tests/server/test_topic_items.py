"""Topics written straight as JSON: what a JSON library makes of the same."""

from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st

from topicfold.log.port import LogIdentity
from topicfold.model.events import partition_of
from topicfold.model.names import NON_PERSISTENT, topic_of_key
from topicfold.model.records import NO_GRANTS
from topicfold.runtime.revision import token_of
from topicfold.server.topic_items import TopicWriter
from topicfold.state.aggregate import Etag
from topicfold.state.change import TopicRow
from topicfold.state.topic_table import ShownColumns

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
ROWS = st.builds(
    TopicRow,
    st.dictionaries(TEXTS, TEXTS, max_size=4).map(lambda labels: tuple(labels.items())),
    st.integers(0, 10_000),
    st.none() | TEXTS,
    st.builds(Etag, st.binary(min_size=16, max_size=16), st.integers(0, 2**16 - 1)),
    st.integers(0, 2**62),
    st.just(NO_GRANTS),
)
LOCALS = TEXTS.map(lambda local: local.replace("/", ""))
KEYS = LOCALS | LOCALS.map(lambda local: f"{NON_PERSISTENT}://{local}")


@given(key=KEYS, row=ROWS, partitions=st.integers(1, 1024), incarnation=st.binary(min_size=16, max_size=16))
def test_a_topic_is_written_with_all_that_is_shown_of_it(
    key: str, row: TopicRow, partitions: int, incarnation: bytes
) -> None:
    writer = TopicWriter(LogIdentity(incarnation, partitions, "h"), "public/default")
    written = writer.write(key, row)
    shown = {
        "name": topic_of_key("public/default", key),
        "labels": dict(row.labels),
        "partitions": row.partitions,
        "version": str(row.etag),
        "position": token_of(incarnation, {partition_of("public/default", partitions): row.offset + 1}).decode(),
    }
    if row.kafka_name is not None:
        shown["kafkaName"] = row.kafka_name
    assert orjson.loads(written) == shown
    members = orjson.dumps(dict(row.labels))[1:-1]
    columns = ShownColumns([key], [members], [row.partitions], [row.kafka_name], [(*row.etag, row.offset)])
    assert writer.write_all(columns) == [written]
