"""A commit is read back as it was put, or it is said to be damaged."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tests.snapshot.making import COMMIT, COUNTS, refused_at
from topicfold.errors import SnapshotDamaged, SnapshotUnreadable, WrongSnapshot
from topicfold.snapshot.commits import (
    MANIFESTS,
    Commit,
    put_commit,
    read_commit,
    readable_commits,
    require_log,
    sequences,
)
from topicfold.snapshot.files.data_files import write_rows
from topicfold.snapshot.intact import require_intact
from topicfold.snapshot.tables import LABEL_INDEX

ROWS = pa.table({"namespace": ["a/b"], "key": ["k"], "value": ["v"], "topics": [["x"]]}, schema=LABEL_INDEX)


def put(root: Path, sequence: int = 1) -> Commit:
    file = write_rows(root, "label_index", "1", ROWS)
    found = put_commit(root, replace(COMMIT, sequence=sequence, files=(file,)))
    assert found is not None
    return found


def manifest(root: Path, sequence: int = 1) -> Path:
    return root / MANIFESTS / f"{sequence:012}.json"


def test_a_commit_is_read_back_as_it_was_put(tmp_path: Path) -> None:
    commit = put(tmp_path)
    again = read_commit(tmp_path, 1)
    assert again == commit
    assert again.sha256 == commit.sha256 != ""
    require_intact(tmp_path, again)


def test_a_number_is_taken_once(tmp_path: Path) -> None:
    put(tmp_path)
    before = manifest(tmp_path).read_bytes()
    assert put_commit(tmp_path, replace(COMMIT, to=(9, 9))) is None
    assert manifest(tmp_path).read_bytes() == before
    assert [*(tmp_path / MANIFESTS).iterdir()] == [manifest(tmp_path)]


def test_nothing_is_left_of_a_commit_for_which_there_is_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    put_commit(tmp_path, COMMIT)
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(os, "fsync", is_full)
    with pytest.raises(OSError, match="No space"):
        put_commit(tmp_path, replace(COMMIT, sequence=COMMIT.sequence + 1))
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "forged",
    [
        {"format": None}, {"sequence": True}, {"after": "x"}, {"time_ms": -1}, {"base_sequence": 1 << 64},
        {"incarnation": None}, {"digests": [None, None]}, {"digests": ["00"]}, {"levels": [1, -1]}, {"to": None},
        {"partitions": 10**9}, {"partitions": 0, "from_": [], "to": [], "levels": [], "digests": []},
        {"counts": {}}, {"counts": {**COUNTS, "topics": "1"}}, {"files": [[1, 1, 1, ""]]}, {"added": [["topics/a", 1]]},
        *({"files": [[path, 1, 1, ""]]} for path in ("topics/../../a", "/etc/a", "topics/a/b", "topics/..", "a/\0")),
        {"files": [["topics/a", 10**30, 1, ""]]}, {"files": [["topics/a", 1, None, ""]]},
    ],
)  # fmt: skip
def test_a_commit_that_is_none_and_has_its_hash_is_damaged(tmp_path: Path, forged: dict[str, object]) -> None:
    put(tmp_path)
    fields = json.loads(json.loads(manifest(tmp_path).read_bytes())["commit"])
    text = json.dumps(fields | forged)
    found = {"commit": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    manifest(tmp_path).write_text(json.dumps(found))
    with pytest.raises(SnapshotDamaged):
        read_commit(tmp_path, 1)


def test_a_damaged_commit_hides_none_before_it(tmp_path: Path) -> None:
    for sequence in (1, 2, 3):
        put(tmp_path, sequence)
    manifest(tmp_path, 2).write_bytes(b"damaged")
    damaged: list[SnapshotDamaged] = []
    assert [each.sequence for each in readable_commits(tmp_path, damaged.append)] == [3, 1]
    assert [each.values["sequence"] for each in damaged] == [2]


def test_the_newest_comes_first(tmp_path: Path) -> None:
    assert sequences(tmp_path) == []
    put(tmp_path, 9)
    put(tmp_path, 10)
    assert sequences(tmp_path) == [10, 9]


def test_what_else_lies_beside_commits_is_none(tmp_path: Path) -> None:
    put(tmp_path)
    for name in ("notes.json", "000000000002", "000000000003.json.unfinished", "000000000004.tmp"):
        (tmp_path / MANIFESTS / name).write_text("{}")
    assert sequences(tmp_path) == [1]


def test_a_damaged_commit_is_told_of_and_gone_past(tmp_path: Path) -> None:
    commit, damaged = put(tmp_path), list[SnapshotDamaged]()
    put(tmp_path, 2)
    manifest(tmp_path, 2).write_bytes(b"{}")
    assert list(readable_commits(tmp_path, damaged.append)) == [commit]
    assert [each.values["sequence"] for each in damaged] == [2]


def test_commits_that_cannot_be_listed_are_not_taken_for_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path)
    monkeypatch.setattr(os, "listdir", refused_at(tmp_path / MANIFESTS))
    with pytest.raises(SnapshotUnreadable, match=f"{tmp_path} cannot be read: .*{MANIFESTS}: Permission denied"):
        sequences(tmp_path)


@pytest.mark.parametrize("why", [errno.EIO, errno.ESTALE, errno.EISDIR])
def test_a_commit_whose_file_cannot_be_read_is_not_taken_for_a_damaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: int
) -> None:
    def fail(path: Path) -> bytes:
        raise OSError(why, os.strerror(why), str(path))

    put(tmp_path)
    monkeypatch.setattr(Path, "read_bytes", fail)
    with pytest.raises(SnapshotUnreadable, match=f"{manifest(tmp_path)} cannot be read: {os.strerror(why)}"):
        read_commit(tmp_path, 1)


def test_a_commit_that_is_removed_while_it_is_read_is_gone_past(tmp_path: Path) -> None:
    with pytest.raises(SnapshotDamaged, match="No such file"):
        read_commit(tmp_path, 1)


@pytest.mark.parametrize("name", ["file:///snapshot", "s3://bucket/snapshot"])
def test_a_url_is_not_taken_for_a_directory_without_commits(name: str) -> None:
    with pytest.raises(SnapshotUnreadable, match=rf"^{name.split(':')[0]}://… is a URL") as caught:
        sequences(Path(name))
    assert "mounted" in caught.value.hint


def test_any_byte_of_a_commit_that_changed_is_found(tmp_path: Path) -> None:
    commit = put(tmp_path)
    whole = manifest(tmp_path).read_bytes()
    for place in range(len(whole)):
        manifest(tmp_path).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(SnapshotDamaged):
            assert read_commit(tmp_path, 1) == commit


def test_a_commit_that_is_nested_too_deep_is_damaged(tmp_path: Path) -> None:
    put(tmp_path)
    manifest(tmp_path).write_text("[" * 5_000)
    with pytest.raises(SnapshotDamaged):
        read_commit(tmp_path, 1)


def test_an_older_commit_on_top_is_found(tmp_path: Path) -> None:
    put(tmp_path)
    manifest(tmp_path, 2).write_bytes(manifest(tmp_path).read_bytes())
    with pytest.raises(SnapshotDamaged, match="it is commit 1"):
        read_commit(tmp_path, 2)


@pytest.mark.parametrize("damage", ["flipped", "cut", "missing", "another"])
def test_a_data_file_that_is_not_what_it_was_is_found(tmp_path: Path, damage: str) -> None:
    commit = put(tmp_path)
    path = tmp_path / commit.files[0].path
    whole = path.read_bytes()
    match damage:
        case "flipped":
            path.write_bytes(whole[:99] + bytes([whole[99] ^ 4]) + whole[100:])
        case "cut":
            path.write_bytes(whole[:-1])
        case "missing":
            path.unlink()
        case "another":
            other = write_rows(tmp_path, "label_index", "2", pa.concat_tables([ROWS, ROWS]))
            path.write_bytes((tmp_path / other.path).read_bytes())
    with pytest.raises(SnapshotDamaged, match=path.name):
        require_intact(tmp_path, commit)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    put_commit(tmp_path, replace(COMMIT, format=2))
    with pytest.raises(WrongSnapshot, match="format 2") as refused:
        read_commit(tmp_path, 1)
    assert refused.value.hint == "Install a newer Topicfold here."


@pytest.mark.parametrize(("incarnation", "partitions"), [("cd" * 16, 2), ("ab" * 16, 3)])
def test_a_commit_of_another_log_or_number_of_partitions_is_refused(incarnation: str, partitions: int) -> None:
    require_log(COMMIT, bytes.fromhex("ab" * 16), 2, "another directory")
    with pytest.raises(WrongSnapshot, match="is of the log"):
        require_log(COMMIT, bytes.fromhex(incarnation), partitions, "another directory")
