"""What Java prints on this machine: held back while it starts, and shown only if the start fails for no reason that
Java names.

Otherwise Ivy prints some fifty lines about what it looks for, and Java warns that Spark uses an incubator module.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_CHUNK_BYTES = 65_536
_LAST_WORDS_SECONDS = 1.0
_IS_UP = b"\x00 is up \x00"
_FATAL = re.compile(r'^Exception in thread "main" [\w.$]+: \[?(.+?)\]?$', re.MULTILINE)
"""Java's line about the exception that ended it; Ivy has its own in brackets."""


@contextmanager
def kept_while_starting() -> Iterator[Mapping[str, int]]:
    """Yield arguments of `Popen` for a process that is started in this block.

    The process's output goes to stderr: all of it if the block fails, otherwise only what it writes after the block.
    If the process names the exception that ended it, the output becomes a note of the block's error instead.
    """
    reader, writer = os.pipe()
    output = _Output(reader)
    try:
        yield {"stdout": writer, "stderr": writer}
        os.write(writer, _IS_UP)
    except BaseException as error:
        os.close(writer)
        output.tell(error)
        raise
    os.close(writer)


def fatal_in(error: BaseException) -> str | None:
    """Return what the exception said that ended the process, according to the notes of `error`."""
    found = _FATAL.search("\n".join(getattr(error, "__notes__", ())))
    return found and found[1]


class _Output:
    """Reads the pipe in a thread; holds back its content until a marker in the pipe says that the process is up."""

    def __init__(self, reader: int) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        self._kept = b""
        self._is_kept = True
        self._thread = threading.Thread(target=self._run, name="java-output", daemon=True)
        self._thread.start()

    def tell(self, error: BaseException) -> None:
        """Note or pass on what was held back, with the last words of a process that is ending; hold back no more."""
        self._thread.join(_LAST_WORDS_SECONDS)
        with self._lock:
            self._is_kept = False
            said = self._kept.decode(errors="replace")
            if _FATAL.search(said):
                error.add_note(said)
            else:
                _pass_on(self._kept)

    def _run(self) -> None:
        with open(self._reader, "rb", buffering=0) as said:
            while chunk := said.read(_CHUNK_BYTES):
                with self._lock:
                    self._take(chunk)

    def _take(self, chunk: bytes) -> None:
        if self._is_kept:
            self._kept += chunk
            _, is_up, chunk = self._kept.partition(_IS_UP)
            if not is_up:
                return
            self._is_kept = False
        _pass_on(chunk)


def _pass_on(said: bytes) -> None:
    if said:
        sys.stderr.write(said.decode(errors="replace"))
        sys.stderr.flush()
