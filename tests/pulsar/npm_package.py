"""The npm package `pulsar-admin-client`, kept in `.pulsar/` of the checkout.

`python -m tests.pulsar.npm_package` fetches it ahead of the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.prerequisites import CHECKOUT, Unavailable, Undelivered, cache_option, fetched, made_once
from tests.pulsar.admin_jars import SCRIPT

CLIENT = "1.0.10"


def package() -> Path:
    """Return a directory with the package in its `node_modules`, fetched now if it is not there.

    Raises:
        Unavailable: Node or npm is missing, or npm could not fetch it.
    """
    if not shutil.which("node"):
        raise Unavailable(f"Node is missing: run {SCRIPT}")
    return made_once(CHECKOUT / ".pulsar" / f"npm-{CLIENT}", _install)


def _install(directory: Path) -> None:
    if not shutil.which("npm"):
        raise Unavailable(f"npm is missing: run {SCRIPT}")
    directory.mkdir()
    (directory / "package.json").write_text('{"private": true}\n')
    quietly = ["--no-audit", "--no-fund", "--no-package-lock", "--no-update-notifier", "--ignore-scripts"]
    cache = cache_option("--cache=", Path(os.environ.get("HOME", "/"), ".npm"), directory.parent / "npm-cache")
    command = ["npm", "install", *quietly, *cache, f"pulsar-admin-client@{CLIENT}"]
    npm = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if npm.returncode:
        raise Undelivered(f"npm could not fetch pulsar-admin-client {CLIENT}:\n{npm.stderr[-2000:]}")


if __name__ == "__main__":
    try:
        print(fetched(package))
    except Unavailable as reason:
        sys.exit(str(reason))
