"""A file is written whole, or is what it was before."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from tests.full_disk import no_room
from topicfold.cli.whole_file import write_whole
from topicfold.errors import InvalidRequest


def test_where_there_is_no_room_the_file_stays_what_it_was_and_nothing_lies_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "policies.yaml"
    write_whole(file, b"before")
    with pytest.raises(InvalidRequest, match=r"policies.yaml cannot be written: File too large"), no_room():
        write_whole(file, b"after")
    assert (file.read_text(), os.listdir(tmp_path)) == ("before", ["policies.yaml"])


def test_a_file_keeps_its_mode_and_the_links_to_it(tmp_path: Path) -> None:
    file, link = tmp_path / "policies.yaml", tmp_path / "link.yaml"
    file.write_text("before")
    file.chmod(0o640)
    link.symlink_to(file)
    write_whole(link, b"after")
    assert (file.read_text(), file.stat().st_mode & 0o777, link.is_symlink()) == ("after", 0o640, True)


def test_what_takes_the_place_of_a_private_file_is_private_before_it_holds_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "policies.yaml"
    file.write_text("before")
    file.chmod(0o600)
    open_to_others: list[int] = []
    copied = shutil.copymode

    def copymode(source: Path, target: Path) -> None:
        open_to_others.append(target.stat().st_mode & 0o077)
        copied(source, target)

    monkeypatch.setattr(shutil, "copymode", copymode)
    write_whole(file, b"after")
    assert (file.read_text(), open_to_others) == ("after", [0])


def test_a_new_file_has_the_mode_that_files_have(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "policies.yaml", b"text")
    finally:
        os.umask(before)
    assert (tmp_path / "policies.yaml").stat().st_mode & 0o777 == 0o640


def test_a_file_that_nothing_can_take_the_place_of_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace(*_: Path) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    file = tmp_path / "policies.yaml"
    file.write_text("before and more")
    monkeypatch.setattr(os, "replace", replace)
    write_whole(file, b"after")
    assert (file.read_text(), os.listdir(tmp_path)) == ("after", ["policies.yaml"])


def test_a_file_that_is_protected_stays_what_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "policies.yaml"
    file.write_text("before")
    file.chmod(0o444)
    # Whoever runs this may be root, who may write everything.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).stat().st_mode & 0o200)
    with pytest.raises(InvalidRequest, match="cannot be written: Permission denied"):
        write_whole(file, b"after")
    assert file.read_text() == "before"


def test_what_is_no_plain_file_is_written_as_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, b"text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)


def test_a_directory_is_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="cannot be written: Is a directory"):
        write_whole(tmp_path, b"text")
