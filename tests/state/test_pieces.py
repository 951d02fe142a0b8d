"""Restored bytes come out of one piece, one's own as they were put, and both beside each other."""

from __future__ import annotations

from array import array

from topicfold.state.pieces import ByteColumn, Pieces


def restored(*texts: bytes) -> ByteColumn:
    """Return a column that was restored with these, other bytes lying between them."""
    content, starts, ends = bytearray(), array("q"), array("q")
    for text in texts:
        content += b"#"
        starts.append(len(content))
        content += text
        ends.append(len(content))
    column = ByteColumn()
    column.restore(Pieces(memoryview(content), memoryview(starts), memoryview(ends)))
    return column


def test_restored_bytes_are_those_between_start_and_end() -> None:
    column = restored(b"pay", b"", b"ship")
    assert [column.of(number) for number in range(3)] == [b"pay", b"", b"ship"]
    assert column.of_each([2, 0, 2, 1]) == [b"ship", b"pay", b"ship", b""]


def test_what_is_put_over_restored_bytes_counts_an_empty_one_too() -> None:
    column = restored(b"pay", b"ship", b"bill")
    column[0], column[1] = b"", b"sent"
    column.append(b"new")
    assert column.of_each([3, 2, 1, 0]) == [b"new", b"bill", b"sent", b""]
    assert [column.of(number) for number in range(4)] == [b"", b"sent", b"bill", b"new"]


def test_a_column_that_was_not_restored_has_what_was_put() -> None:
    column = ByteColumn()
    column.append(b"pay")
    assert (column.of(0), column.of_each([0, 0]), column.of_each([])) == (b"pay", [b"pay", b"pay"], [])


def test_restoring_nothing_leaves_an_empty_column() -> None:
    column = restored()
    assert (len(column), column.of_each([])) == (0, [])
    column.append(b"pay")
    assert column.of(0) == b"pay"
