"""Command lines that cannot be: what was wrong, what may have been meant, and whose help tells more."""

from __future__ import annotations

import shlex

import pytest

from tests.cli.conftest import Run


@pytest.mark.parametrize(
    "words",
    [
        "compact --once --log x.db --snapshot",
        "trim --log x.db --snapshot",
        "serve --log",
        "serve --kafka",
        "report labels --snapshot",
        "report labels --plot",
        "consume -l a=b --bootstrap",
        "consume -l a=b --bootstrap 127.0.0.1:1 --group",
        "import kafka --bootstrap",
        "policies apply -f",
        "topics list --url",
        "topics set-custom-labels orders --labels a=b --if-match",
        "topics create orders --idempotency-key",
        "topics remove-properties orders --key",
        "namespaces set-property public/default -v ann --key",
        "report labels --by",
    ],
)
def test_a_place_that_is_the_empty_text_is_not_taken_for_here(bare_run: Run, words: str) -> None:
    *before, option = words.split()
    attached = [option, ""] if not option.startswith("--") else [f"{option}="]
    for last in ([option, ""], [option, " "], attached):
        ran = bare_run(*before, *last)
        assert ran.code == 2
        name = {"-f": "'--file' / '-f'", "--key": "'--key' / '-k'"}.get(option, f"'{option}'")
        assert ran.err.startswith(f"error: Invalid value for {name}: it must not be empty\n")


def test_a_namespace_that_is_the_empty_text_is_not_taken_for_the_default_one(bare_run: Run) -> None:
    ran = bare_run("topics", "list", "")
    assert (ran.code, ran.err.splitlines()[0]) == (2, "error: Invalid value for 'NAMESPACE': it must not be empty")


@pytest.mark.parametrize(
    "words",
    [
        "serve --kafka",
        "serve --kafka b:9092 --cluster-bootstrap",
        "compact --once --snapshot s --kafka",
        "trim --snapshot s --kafka",
        "enforce --kafka",
        "consume -l a=b --bootstrap",
        "import kafka --bootstrap",
    ],
)
@pytest.mark.parametrize("scheme", ["http://", "https://", "kafka://"])
@pytest.mark.parametrize("before", ["", "broker:9092, "])
def test_a_broker_is_not_called_by_a_url(bare_run: Run, words: str, scheme: str, before: str) -> None:
    ran = bare_run(*words.split(), f"{before}{scheme}127.0.0.1:9092")
    option = words.split()[-1]
    assert (ran.code, ran.err.splitlines()[0]) == (
        2,
        f"error: Invalid value for '{option}': write HOST:PORT, without {scheme}",
    )


def test_a_password_in_a_brokers_name_is_refused_without_repeating_it(bare_run: Run) -> None:
    ran = bare_run("import", "kafka", "--timeout-seconds", "1", "--bootstrap", "me:hunter2@broker:9092")
    assert (ran.code, "hunter2" in ran.err) == (2, False)


@pytest.mark.parametrize(
    "option", ["--url", "--token-file", "--tls-ca-file", "--client-cert-file", "--client-key-file"]
)
def test_neither_is_one_that_stands_before_the_command(bare_run: Run, option: str) -> None:
    ran = bare_run(option, "", "topics", "list")
    assert (ran.code, ran.err) == (2, f"error: {option} : it must not be empty\n")


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        ("topics create x --reason", "Option '--reason' requires an argument.", "topics create"),
        ("serve --kafka", "Option '--kafka' requires an argument.", "serve"),
        ("topics list --label a", "No such option: --label (Possible options: --custom-labels)", "topics list"),
        ("topics list --sort x", "No such option: --sort", "topics list"),
        ("topics list --e", "No such option: --e", "topics list"),
        ("topics list --json", "No such option: --json (Possible options: -o json)", "topics list"),
        ("topics list --selectr x", "No such option: --selectr (Possible options: --selector)", "topics list"),
        (
            "topics set-custom-labels orders team=pay tier=gold",
            "Invalid value for '--labels' / '-l': it is missing; write --labels team=pay --labels tier=gold",
            "topics set-custom-labels",
        ),
        ("topics set-custom-labels orders", "Missing option '--labels' / '-l'.", "topics set-custom-labels"),
        ("topics list a b", "Got unexpected extra argument(s) (b)", "topics list"),
    ],
)
def test_what_cannot_be_meant_is_told_with_what_may_be_and_the_help_of_the_command(
    bare_run: Run, words: str, error: str, hint: str
) -> None:
    ran = bare_run(*words.split())
    assert (ran.code, ran.err.splitlines()) == (2, [f"error: {error}", f"hint: topicfold {hint} --help"])


