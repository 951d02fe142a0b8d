"""A build is known by its code, wherever that lies."""

from __future__ import annotations

import shutil
from pathlib import Path

import topicfold
from topicfold.build import build_id, digest_of


def test_the_same_code_is_the_same_build_wherever_it_is_installed(tmp_path: Path) -> None:
    copied = tmp_path / "topicfold"
    shutil.copytree(Path(topicfold.__file__).parent, copied, ignore=shutil.ignore_patterns("__pycache__"))
    assert digest_of(copied) == build_id()


def test_whatever_changes_in_the_code_is_another_build(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    seen = {digest_of(tmp_path)}
    (tmp_path / "a.py").write_text("2")
    seen.add(digest_of(tmp_path))
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    seen.add(digest_of(tmp_path))
    (tmp_path / "within").mkdir()
    (tmp_path / "b.py").rename(tmp_path / "within" / "b.py")
    seen.add(digest_of(tmp_path))
    (tmp_path / "notes.txt").write_text("no code")
    seen.add(digest_of(tmp_path))
    assert len(seen) == 4
