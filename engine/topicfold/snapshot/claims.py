"""Claims: who writes the commit after a given one. Files that are made exclusively, so one job at most has each.

`PATH/claims/<sequence>-<predecessor>.json` says in its name what it is about: the predecessor's SHA-256, so a claim
made on another history never counts. A job that finds another's claim waits for that commit. The claim of a job that
died is taken over, again exclusively: on the same machine at once, for its lock is gone, elsewhere after the lease.
A job that was only slow does no harm: `commits.put_commit` lets one commit take a number, whoever believes to have
the claim.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from pathlib import Path

from topicfold.json_text import read_json
from topicfold.snapshot.durable_files import sync_directory, write_durably
from topicfold.snapshot.file_clock import now_in
from topicfold.snapshot.unfinished import unfinished

CLAIMS = "claims"
LEASE_SECONDS = 900.0
"""Longer than any batch takes to fold: to take over earlier wastes work, and no more."""


class Claims:
    """The claims of one job on one snapshot. It holds one at a time."""

    def __init__(self, root: Path, *, lease_seconds: float = LEASE_SECONDS) -> None:
        self._directory = root / CLAIMS
        self._lease_seconds = lease_seconds
        self._held: tuple[str, Path, int] | None = None

    def take(self, sequence: int, predecessor: str, start: tuple[int, ...]) -> bool:
        """Return whether the commit after `predecessor`, from the positions `start` on, is this job's to write."""
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
        """Give up the claim that is held: its commit is there, or never will be."""
        if self._held:
            _, path, descriptor = self._held
            self._held = None
            path.unlink(missing_ok=True)
            os.close(descriptor)

    def _made(self, name: str, path: Path, start: tuple[int, ...]) -> bool:
        """Make the claim, locked from before anybody can see it; return False if there is one."""
        made = unfinished(path)
        facts = {
            "host": socket.gethostname(), "pid": os.getpid(), "from": list(start), "time_ms": int(time.time() * 1000)
        }  # fmt: skip
        write_durably(made, json.dumps(facts).encode())
        descriptor = os.open(made, os.O_RDONLY)
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
        """Return whether the job that made a claim may still be at work on it."""
        try:
            descriptor = os.open(path, os.O_RDONLY)
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
        """Return how long ago a file was made. Both times come from where the files are: clocks of machines differ."""
        return now_in(self._directory) - os.fstat(descriptor).st_mtime

    def _drop_settled(self, sequence: int) -> None:
        """Remove the claims on earlier commits."""
        for path in self._directory.glob("*.json"):
            number = path.name.partition("-")[0]
            if number.isdecimal() and int(number) < sequence:
                path.unlink(missing_ok=True)


def _host_in(claim: bytes) -> str:
    """Return which machine the job is on that made a claim, "" where it is damaged: then its lease alone counts."""
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
