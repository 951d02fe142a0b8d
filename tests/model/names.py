"""Random names of topics."""

from __future__ import annotations

from hypothesis import strategies as st

from topicfold.model.names import TopicName

part_names = st.text("aZ09-=:._", min_size=1, max_size=12).filter(lambda text: text not in (".", ".."))
local_names = st.one_of(part_names, st.text("a.-_é ü", min_size=1, max_size=12)).filter(
    lambda text: text.strip() and text not in (".", "..")
)
persistent_names = st.builds(
    TopicName,
    st.just("persistent"),
    st.sampled_from(["public", "acme"]) | part_names,
    st.sampled_from(["default"]) | part_names,
    local_names,
)
