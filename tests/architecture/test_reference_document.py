"""The tables of the reference say what the code says."""

from __future__ import annotations

from tests.architecture.reference_document import DOCUMENT, codes, limits, with_tables


def test_the_tables_in_the_document_are_those_of_the_code() -> None:
    text = DOCUMENT.read_text()
    assert text == with_tables(text), "run PYTHONPATH=engine python -m tests.architecture.reference_document"


def test_a_row_that_was_changed_by_hand_would_be_found() -> None:
    text = DOCUMENT.read_text()
    assert codes() in text
    assert limits() in text
    assert with_tables(text.replace("| 412 |", "| 409 |")) == text
