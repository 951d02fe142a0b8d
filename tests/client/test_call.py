"""What calls read of an answer beside its body."""

from __future__ import annotations

import pytest

from topicfold.client.call import Answer, change_headers, etag_of
from topicfold.wire import headers


@pytest.mark.parametrize("said", ['"ab.1"', 'W/"ab.1"'])
def test_an_etag_is_the_same_whether_a_proxy_compressed_the_answer_or_not(said: str) -> None:
    assert etag_of(Answer(200, {"etag": said}, {})) == "ab.1"


@pytest.mark.parametrize("given", ["ab.1", '"ab.1"', 'W/"ab.1"'])
def test_an_etag_is_sent_as_the_header_wants_it_however_it_was_copied(given: str) -> None:
    assert change_headers({"if_match": given})["If-Match"] == '"ab.1"'


def test_whatever_version_there_is_is_asked_for_without_quotes() -> None:
    assert change_headers({"if_match": "*"})["If-Match"] == "*"


def test_a_reason_of_the_longest_length_is_sent() -> None:
    reason = "x" * headers.MAX_CHANGE_REASON_LENGTH
    assert change_headers({"reason": reason})[headers.CHANGE_REASON] == reason
