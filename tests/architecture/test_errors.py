"""The tree of errors: drawn as it is, every leaf with a code of its own, every class documented."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections import Counter

import pytest

from topicfold import errors
from topicfold.client import AnswerLost, ExtraBroken, ExtraMissing, QueryUnconfirmed
from topicfold.errors import TopicfoldError

CLASSES = [cls for cls in vars(errors).values() if inspect.isclass(cls) and issubclass(cls, TopicfoldError)]
LEAVES = [cls for cls in CLASSES if cls not in {base for each in CLASSES for base in each.__bases__}]
BRANCHES = [errors.FixRequest, errors.Reread, errors.Wait, errors.OperatorNeeded]


def test_each_leaf_has_a_code_of_its_own() -> None:
    codes = Counter(leaf.code for leaf in LEAVES)
    assert {code for code, number in codes.items() if number > 1} == set()


@pytest.mark.parametrize("cls", CLASSES)
def test_a_code_is_a_stable_word_and_every_class_says_what_it_means(cls: type[TopicfoldError]) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", cls.code)
    assert cls.__doc__
    assert cls.__doc__ != TopicfoldError.__doc__ or cls is TopicfoldError


@pytest.mark.parametrize("leaf", LEAVES)
def test_every_leaf_is_on_one_branch_by_what_the_caller_can_do_or_stands_alone(leaf: type[TopicfoldError]) -> None:
    branches = [branch for branch in BRANCHES if issubclass(leaf, branch)]
    assert len(branches) == 1 or leaf in (errors.OutcomeUnknown, errors.Resync)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_class_is_in_the_drawing(cls: type[TopicfoldError]) -> None:
    assert re.search(rf"\b{cls.__name__}\b", errors.__doc__)


def test_the_drawing_shows_nothing_else() -> None:
    drawn = set(re.findall(r"(?:├──|└──|,) +([A-Z]\w+)", errors.__doc__))
    assert drawn <= {cls.__name__ for cls in CLASSES}


def test_an_error_carries_reason_hint_and_values() -> None:
    error = errors.TopicNotFound("topic x not found", name="x")
    assert (str(error), error.reason, error.hint, error.values) == (
        "topic x not found",
        error.reason,
        "",
        {"name": "x"},
    )
    assert errors.KeyReused("again").hint == errors.KeyReused.default_hint
    assert errors.KeyReused("again", hint="no").hint == "no"


OF_ITS_OWN_MAKING = [
    errors.TopicNotFound("topic x not found", hint="look", name="x"),
    errors.InvalidLabels([{"path": "labels.a", "reason": "bad"}]),
    errors.InvalidPolicy("retention", [{"path": "limitSize", "reason": "bad"}]),
    errors.OutcomeUnknown("who knows", operation="0-1"),
    AnswerLost("silence", url="http://a", idempotency_key="k"),
    QueryUnconfirmed(url="http://a", asked="b", confirmed=None),
    ExtraMissing("consuming", "kafka"),
    ExtraBroken("consuming", ImportError("no", name="x"), "x.py"),
]


@pytest.mark.parametrize("error", OF_ITS_OWN_MAKING, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_in_the_process_that_it_is_handed_to(error: TopicfoldError) -> None:
    for handed in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(handed) is type(error)
        assert (str(handed), vars(handed)) == (str(error), vars(error))


def test_invalid_labels_carry_all_violations_and_name_the_first_five() -> None:
    violations = [{"path": f"labels.{number}", "reason": "bad"} for number in range(7)]
    error = errors.InvalidLabels(violations)
    assert error.values["violations"] == violations
    assert error.reason.endswith("labels.4: bad (and 2 more)")


def test_a_reason_that_repeats_something_endless_is_shortened_in_each_line() -> None:
    error = errors.InvalidRequest(f"topic {'a' * 10_000_000}: too long\nlabels: none")
    assert error.reason == str(error)
    assert re.fullmatch("topic a+…a+: too long\nlabels: none", error.reason)
    assert len(error.reason) < 5_000


def test_an_unknown_outcome_says_which_operation_settles_it() -> None:
    error = errors.OutcomeUnknown("no answer", operation="3-ab")
    assert (error.values, "operations/3-ab" in error.hint) == ({"operation": "3-ab", "outcome": "unknown"}, True)
