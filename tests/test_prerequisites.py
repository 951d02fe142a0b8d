"""What is fetched once: asked for again where a repository did not deliver, never left half made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import prerequisites
from tests.prerequisites import Unavailable, Undelivered, cache_option, fetched, made_once


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prerequisites, "PAUSES_S", (0.0, 0.0))


def _delivers(*outcomes: Exception | None) -> Callable[[Path], None]:
    """Return a maker that leaves a file and then fails with these in turn; None is a success."""
    left: Iterator[Exception | None] = iter(outcomes)

    def make(directory: Path) -> None:
        directory.mkdir()
        outcome = next(left)
        (directory / ("half" if outcome else "whole")).touch()
        if outcome:
            raise outcome

    return make


def test_what_was_not_delivered_is_asked_for_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make = _delivers(Undelivered("503 from there"), Undelivered("once more"), None)
    made = fetched(lambda: made_once(tmp_path / "jars", make))
    assert [each.name for each in made.iterdir()] == ["whole"]
    assert "503 from there\nAsking again in 0 s." in capsys.readouterr().err


@pytest.mark.parametrize(
    "said",
    [
        "PKIX path building failed: unable to find valid certification path to requested target",
        "npm error code SELF_SIGNED_CERT_IN_CHAIN\nreason: self-signed certificate in certificate chain",
    ],
)
def test_a_repository_that_is_not_trusted_is_not_asked_again(tmp_path: Path, said: str) -> None:
    make = _delivers(Undelivered(said), None)
    with pytest.raises(Unavailable, match=r"Name the CA of its certificate: JDK_JAVA_OPTIONS=.*FILE, for npm NODE_"):
        fetched(lambda: made_once(tmp_path / "jars", make))


def test_in_the_end_it_says_so_and_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    make = _delivers(Undelivered("first"), Undelivered("second"), Undelivered("third"))
    with pytest.raises(Undelivered, match="third"):
        fetched(lambda: made_once(tmp_path / "jars", make))
    assert not (tmp_path / "jars").exists()


def test_what_is_missing_here_is_told_at_once(tmp_path: Path) -> None:
    make = _delivers(Unavailable("Maven is missing"), None)
    with pytest.raises(Unavailable, match="Maven is missing"):
        fetched(lambda: made_once(tmp_path / "jars", make))


def test_a_tool_keeps_its_cache_where_it_is_used_to(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    assert cache_option("--cache=", tmp_path / "home" / ".npm" / "deep", tmp_path / "here") == []


def test_a_tool_that_may_not_write_at_home_keeps_its_cache_in_the_checkout(tmp_path: Path) -> None:
    nowhere = Path("/proc/self/home/.npm")
    assert cache_option("--cache=", nowhere, tmp_path / "here") == [f"--cache={tmp_path}/here"]
    assert cache_option("--cache=", None, tmp_path / "here") == [f"--cache={tmp_path}/here"]
