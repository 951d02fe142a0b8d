"""Which code this is, beyond its version: a digest of the package's own files.

It is the same wherever the same code is installed, from a checkout, an archive of it or a wheel, also one that is not
unpacked, and differs wherever the code does; no release, and no tool that makes one, has to see to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from operator import itemgetter

_DIGITS = 12


@cache
def build_id() -> str:
    """Return the first hexadecimal digits of it. Ask early: files may be replaced under a process that runs.

    Cost: reads all of the package's Python, 20 ms.
    """
    return digest_of(files("topicfold"))


def digest_of(package: Traversable) -> str:
    """Return the digest of the Python files in a directory, by name and content."""
    digest = hashlib.sha256()
    for name, file in sorted(_python_in(package, ""), key=itemgetter(0)):
        digest.update(f"{name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:_DIGITS]


def _python_in(directory: Traversable, above: str) -> Iterator[tuple[str, Traversable]]:
    for each in directory.iterdir():
        if each.is_dir():
            yield from _python_in(each, f"{above}{each.name}/")
        elif each.name.endswith(".py"):
            yield above + each.name, each
