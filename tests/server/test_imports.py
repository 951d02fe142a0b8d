"""What a server costs before it serves: counted in modules, which do not depend on the machine's mood."""

from __future__ import annotations

import subprocess
import sys

FOR_SOME_NODES_ONLY = {
    "apsw",
    "confluent_kafka",
    "cryptography",
    "fastapi",
    "httpx2",
    "jwt",
    "matplotlib",
    "numpy",
    "pandas",
    "pyarrow",
    "pyspark",
    "typer",
}
"""For logs of either kind, for snapshots, traces, JSON Web Tokens and the command line."""


def test_a_server_imports_nothing_that_only_some_nodes_need() -> None:
    code = "import sys, topicfold.server.run; print(*{name.partition('.')[0] for name in sys.modules})"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert FOR_SOME_NODES_ONLY.isdisjoint(ran.stdout.split())
