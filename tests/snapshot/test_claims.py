"""One job at a time has the claim on a commit; a dead one's is taken over, a living one's is not."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from topicfold.snapshot.claims import CLAIMS, Claims

HOLD = """
import sys, time
from pathlib import Path
from topicfold.snapshot.claims import Claims
assert Claims(Path(sys.argv[1])).take(1, "genesis", (0,))
print("held", flush=True)
time.sleep(60)
"""


def claim_files(root: Path) -> list[str]:
    return sorted(each.name for each in (root / CLAIMS).iterdir())


def open_files(root: Path) -> list[str]:
    """Return the files beneath `root` that this process has open, though they be deleted."""
    found = []
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(each))
    return [each for each in found if each.startswith(str(root))]


linux_tells = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="what is open is shown by Linux alone")


def test_a_claim_is_its_first_jobs_and_nobody_elses(tmp_path: Path) -> None:
    first, second = Claims(tmp_path), Claims(tmp_path)
    assert first.take(1, "genesis", (0, 0))
    assert not second.take(1, "genesis", (0, 0))
    assert first.take(1, "genesis", (0, 0))


def test_a_claim_that_is_asked_for_again_is_not_let_go_for_a_moment(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    claims.take(1, "genesis", (0,))
    (path,) = (tmp_path / CLAIMS).iterdir()
    before = path.stat()
    claims.take(1, "genesis", (0,))
    assert path.stat() == before


def test_a_claim_is_locked_also_where_that_takes_a_file_that_may_be_written_as_on_nfs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock

    def flock_of_nfs(descriptor: int, operation: int) -> None:
        if operation & fcntl.LOCK_EX and not fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_RDWR:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock_of_nfs)
    first, second = Claims(tmp_path), Claims(tmp_path)
    assert first.take(1, "genesis", (0,))
    assert not second.take(1, "genesis", (0,))


def test_a_claim_that_was_given_up_can_be_taken(tmp_path: Path) -> None:
    first, second = Claims(tmp_path), Claims(tmp_path)
    first.take(1, "genesis", (0,))
    first.drop()
    assert claim_files(tmp_path) == []
    assert second.take(1, "genesis", (0,))


def test_whoever_claims_another_commit_gives_up_the_one_it_had(tmp_path: Path) -> None:
    first, second = Claims(tmp_path), Claims(tmp_path)
    assert first.take(2, "a" * 64, (0,))
    assert first.take(2, "b" * 64, (0,))
    assert second.take(2, "a" * 64, (0,))


@linux_tells
def test_no_file_stays_open_of_a_claim_that_was_given_up_or_is_anothers(tmp_path: Path) -> None:
    first, second = Claims(tmp_path), Claims(tmp_path)
    assert first.take(1, "genesis", (0,))
    assert not second.take(1, "genesis", (0,))
    assert len(open_files(tmp_path)) == 1
    for _ in range(2):
        first.drop()
    assert open_files(tmp_path) == []


def test_claims_on_other_histories_do_not_meet(tmp_path: Path) -> None:
    assert Claims(tmp_path).take(2, "a" * 64, (0,))
    assert Claims(tmp_path).take(2, "b" * 64, (0,))


def test_a_killed_jobs_claim_is_taken_over_at_once_and_by_one_only(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        first, second = Claims(tmp_path), Claims(tmp_path)
        assert not first.take(1, "genesis", (0,))
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert first.take(1, "genesis", (0,))
        assert not second.take(1, "genesis", (0,))


def test_a_claim_from_elsewhere_is_taken_over_after_its_lease(tmp_path: Path) -> None:
    Claims(tmp_path).take(1, "genesis", (0,))
    (path,) = (tmp_path / CLAIMS).iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"host": "elsewhere"}))
    assert not Claims(tmp_path, lease_seconds=60).take(1, "genesis", (0,))
    assert Claims(tmp_path, lease_seconds=0).take(1, "genesis", (0,))


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"{}", b"\xff\xfe"])
def test_a_damaged_claim_is_taken_over_after_its_lease(tmp_path: Path, damage: bytes) -> None:
    Claims(tmp_path).take(1, "genesis", (0,))
    (path,) = (tmp_path / CLAIMS).iterdir()
    path.write_bytes(damage)
    assert not Claims(tmp_path, lease_seconds=60).take(1, "genesis", (0,))
    assert Claims(tmp_path, lease_seconds=0).take(1, "genesis", (0,))


def test_a_claim_that_was_taken_over_is_nobodys_however_alive_its_job_is(tmp_path: Path) -> None:
    slow = Claims(tmp_path)
    slow.take(1, "genesis", (0,))
    (path,) = (tmp_path / CLAIMS).iterdir()
    path.with_name(f"{path.stem}-takeover-1.json").write_text('{"host": "elsewhere"}')
    assert not Claims(tmp_path, lease_seconds=60).take(1, "genesis", (0,))
    assert Claims(tmp_path, lease_seconds=0).take(1, "genesis", (0,))


def test_a_claim_that_vanishes_while_it_is_looked_at_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Claims(tmp_path), Claims(tmp_path)
    first.take(1, "genesis", (0,))
    made = second._made

    def made_late(*claim: Any) -> bool:
        try:
            return made(*claim)
        finally:
            first.drop()

    monkeypatch.setattr(second, "_made", made_late)
    assert not second.take(1, "genesis", (0,))
    assert second.take(1, "genesis", (0,))


def test_a_claim_that_vanishes_while_it_is_read_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(path: Path) -> bytes:
        raise FileNotFoundError(path)

    assert Claims(tmp_path).take(1, "genesis", (0,))
    monkeypatch.setattr(Path, "read_bytes", gone)
    assert not Claims(tmp_path, lease_seconds=0).take(1, "genesis", (0,))


@linux_tells
def test_a_claim_that_others_have_cleared_away_is_given_up_like_any_other(tmp_path: Path) -> None:
    claims = Claims(tmp_path / "snapshot")
    assert claims.take(1, "genesis", (0,))
    for path in (tmp_path / "snapshot" / CLAIMS).iterdir():
        path.unlink()
    assert len(open_files(tmp_path)) == 1
    claims.drop()
    assert open_files(tmp_path) == []


def test_of_two_jobs_that_clear_away_the_same_claims_neither_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / CLAIMS / "000000000001-genesis.json"
    monkeypatch.setattr(Path, "glob", lambda *_: iter([gone]))
    assert Claims(tmp_path).take(2, "c" * 64, (5,))


def test_the_next_claim_clears_away_settled_ones(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    claims.take(1, "genesis", (0,))
    (tmp_path / CLAIMS / "000000000001-older.json").write_text("{}")
    (tmp_path / CLAIMS / "no-claim.json").write_text("{}")
    assert claims.take(2, "c" * 64, (5,))
    assert claim_files(tmp_path) == [f"000000000002-{'c' * 16}.json", "no-claim.json"]
