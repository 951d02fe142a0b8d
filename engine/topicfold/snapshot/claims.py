"""Claims: who writes the commit after a given one. A claim is a file created exclusively, so at most one job has it.

The name `PATH/claims/<sequence>-<predecessor>.json` contains the predecessor's SHA-256 (16 digits), so a claim made on
another history never counts. A job that finds another's claim waits for that commit. The claim of a job that died is
taken over, again exclusively: on the same machine at once, because its lock is gone; elsewhere after the lease. A job
that was only slow does no harm: `commits.put_commit` accepts only one commit per number, whoever believes it has the
claim.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from pathlib import Path

from topicfold.snapshot.files.durable_files import sync_directory, write_durably
from topicfold.snapshot.files.file_clock import now_in
from topicfold.snapshot.files.unfinished import unfinished
from topicfold.text.json_text import read_json

CLAIMS = "claims"
LEASE_SECONDS = 900.0
"""Longer than folding any batch takes. Taking over too early would waste work, but do no other harm."""
_LOCKABLE = os.O_RDWR
"""How to open a file in order to lock it: NFS gives an exclusive lock only on one that is open for writing.

Source: flock(2), "NFS details".
"""


class Claims:
    """The claims of one job on one snapshot. It holds one at a time."""

    def __init__(self, root: Path, *, lease_seconds: float = LEASE_SECONDS) -> None:
        self._directory = root / CLAIMS
        self._lease_seconds = lease_seconds
        self._held: tuple[str, Path, int] | None = None

    def take(self, sequence: int, predecessor: str, start: tuple[int, ...]) -> bool:
        """Claim the commit after `predecessor`, from the positions `start`; return whether this job may write it."""
        name = f"{sequence:012}-{predecessor[:16]}"
        if self._held and self._held[0] == name:
            return True
        self.drop()
        self._directory.mkdir(parents=True, exist_ok=True)
        takeover = 0
        while True:
            path = self._directory / (f"{name}-takeover-{takeover}.json" if takeover else f"{name}.json")
            if self._made(name, path, start):
                self._drop_settled(sequence)
                return True
            is_last = not (self._directory / f"{name}-takeover-{takeover + 1}.json").exists()
            if is_last and self._is_alive(path):
                return False
            takeover += 1

    def drop(self) -> None:
        """Release the claim that is held, if any: its commit exists, or will not be written."""
        if self._held:
            _, path, descriptor = self._held
            self._held = None
            path.unlink(missing_ok=True)
            os.close(descriptor)

    def _made(self, name: str, path: Path, start: tuple[int, ...]) -> bool:
        """Create the claim, locked before anybody can see it; return False if it exists already."""
        made = unfinished(path)
        facts = {
            "host": socket.gethostname(), "pid": os.getpid(), "from": list(start), "time_ms": int(time.time() * 1000)
        }  # fmt: skip
        write_durably(made, json.dumps(facts).encode())
        descriptor = os.open(made, _LOCKABLE)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            os.link(made, path)
        except FileExistsError:
            os.close(descriptor)
            return False
        finally:
            made.unlink()
        sync_directory(self._directory)
        self._held = (name, path, descriptor)
        return True

    def _is_alive(self, path: Path) -> bool:
        """Return whether the job that made a claim may still be working on its commit."""
        try:
            descriptor = os.open(path, _LOCKABLE)
        except FileNotFoundError:
            return True
        try:
            if _host_in(path.read_bytes()) == socket.gethostname():
                return not _is_free(descriptor)
            return self._age_seconds(descriptor) < self._lease_seconds
        except FileNotFoundError:
            return True
        finally:
            os.close(descriptor)

    def _age_seconds(self, descriptor: int) -> float:
        """Return a file's age. Both times come from the files' file system, because machines' clocks differ."""
        return now_in(self._directory) - os.fstat(descriptor).st_mtime

    def _drop_settled(self, sequence: int) -> None:
        """Remove the claims on earlier commits."""
        for path in self._directory.glob("*.json"):
            number = path.name.partition("-")[0]
            if number.isdecimal() and int(number) < sequence:
                path.unlink(missing_ok=True)


def _host_in(claim: bytes) -> str:
    """Return the machine of the job that made a claim; "" if the claim is damaged, so that only its lease counts."""
    try:
        return str(read_json(claim)["host"])
    except (ValueError, KeyError, TypeError):
        return ""


def _is_free(descriptor: int) -> bool:
    """Return whether nobody on this machine holds a lock on the file."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
