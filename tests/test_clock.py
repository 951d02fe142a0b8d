"""Random ids: each is given once, by all threads and by a process that was forked off, too."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from topicfold.clock import random_id

IDS = 1_000
"""More than are drawn at once."""


def _ids(_: int = 0) -> list[bytes]:
    return [random_id() for _ in range(IDS)]


def test_no_id_is_given_twice() -> None:
    with ThreadPoolExecutor(4) as threads:
        ids = [each for some in threads.map(_ids, range(8)) for each in some]
    assert len(set(ids)) == 8 * IDS
    assert {len(each) for each in ids} == {16}


def test_a_forked_process_gives_ids_of_its_own() -> None:
    random_id()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, random_id())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        theirs = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    assert len(theirs) == 16
    assert theirs not in _ids()
