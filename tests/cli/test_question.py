"""Questions before much is deleted: who is asked, what they are told, and that no script waits for an answer."""

from __future__ import annotations

import io
import sys

import pytest

from tests.cli.conftest import Run
from tests.terminal import Terminal
from topicfold.client import Client


@pytest.fixture
def acme(client: Client) -> None:
    client.create_tenant("acme")
    for namespace, topics in (("acme/pay", ("orders", "refunds", "__change_events")), ("acme/web", ("clicks",))):
        client.create_namespace(namespace)
        for topic in topics:
            client.create_topic(f"{namespace}/{topic}")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("namespaces", "delete", "acme/pay"),
            "This deletes acme/pay with 3 topics. A server on Kafka deletes their Kafka topics, too, "
            "with all messages. Continue? [y/N] ",
        ),
        (
            ("tenants", "delete", "acme"),
            "This deletes acme with 2 namespaces and 4 topics. A server on Kafka deletes their Kafka topics, "
            "too, with all messages. Continue? [y/N] ",
        ),
    ],
)
@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), (" YES\n", 0), ("\n", 2)])
@pytest.mark.usefixtures("acme")
def test_on_a_terminal_a_forced_deletion_says_how_many_go_with_it_and_asks(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str, typed: str, code: int
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    asked = run(*words, "--force")
    assert (asked.code, asked.err.startswith(told)) == (code, True)
    assert ("acme" not in client.list_tenants() or "acme/pay" not in client.list_namespaces("acme")) == (code == 0)


@pytest.mark.parametrize("stdin", [None, io.StringIO("n\n"), Terminal("n\n")])
@pytest.mark.usefixtures("acme")
def test_nobody_is_asked_without_a_terminal_or_with_yes(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch, stdin: io.StringIO | None
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    said = ["-y"] if isinstance(stdin, Terminal) else []
    done = run("namespaces", "delete", "acme/pay", "--force", *said)
    assert (done.code, done.err) == (0, "deleted acme/pay\n")
    assert client.list_namespaces("acme") == ("acme/web",)
    done = run("tenants", "delete", "acme", "--force", *said)
    assert (done.code, done.err) == (0, "deleted acme\n")
    if stdin is None:
        # What the command has opened in its place, as long as the process lasts.
        sys.stdin.close()


@pytest.mark.parametrize("words", [("namespaces", "delete", "acme/pay"), ("tenants", "delete", "acme")])
@pytest.mark.usefixtures("acme")
def test_nobody_is_asked_about_what_is_refused_because_it_is_not_forced(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    there = Terminal("y\n")
    monkeypatch.setattr(sys, "stdin", there)
    assert (run(*words).code, there.read()) == (4, "y\n")


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_where_nothing_goes_with_it_nobody_is_asked(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch, force: list[str]
) -> None:
    client.create_tenant("acme")
    client.create_namespace("acme/pay")
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    assert run("namespaces", "delete", "acme/pay", *force).code == 0
    assert run("tenants", "delete", "acme", *force).code == 0


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("namespaces", "delete", "acme/pay"), "topicfold namespaces list acme"),
        (("tenants", "delete", "acme"), "topicfold tenants list"),
    ],
)
def test_what_is_not_there_is_said_without_a_question(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], hint: str
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    refused = run(*words, "--force")
    assert (refused.code, refused.err.splitlines()[1]) == (3, f"hint: {hint}")


@pytest.mark.usefixtures("acme")
def test_an_answer_that_is_no_text_is_a_no(run: Run, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    class Garbled(Terminal):
        def readline(self, size: int | None = -1) -> str:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    monkeypatch.setattr(sys, "stdin", Garbled())
    refused = run("namespaces", "delete", "acme/pay", "--force")
    assert (refused.code, "not confirmed; nothing was changed" in refused.err) == (2, True)
    assert "acme/pay" in client.list_namespaces("acme")
