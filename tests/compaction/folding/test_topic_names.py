"""Names in columns: what the engine's own function says of each."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from topicfold.compaction.folding.topic_names import split_topics
from topicfold.model.names import split_topic

_PIECES = st.sampled_from(["persistent", "non-persistent", "://", "/", ":", "t", "ns", "orders", "", "é", "\n", "\0"])
_LIKELY = st.tuples(
    st.sampled_from(["persistent", "non-persistent", "Persistent", ""]),
    st.lists(st.text(max_size=3) | st.just("ns"), min_size=2, max_size=4),
)
_NAMES = (
    st.text()
    | st.lists(_PIECES, max_size=9).map("".join)
    | _LIKELY.map(lambda parts: f"{parts[0]}://{'/'.join(parts[1])}")
)


@given(st.lists(_NAMES))
def test_names_in_columns_have_the_parts_that_each_has_alone(names: list[str]) -> None:
    found = split_topics(pa.array(names, pa.string()))
    alone = [split_topic(name) or (None, None) for name in names]
    assert list(zip(found.namespaces.to_pylist(), found.keys.to_pylist(), strict=True)) == alone


def test_names_of_both_domains_and_none_are_told_apart() -> None:
    names = [
        "persistent://a/b/c",
        "non-persistent://a/b/c",
        "persistent://a/b",
        "kafka://a/b/c",
        "persistent://a/b/c\n",
    ]
    found = split_topics(pa.array(names, pa.string()))
    assert found.namespaces.to_pylist() == ["a/b", "a/b", None, None, "a/b"]
    assert found.keys.to_pylist() == ["c", "non-persistent://c", None, None, "c\n"]
