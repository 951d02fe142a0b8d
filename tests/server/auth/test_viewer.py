"""What somebody may see who may not see everything."""

from __future__ import annotations

import os
import subprocess
import sys

from topicfold.server.auth.viewer import Viewer

ANN = Viewer(frozenset({"ann", "team"}), frozenset({"acme/whole"}))


def test_all_topics_of_a_whole_namespace_are_seen_and_else_those_granted_to_a_role() -> None:
    assert ANN.sees("acme/whole", {})
    assert ANN.sees("acme/pay", {"team": ("list-topics",)})
    assert ANN.sees("acme/pay", {"ann": ("produce",)})
    assert not ANN.sees("acme/pay", {"ann": ("watch", "read-policies"), "bob": ("admin",)})
    assert not ANN.sees("acme/pay", {})


def test_equal_viewers_have_equal_marks_and_others_have_others() -> None:
    same = Viewer(frozenset({"team", "ann"}), frozenset({"acme/whole"}))
    others = [Viewer(frozenset({"ann"}), ANN.whole), Viewer(ANN.roles, frozenset()), Viewer(ANN.whole, ANN.roles)]
    assert (same, hash(same), same.mark) == (ANN, hash(ANN), ANN.mark)
    assert len({each.mark for each in (ANN, *others)}) == 4
    assert ANN.mark.isalnum()


MARKED = """
from topicfold.server.auth.viewer import Viewer
print(Viewer(frozenset(f"role-{n}" for n in range(12)), frozenset(f"a/{n}" for n in range(12))).mark)
"""


def test_a_mark_is_the_same_in_every_process() -> None:
    marks = {
        subprocess.run(
            [sys.executable, "-c", MARKED], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(marks) == 1
