"""Every error goes over the wire and comes back as itself."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from topicfold import errors
from topicfold.errors import TopicfoldError
from topicfold.wire.problems import error_classes, error_of, problem_of, status_of

CLASSES = list(error_classes())
LEAVES = [cls for cls in CLASSES if not [child for child in cls.__subclasses__() if child in CLASSES]]
DRAWN = {name for name, cls in vars(errors).items() if inspect.isclass(cls) and issubclass(cls, TopicfoldError)}


def example(cls: type[TopicfoldError]) -> TopicfoldError:
    arguments: dict[Any, tuple[tuple[Any, ...], dict[str, Any]]] = {
        errors.InvalidLabels: (([{"path": "labels.a b", "reason": "a key is ..."}],), {}),
        errors.InvalidPolicy: (("retention", [{"path": "limitSize", "reason": "must be ..."}]), {}),
        errors.OutcomeUnknown: (("no answer in time",), {"operation": "ab" * 16}),
    }
    positional, named = arguments.get(cls, (("it went wrong",), {"name": "orders", "limit": 3}))
    return cls(*positional, **named)


def test_the_walk_meets_every_class_of_the_tree() -> None:
    assert {cls.__name__ for cls in CLASSES} == DRAWN


def test_each_leaf_has_a_code_of_its_own() -> None:
    shared = {code: count for code, count in Counter(leaf.code for leaf in LEAVES).items() if count > 1}
    assert shared == {}


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.__name__)
def test_an_error_comes_back_from_its_problem_as_itself(leaf: type[TopicfoldError]) -> None:
    sent = example(leaf)
    problem = problem_of(sent, "r1", under_admin=False)
    received = error_of(problem, problem["status"])
    assert type(received) is leaf
    assert (received.reason, received.hint, received.values) == (sent.reason, sent.hint, sent.values)
    assert str(received) == sent.reason


@pytest.mark.parametrize(
    ("cls", "status"),
    [
        (errors.InvalidRequest, 400),
        (errors.InvalidLabels, 400),
        (errors.TooLarge, 413),
        (errors.TenantNotFound, 404),
        (errors.OperationNotFound, 404),
        (errors.WrongKind, 409),
        (errors.KeyReused, 422),
        (errors.Forbidden, 403),
        (errors.PreconditionFailed, 412),
        (errors.AlreadyExists, 409),
        (errors.NotEmpty, 409),
        (errors.NotReady, 503),
        (errors.LogUnavailable, 503),
        (errors.Overloaded, 503),
        (errors.NewerSchema, 503),
        (errors.PositionTimeout, 504),
        (errors.OutcomeUnknown, 504),
        (errors.Resync, 410),
        (errors.WrongLog, 500),
    ],
)
def test_the_most_specific_class_decides_the_status(cls: type[TopicfoldError], status: int) -> None:
    assert status_of(example(cls), under_admin=False) == status
    assert status_of(example(cls), under_admin=True) == status


def test_a_bad_name_is_412_only_where_pulsar_says_so() -> None:
    assert status_of(errors.InvalidName("x"), under_admin=True) == 412
    assert status_of(errors.InvalidName("x"), under_admin=False) == 400


def test_a_problem_repeats_its_detail_as_reason_and_bears_the_request_id() -> None:
    problem = problem_of(errors.TopicNotFound("no topic a", name="a"), "r1", under_admin=True)
    assert problem == {
        "type": "urn:topicfold:problem:topic_not_found",
        "title": "Topic not found",
        "status": 404,
        "detail": "no topic a",
        "code": "topic_not_found",
        "reason": "no topic a",
        "hint": "",
        "requestId": "r1",
        "name": "a",
    }


def test_a_value_never_hides_a_standard_member() -> None:
    problem = problem_of(errors.TopicNotFound("no topic a", status="fine", code=1), "r1", under_admin=False)
    assert (problem["status"], problem["code"]) == (404, "topic_not_found")


@pytest.mark.parametrize(
    ("status", "cls"),
    [
        (404, errors.NotFound),
        (409, errors.Reread),
        (418, errors.InvalidRequest),
        (503, errors.Wait),
        (599, TopicfoldError),
    ],
)
def test_an_unknown_code_is_read_by_its_status(status: int, cls: type[TopicfoldError]) -> None:
    assert type(error_of({"code": "of_tomorrow", "detail": "x"}, status)) is cls


@pytest.mark.parametrize(
    "document",
    [{}, {"code": ["a"]}, {"code": "invalid_labels", "violations": 3}, {"code": "topic_not_found", "self": 1}],
)
def test_a_malformed_problem_is_still_an_error(document: dict[str, Any]) -> None:
    assert error_of(document, 400).reason


def test_problems_need_nothing_beyond_the_standard_library() -> None:
    check = "import sys, topicfold.wire.problems; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout.split()
    assert {"pydantic", "fastapi", "httpx2", "rich", "typer"}.isdisjoint(loaded)
