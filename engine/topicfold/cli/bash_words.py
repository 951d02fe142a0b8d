"""Bash parts words at `:` and `=` before it asks for completion: put together again, and answers cut as it wants them.

    topicfold topics get persistent://public/de⇥   bash has the words …, persistent, :, //public/de
                                                   and puts the answer in the place of //public/de

Source: Bash Reference Manual, 8.6 Programmable Completion, and `COMP_WORDBREAKS`.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout

_BREAKS = ":="
_WORDS, _AT = "COMP_WORDS", "COMP_CWORD"


@contextmanager
def whole_words() -> Iterator[None]:
    """Have what is completed meanwhile, if it is bash that asks, begin with whole words, and answer with parts."""
    if os.environ.get("_TOPICFOLD_COMPLETE") != "complete_bash":
        yield
        return
    words, at = _joined(os.environ)
    os.environ[_WORDS], os.environ[_AT] = "\n".join(words), str(at)
    answer = io.StringIO()
    try:
        with redirect_stdout(answer):
            yield
    finally:
        begun = words[at] if at < len(words) else ""
        sys.stdout.write("".join(f"{_end(word, begun)}\n" for word in answer.getvalue().splitlines()))


def _joined(environ: Mapping[str, str]) -> tuple[list[str], int]:
    """Return the words that bash parted, and the place of the one to be completed.

    >>> _joined({"COMP_WORDS": "\\n".join(["topicfold", "get", "a", ":", "//b"]), "COMP_CWORD": "4"})
    (['topicfold', 'get', 'a://b'], 2)
    """
    words, at = environ[_WORDS].split("\n"), int(environ[_AT])
    joined: list[str] = []
    place = 0
    for number, word in enumerate(words):
        if joined and word and (_is_break(word) or _is_break(words[number - 1])):
            joined[-1] += word
        else:
            joined.append(word)
        if number == at:
            place = len(joined) - 1
    return joined, place if at < len(words) else len(joined)


def _end(word: str, begun: str) -> str:
    """Return `word` without what stands before the last place where bash parts `begun`, which it goes on from.

    What is in quotes it does not part.

    >>> _end("persistent://public/default/orders", "persistent://pub"), _end("tier:gold", "--custom-labels=tier:g")
    ('//public/default/orders', 'gold')
    >>> _end("team=pay", "'team=p"), _end("team=pay", "--selector='team=p")
    ('team=pay', 'team=pay')
    """
    option, is_given, value = begun.partition("=")
    if is_given and option.startswith("-"):
        begun = value
    if begun.startswith(("'", '"')):
        return word
    return word[1 + max(begun.rfind(each) for each in _BREAKS) :]


def _is_break(word: str) -> bool:
    return word.strip(_BREAKS) == "" != word