@pytest.mark.parametrize(
    ("command", "value", "option"),
    [
        ("watch", "team=pay", "selector"),
        ("watch", "!team", "selector"),
        ("consume --bootstrap 127.0.0.1:1", "team in (pay,ship)", "selector"),
        ("topics list a/b", "acme.io/team=pay", "selector"),
        ("topics list a/b", "c/d", "namespace"),
        ("report labels", "public/default", "namespace"),
        ("explain team=pay", "public/default", "namespace"),
        ("report labels -n acme/pay", "public/default", "namespace"),
        ("topics list", "team=pay", "selector"),
        ("topics list", "eu__**", "match"),
        ("watch", "eu__*", "match"),
        ("consume", "team=pay", "selector"),
        ("topics create orders", "team=pay", "labels"),
        ("topics remove-custom-labels orders", "team", "labels"),
    ],
)
def test_a_selector_or_a_namespace_that_stands_alone_is_told_the_option_that_it_belongs_to(
    bare_run: Run, command: str, value: str, option: str
) -> None:
    ran = bare_run(*command.split(), value)
    assert ran.code == 2
    assert ran.err.splitlines()[0].endswith(f"it stands alone; write --{option} {shlex.quote(value)}")


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        (["topics", "list", "-l", "team=pay", "tier=gold"], "--selector team=pay,tier=gold"),
        (["watch", "team=pay", "tier in (a,b)"], "--selector 'team=pay,tier in (a,b)'"),
        (["consume", "--bootstrap", "b1:9092", "b2:9092"], "--bootstrap b1:9092,b2:9092"),
        (["explain", "team=pay", "tier in (a,b)"], "'team=pay,tier in (a,b)'"),
    ],
)
def test_what_goes_on_alone_is_written_in_the_one_option_that_takes_all_of_it(
    bare_run: Run, words: list[str], whole: str
) -> None:
    ran = bare_run(*words)
    assert (ran.code, ran.err.splitlines()[0].partition("; write ")[2]) == (2, whole)


def test_no_option_that_is_missing_is_offered_a_value_that_cannot_be_its(bare_run: Run) -> None:
    assert "--bootstrap orders" not in bare_run("consume", "orders").err
    assert "write --bootstrap b1:9092\n" in bare_run("consume", "b1:9092", "-l", "team=pay").err


@pytest.mark.parametrize("option", ["-l", "--selector"])
def test_who_gives_explain_the_option_of_other_commands_is_told_to_write_the_selector_without_it(
    bare_run: Run, option: str
) -> None:
    ran = bare_run("explain", option, "team=pay")
    hint = f"hint: topicfold explain --help; write the selector without {option}"
    assert (ran.code, ran.err.splitlines()[1]) == (2, hint)


@pytest.mark.parametrize("words", ["topics delete -l", "topicPolicies set-retention --selector", "history -l"])
def test_what_takes_one_topic_tells_how_a_selector_finds_some(bare_run: Run, words: str) -> None:
    command, option = words.rsplit(" ", 1)
    ran = bare_run(*words.split(), "team=pay")
    finds = f"it takes one topic, 'topicfold topics list {option} SELECTOR' finds some"
    assert (ran.code, ran.err.splitlines()[1]) == (2, f"hint: topicfold {command} --help; {finds}")


@pytest.mark.parametrize("words", ["topics create -x", "history -x", "namespaces list -acme"])
def test_a_name_that_is_taken_for_an_option_is_told_how_it_is_written(bare_run: Run, words: str) -> None:
    ran = bare_run(*words.split())
    assert (ran.code, ran.err.rpartition("; ")[2]) == (2, "put -- before a name that begins with -\n")


def test_what_takes_no_name_does_not_speak_of_any(bare_run: Run) -> None:
    assert "a name that begins with" not in bare_run("watch", "-x").err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("history orders --limit x", "'--limit': should be a valid integer\n"),
        ("topics list --limit 0", "'--limit': should be greater than or equal to 1\n"),
    ],
)
def test_what_is_wrong_with_a_number_is_told_in_plain_words(bare_run: Run, words: str, told: str) -> None:
    ran = bare_run(*words.split())
    assert (ran.code, ran.err.startswith(f"error: Invalid value for {told}")) == (2, True)
