"""The document about policies says what the table of policies says."""

from __future__ import annotations

from tests.architecture.policies_document import DOCUMENT, table, with_table


def test_the_table_in_the_document_is_that_of_the_code() -> None:
    text = DOCUMENT.read_text()
    assert text == with_table(text), "run PYTHONPATH=engine python -m tests.architecture.policies_document"


def test_a_row_that_was_changed_by_hand_would_be_found() -> None:
    text = DOCUMENT.read_text()
    assert with_table(text.replace("› namespace", "", 1)) == text
    assert table() in text
