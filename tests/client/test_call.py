"""What calls read of an answer beside its body."""

from __future__ import annotations

import pytest

from topicfold.client.call import Answer, etag_of


@pytest.mark.parametrize("said", ['"ab.1"', 'W/"ab.1"'])
def test_an_etag_is_the_same_whether_a_proxy_compressed_the_answer_or_not(said: str) -> None:
    assert etag_of(Answer(200, {"etag": said}, {})) == "ab.1"
