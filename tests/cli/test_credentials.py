"""Who the command line says it is, by flag, variable or file; and what it says to whoever may not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Run, Start
from tests.client.served import serving


@pytest.fixture
def server_url(tmp_path: Path) -> Iterator[str]:
    """The URL of a server that asks everybody who they are."""
    tokens = tmp_path / "tokens"
    tokens.write_text("s3cret root\nother somebody\n")
    with serving(auth_static_tokens_file=tokens, superusers=("root",)) as (url,):
        yield url


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    """A file that holds the right token."""
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    return file


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOKEN", "TOKEN_FILE", "TLS_CA_FILE", "CLIENT_CERT_FILE", "CLIENT_KEY_FILE"):
        monkeypatch.delenv(f"TOPICFOLD_{name}", raising=False)


def test_a_token_is_given_by_flag_or_in_a_file(run: Run, token_file: Path) -> None:
    assert run("tenants", "list", "--token", "s3cret").code == 0
    assert run("--token-file", str(token_file), "tenants", "list").code == 0


def test_a_file_that_begins_with_a_byte_order_mark_holds_the_token_all_the_same(run: Run, token_file: Path) -> None:
    token_file.write_text("s3cret\r\n", encoding="utf-8-sig")
    assert run("--token-file", str(token_file), "tenants", "list").code == 0


def test_a_token_is_given_by_variable(run: Run, token_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPICFOLD_TOKEN", "s3cret")
    assert run("tenants", "list").code == 0
    monkeypatch.delenv("TOPICFOLD_TOKEN")
    monkeypatch.setenv("TOPICFOLD_TOKEN_FILE", str(token_file))
    assert run("tenants", "list").code == 0


def test_what_is_said_closer_to_the_command_holds(
    run: Run, token_file: Path, config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file.write_text('token = "wrong"')
    assert run("tenants", "list", "--token-file", str(token_file)).code == 0
    monkeypatch.setenv("TOPICFOLD_TOKEN_FILE", str(token_file))
    assert run("tenants", "list").code == 0
    assert run("tenants", "list", "--token", "wrong").code == 5


def test_two_tokens_in_the_same_place_are_refused(run: Run, token_file: Path) -> None:
    done = run("tenants", "list", "--token", "s3cret", "--token-file", str(token_file))
    assert (done.code, done.err.splitlines()[0]) == (2, "error: a token and a file that holds one are both given")


def test_a_token_file_that_is_not_there_is_named(run: Run, tmp_path: Path) -> None:
    done = run("tenants", "list", "--token-file", str(tmp_path / "nothing"))
    assert done.code == 2
    assert done.err == f"error: token_file {tmp_path / 'nothing'}: cannot be read: No such file or directory\n"


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_token_file_that_is_empty_is_named(run: Run, token_file: Path, text: str) -> None:
    token_file.write_text(text)
    done = run("tenants", "list", "--token-file", str(token_file))
    assert (done.code, done.err.splitlines()[0]) == (2, f"error: token_file {token_file}: is empty")


def test_a_token_file_that_is_no_text_is_named(run: Run, token_file: Path) -> None:
    token_file.write_bytes(b"\xff")
    done = run("tenants", "list", "--token-file", str(token_file))
    assert done.code == 2
    assert done.err == f"error: token_file {token_file}: cannot be read: it is no text in UTF-8\n"


def test_whoever_does_not_say_who_they_are_ends_with_5_and_is_told_how(run: Run) -> None:
    done = run("topics", "create", "orders")
    assert done.code == 5
    assert "--token-file" in done.err


def test_whoever_sends_a_token_that_is_not_taken_is_not_told_to_send_one(run: Run) -> None:
    done = run("topics", "create", "orders", "--token", "wrong")
    assert (done.code, done.err.splitlines()) == (
        5,
        ["error: the token is not known here", "hint: Get a token or a certificate that this server accepts."],
    )


def test_whoever_may_not_ends_with_5_and_is_told_who_can_help(run: Run) -> None:
    done = run("topics", "create", "orders", "--token", "other")
    assert done.code == 5
    assert "somebody lacks manage-topics on topic persistent://public/default/orders" in done.err
    assert "manage-topics" in done.err.splitlines()[1]


def test_who_is_no_superuser_asks_about_all_namespaces_by_their_names(
    run: Run, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant = ["namespaces", "grant-permission", "--role", "somebody", "--actions", "list-topics,watch", "public/default"]
    assert run(*grant, "--token", "s3cret").code == 0
    create = ["topics", "create", "orders", "--token", "s3cret"]
    assert run(*create).code == 0
    assert run("topics", "set-custom-labels", "orders", "--labels", "team=pay", "--token", "s3cret").code == 0
    explained = run("explain", "team=pay", "-A", "--token", "other")
    assert (explained.out.splitlines()[-1], explained.err) == ("all of it    1 of 1", "")
    watching = start("watch", "-A", "-o", "name", "--token", "other")
    assert watching.line() == "persistent://public/default/orders"
    assert "namespaces that are created later are not included" in watching.interrupt()[1]
    monkeypatch.setattr("topicfold.client.bulk.NAMESPACES_A_QUERY", 0)
    refused = run("explain", "team=pay", "-A", "--token", "other")
    assert (refused.code, refused.err.splitlines()) == (
        2,
        [
            "error: there are 1 namespaces, and this command takes at most 0",
            "hint: Name those that matter with -n, or a whole tenant: -n 'tenant/*'.",
        ],
    )


@pytest.mark.parametrize("words", [(), ("-l", "team=pay"), ("--at", "0s")])
def test_whoever_may_know_of_no_namespace_is_told_so(run: Run, words: tuple[str, ...]) -> None:
    listed = run("topics", "list", "-A", *words, "--token", "other")
    assert (listed.code, listed.out) == (0, "")
    assert listed.err == "there are no namespaces, or none that you may see\n"


@pytest.mark.parametrize("words", [("watch",), ("explain", "team=pay"), ("topics", "list", "-w")])
def test_whoever_may_know_of_no_namespace_cannot_follow_or_explain_all_and_is_told_so(
    run: Run, words: tuple[str, ...]
) -> None:
    refused = run(*words, "-A", "--token", "other")
    assert (refused.code, refused.err) == (2, "error: there are no namespaces, or none that you may see\n")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("topics", "list"), "namespaces grant-permission --role somebody --actions list-topics public/default"),
        (
            ("topics", "create", "new"),
            "namespaces grant-permission --role somebody --actions manage-topics public/default",
        ),
        (("namespaces", "create", "public/new"), "tenants grant-permission --role somebody --actions admin public"),
        (
            ("topics", "delete", "orders"),
            "topics grant-permission --role somebody --actions manage-topics persistent://public/default/orders",
        ),
    ],
)
def test_what_grants_the_right_that_is_lacking_is_a_command_to_copy(
    run: Run, words: tuple[str, ...], meant: str
) -> None:
    run("topics", "create", "orders", "--token", "s3cret")
    hint = run(*words, "--token", "other").err.splitlines()[1]
    assert hint.partition("topicfold ")[2] == meant
    assert run(*meant.split(), "--token", "s3cret").code == 0
    assert run(*words, "--token", "other").code == 0


def test_a_token_is_never_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPICFOLD_TOKEN", "s3cret")
    for command in (("config", "view"), ("tenants", "list", "--debug"), ("topics", "get", "nothing", "--debug")):
        done = run(*command)
        assert "s3cret" not in done.out + done.err


def test_an_export_without_the_policies_is_refused_and_says_which_right_is_missing(run: Run, tmp_path: Path) -> None:
    run("topics", "create", "orders", "--token", "s3cret")
    run("namespaces", "grant-permission", "public/default", "-r", "somebody", "-a", "list-topics", "--token", "s3cret")
    file = tmp_path / "policies.yaml"
    refused = run("policies", "export", "public/default", "-f", str(file), "--token", "other")
    assert (refused.code, file.exists()) == (5, False)
    assert "the properties and policies of persistent://public/default/orders may not be read" in refused.err
    assert "read-policies" in refused.err
