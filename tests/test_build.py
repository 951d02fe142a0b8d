"""A build is known by its code, wherever that lies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import topicfold
from topicfold.build import build_id, digest_of

PACKAGE = Path(topicfold.__file__).parent
SCHEMAS = sorted((Path(__file__).parents[1] / "schemas").glob("*.avsc"))


def test_the_same_code_is_the_same_build_wherever_it_is_installed(tmp_path: Path) -> None:
    copied = tmp_path / "topicfold"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    assert digest_of(copied) == build_id()


def test_an_archive_that_is_not_unpacked_is_the_same_build_and_reads_its_schemas(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "topicfold.zip", "w") as archive:
        for file in sorted(PACKAGE.rglob("*.py")):
            archive.write(file, Path("topicfold", file.relative_to(PACKAGE)))
        for schema in SCHEMAS:
            archive.write(schema, f"topicfold/schemas/{schema.name}")
    code = (
        "from topicfold.build import build_id; from topicfold.log import avro; avro.read_schemas(); "
        "print(build_id(), avro.schema_called.cache_info().currsize)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "topicfold.zip")}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [build_id(), str(len(SCHEMAS))]


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
