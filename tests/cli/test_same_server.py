"""What is to be typed next asks the server that the failing command asked."""

from __future__ import annotations

import shlex

import pytest

from tests.cli.conftest import Run
from topicfold.cli.config import resolve_config
from topicfold.cli.same_server import on_the_same_server
from topicfold.client import Client


def typed(hint: str) -> list[str]:
    """Return the words of a hint that is a command, but for the program."""
    program, *words = shlex.split(hint.removeprefix("hint: "))
    assert program == "topicfold"
    return words


def test_a_hint_names_the_server_that_a_flag_named_and_works_when_it_is_typed(
    bare_run: Run, server_url: str, client: Client
) -> None:
    wanted = ("--url", server_url, "namespaces", "create", "acme/pay")
    bare_run(*typed(bare_run(*wanted).err.splitlines()[1]))
    assert "acme" in client.list_tenants()


def test_a_hint_names_no_server_that_the_next_command_finds_by_itself(run: Run) -> None:
    assert run("namespaces", "create", "acme/pay").err.endswith("hint: topicfold tenants create acme\n")


def test_what_found_nothing_is_explained_by_the_same_server(bare_run: Run, server_url: str) -> None:
    listed = bare_run("topics", "list", "-l", "team=pay", "--url", server_url)
    assert f"topicfold --url {server_url} explain team=pay tells what" in listed.err


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        ("topicfold topics get orders", "topicfold --url http://h --token-file t topics get orders"),
        (
            "topicfold topics get a; topicfold doctor",
            "topicfold --url http://h --token-file t topics get a; topicfold --url http://h --token-file t doctor",
        ),
        ("start one with 'topicfold serve'", "start one with 'topicfold serve'"),
        ("topicfold doctor --url http://g asks that node", "topicfold doctor --url http://g asks that node"),
        (
            "topicfold import kafka --bootstrap b:9092 --dry-run names them",
            "topicfold --url http://h --token-file t import kafka --bootstrap b:9092 --dry-run names them",
        ),
        ("topicfold compact --once --log a.db", "topicfold compact --once --log a.db"),
    ],
)
def test_only_what_asks_a_server_names_it_again(hint: str, told: str) -> None:
    config = resolve_config({"url": "http://h", "token_file": "t", "timeout_seconds": 3.0}, {})
    assert on_the_same_server(hint, config) == told


def test_what_an_admin_is_to_type_names_nobody_and_a_token_is_never_shown() -> None:
    given = {"url": "http://h", "token": "s3cret", "client_cert_file": "me.pem", "tls_ca_file": "ca.pem"}
    config, grant = resolve_config(given, {}), "An admin can: topicfold topics grant-permission a"
    asking = "topicfold --url http://h --tls-ca-file ca.pem"
    assert on_the_same_server(grant, config, is_for_others=True) == f"An admin can: {asking} topics grant-permission a"
    assert on_the_same_server(grant, config) == (
        f"An admin can: {asking} --client-cert-file me.pem topics grant-permission a"
    )
