"""Which code this is, beyond its version: a digest of the package's own files.

It is the same wherever the same code is installed, from a checkout, an archive of it or a wheel, and differs wherever
the code does; no release, and no tool that makes one, has to see to it.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent
_DIGITS = 12


@cache
def build_id() -> str:
    """Return the first hexadecimal digits of it. Ask early: files may be replaced under a process that runs.

    Cost: reads all of the package's Python, 20 ms.
    """
    return digest_of(_PACKAGE)


def digest_of(package: Path) -> str:
    """Return the digest of the Python files in a directory, by name and content."""
    digest = hashlib.sha256()
    for name in sorted(path.relative_to(package).as_posix() for path in package.rglob("*.py")):
        digest.update(f"{name}\0".encode() + hashlib.sha256((package / name).read_bytes()).digest())
    return digest.hexdigest()[:_DIGITS]
