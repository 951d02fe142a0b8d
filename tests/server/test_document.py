"""The OpenAPI document that is checked in is the one that is served."""

from __future__ import annotations

from tests.server.document import DOCUMENT, as_text, current_document


async def test_the_document_that_is_checked_in_is_the_one_that_is_served() -> None:
    again = "python -m tests.server.document writes it anew"
    assert DOCUMENT.read_text() == as_text(await current_document()), again
