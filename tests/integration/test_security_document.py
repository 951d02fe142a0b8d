"""The example of `docs/security.md` grants what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.node import running
from tests.markdown import code_blocks
from topicfold.client import Client
from topicfold.errors import Forbidden

(EXAMPLE,) = code_blocks((Path(__file__).parents[2] / "docs" / "security.md").read_text(), "python")


def test_each_team_may_edit_its_own_topics_and_see_the_others(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"token-of-{role} {role}\n" for role in ("ops", "pay", "ship")))
    options = ["--log", str(tmp_path / "log.db"), "--auth-static-tokens-file", str(tokens), "--superusers", "ops"]
    with running(options, tmp_path) as (node,), Client(node.url, token="token-of-ops") as admin:
        admin.create_topic("orders", labels={"team": "pay"})
        admin.create_topic("parcels", labels={"team": "ship"})
        admin.create_topic("logs")
        text = EXAMPLE.replace("Client()", f"Client({node.url!r}, token='token-of-ops')")
        subprocess.run([sys.executable, "-c", text], check=True, timeout=60)
        with Client(node.url, token="token-of-pay") as pay:
            pay.set_labels("orders", {"tier": "gold"})
            assert len(pay.find_topics().topics) == 3
            assert pay.get_labels("parcels") == {"team": "ship"}
            for foreign in ("parcels", "logs"):
                with pytest.raises(Forbidden):
                    pay.set_labels(foreign, {"tier": "gold"})
