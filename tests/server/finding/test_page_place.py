"""Where a page ended: only what a page gave leads to the next one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicfold.errors import InvalidRequest, Resync
from topicfold.log.port import LogIdentity
from topicfold.model.events import HASH_NAME
from topicfold.model.names import parse_topic
from topicfold.runtime.revision import Revision
from topicfold.server.finding.page_place import PagePlace, page_place

IDENTITY = LogIdentity(b"L" * 16, 4, HASH_NAME)
PLACE = PagePlace(parse_topic("orders"), Revision(IDENTITY.incarnation, {3: 7}))
TEXT = PLACE.text("query")


@pytest.mark.parametrize("number", range(20))
def test_it_leads_to_where_the_page_ended(number: int) -> None:
    place = replace(PLACE, last=parse_topic("t" * (1 + number % 4)))
    assert page_place(place.text(f"query {number}"), f"query {number}", IDENTITY) == place


def test_of_another_query_or_log_it_is_told_apart_from_what_nobody_gave() -> None:
    with pytest.raises(InvalidRequest, match="belongs to another query"):
        page_place(TEXT, "other", IDENTITY)
    with pytest.raises(Resync):
        page_place(TEXT, "query", replace(IDENTITY, incarnation=b"M" * 16))


@pytest.mark.parametrize("text", ["", "AQ", "ä" * 8, "/" * 40, TEXT[:-1], TEXT[:8], f"!!!!{TEXT}", f"{TEXT}AAAA"])
def test_any_other_text_is_none_of_ours(text: str) -> None:
    with pytest.raises(InvalidRequest, match="is not valid"):
        page_place(text, "query", IDENTITY)


@given(st.integers(0, len(TEXT) - 1), st.sampled_from("Aaz0_-"))
def test_nor_is_one_that_was_touched(place: int, letter: str) -> None:
    touched = TEXT[:place] + letter + TEXT[place + 1 :]
    if touched != TEXT:
        with pytest.raises(InvalidRequest):
            page_place(touched, "query", IDENTITY)


@pytest.mark.parametrize("last", ["", "orders", "persistent://public/default"])
def test_nor_is_one_that_ends_at_no_topic(last: Any) -> None:
    with pytest.raises(InvalidRequest, match="is not valid"):
        page_place(PagePlace(last, PLACE.revision).text("query"), "query", IDENTITY)
