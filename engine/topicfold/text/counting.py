"""Numbers of things in words, as sentences for people name them."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "topic"), counted(1200, "topic")
    ('1 topic', '1,200 topics')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
