"""Answers: JSON that is written piece by piece."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from topicfold.server.answers import joined


@pytest.mark.parametrize(
    ("parts", "written"),
    [
        ([], b"[]"),
        ([b""], b"[]"),
        ([b"1"], b"[1]"),
        ([b"", b"1,2", b"", b"3", b""], b"[1,2,3]"),
    ],
)
async def test_members_are_joined_and_empty_parts_left_out(parts: Sequence[bytes], written: bytes) -> None:
    assert await joined(parts, b"[]") == written


async def test_members_of_an_object_are_in_braces() -> None:
    assert await joined([b'"a":1', b'"b":2'], b"{}") == b'{"a":1,"b":2}'
