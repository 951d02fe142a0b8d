"""What whoever asked is told of a refused operation."""

from __future__ import annotations

import pytest

from tests.builders import NAMESPACE, TOPIC
from topicfold.model.events import AggregateKind, Verdict, is_refusal
from topicfold.runtime.writing.refusals import refusal
from topicfold.runtime.writing.update import Target
from topicfold.wire.problems import status_of

OF_A_NEWER_NODE = 77


@pytest.mark.parametrize("verdict", [*(each for each in Verdict if is_refusal(each)), OF_A_NEWER_NODE])
def test_every_refusal_is_told_as_one_and_never_as_a_defect(verdict: int) -> None:
    error = refusal(verdict, "", Target(AggregateKind.TOPIC, TOPIC, NAMESPACE, 0), "")
    assert 400 <= status_of(error, under_admin=False) < 500
    assert error.reason


def test_a_reason_that_only_a_newer_node_knows_is_to_be_asked_there() -> None:
    error = refusal(OF_A_NEWER_NODE, "", Target(AggregateKind.TOPIC, TOPIC, NAMESPACE, 0), "")
    assert (error.code, "(77)" in error.reason) == ("invalid_request", True)
    assert error.hint == "Upgrade this node, or ask an upgraded one."
