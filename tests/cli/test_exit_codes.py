"""Exit codes and what is said: one line with what was wrong, one with what to type next, never a traceback."""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import topicfold
from tests.cli.conftest import Run
from topicfold import errors
from topicfold.cli import main as entry
from topicfold.cli.exit_codes import exit_code_of
from topicfold.cli.next_step import SPOKEN_HERE, next_step
from topicfold.cli.session import Session
from topicfold.client import AnswerLost, Client, ServerUnreachable
from topicfold.client.transport.silence import HUNG_UP, NoAnswer, Server

PACKAGE = Path(topicfold.__file__).parent
_LOOK = """
import os, sys
from topicfold.cli.main import main
code = int(main(["policies", "diff", "-f", "-"]))
with open(sys.argv[1], "w") as out:
    out.write(repr((code, [(os.readlink(f"/proc/self/fd/{n}"), os.get_inheritable(n)) for n in range(3)])))
"""


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def raise_it(session: Session) -> Client:
        raise error

    monkeypatch.setattr(Session, "client", property(raise_it))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.TopicfoldError("x"), 1),
        (errors.InvalidLabels([{"path": "labels.a", "reason": "x"}]), 2),
        (errors.InvalidRequest("x"), 2),
        (errors.InvalidName("x"), 2),
        (errors.TooLarge("x"), 2),
        (errors.TenantNotFound("x"), 3),
        (errors.FewerPartitions("x"), 4),
        (errors.WrongKind("x"), 4),
        (errors.AlreadyExists("x"), 4),
        (errors.PreconditionFailed("x"), 4),
        (errors.Unauthenticated("x"), 5),
        (errors.Forbidden("x"), 5),
        (errors.UnknownCluster("x"), 3),
        (errors.PolicyUnmet("x"), 4),
        (errors.LogUnavailable("x"), 6),
        (errors.PositionTimeout("x"), 6),
        (errors.OutcomeUnknown("x", operation="ab"), 6),
        (ServerUnreachable("x"), 6),
        (AnswerLost("x", url="http://h", idempotency_key="k"), 6),
        (errors.WrongLog("x"), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_of_error_has_its_exit_code(error: errors.TopicfoldError, code: int) -> None:
    assert exit_code_of(error) == code


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (["topics", "get", "missing"], 3, "topicfold topics list public/default"),
        (["topics", "get", "acme/pay/orders"], 3, "topicfold namespaces list acme"),
        (["topics", "create", "acme/pay/orders"], 3, "topicfold namespaces create acme/pay"),
        (["namespaces", "list", "acme"], 3, "topicfold tenants list"),
        (["namespaces", "create", "acme/pay"], 3, "topicfold tenants create acme"),
        (["topics", "set-custom-labels", "a/b", "--labels", "k=v"], 2, "persistent://tenant/namespace/topic"),
        (["topics", "set-custom-labels", "orders", "--labels", "novalue"], 2, "key=value"),
        (["topics", "list", "--no-such"], 2, "topicfold topics list --help"),
        (["topics", "update-partitioned-topic", "x", "-p", "3"], 4, "create-partitioned-topic --partitions 3 x"),
        (["namespaces", "create", "pay"], 2, "hint: Write tenant/namespace, say public/pay."),
        (["namespaces", "create", "a b"], 2, "hint: Write tenant/namespace, say public/default."),
        (["namespaces", "create", "public"], 2, "hint: Write tenant/namespace, say public/default."),
        (["tenants", "delete", "public"], 4, "topicfold tenants delete --force public"),
        (["topics", "create", "x", "--idempotency-key", "k" * 256], 2, "Leave it out"),
        (["topics", "create", "x", "--reason", "y" * 513], 2, "Shorten it"),
        (["topcs", "list"], 2, "topicfold --help"),
        (["clusters", "get", "nosuch"], 3, "topicfold clusters list"),
        (["clusters", "create", "standalone"], 4, "topicfold clusters get standalone"),
        (["tenants", "create", "acme", "-c", "nosuch"], 4, "topicfold clusters list"),
        (["namespaces", "set-clusters", "public/default", "-c", "nosuch"], 3, "topicfold clusters list"),
        (["history", "missing"], 3, "topicfold topics list public/default"),
        (["history", "acme/pay/orders"], 3, "topicfold namespaces list acme"),
        (["operations", "get", "abc"], 3, "copy the operation"),
        (["topics", "get", "orders", "--at", "x"], 2, "Write a time like 2026-"),
        (["topics", "effective", "orders", "--at", "x"], 2, "Write a time like 2026-"),
        (["topics", "get", "acme/pay/orders", "--at", "0s"], 3, "topicfold namespaces list acme"),
        (["topicPolicies", "get-retention", "orders", "--at", "5", "-ap"], 2, "Leave out --applied, or --at."),
        (["topics", "list", "--match", "ord*"], 2, "give --regex 'ord.*' instead of --match"),
        (["topics", "list", "--match", "a.b*__**"], 2, r"give --regex 'a\.b.*__.*' instead of --match"),
        (["topics", "list", "--match", "pay.*.x"], 2, r"split at __ here; give --regex 'pay\.[^.]+\.x' instead of"),
        (["topics", "list", "--match", "pay.**"], 2, "at .: TOPICFOLD_WILDCARD_SEPARATOR=. topicfold serve"),
        (["topics", "list", "--match", "__a"], 2, "Separate segments by '__'"),
        (["topics", "list", "orders"], 2, "write it like public/default; of a topic, topicfold topics get orders"),
        (["topics", "list", "acme/**"], 2, "say public/team-*"),
        (["topics", "list", "-o", "wide"], 2, "topicfold topics list --help"),
        (["topics", "create", "x", "--partitions", "3"], 2, "--partitions is an option of create-partitioned-topic"),
        (["topics", "create", "x", "-p", "3"], 2, "; -p is an option of create-partitioned-topic, "),
        (["topics", "create", "x", "--dry-run"], 2, "; --dry-run is an option of enforce, trim, policies apply"),
        (["rollback", "x", "--dry-run"], 2, "; --dry-run is an option of enforce, trim, policies apply"),
        (["policies", "export", "--dry-run"], 2, "; --dry-run is an option of apply"),
        (["topics", "-o", "json", "list"], 2, "topics --help; -o is an option of create, "),
        (["-l", "a=b", "watch"], 2, "topicfold --help; -l is an option of watch, "),
        (["config", "server", "--url", "http://h"], 2, "run it where yours is"),
        (["--token", "t", "config", "server"], 2, "run it where yours is"),
        (["compact", "--snapshot", "s", "--url", "http://h"], 2, "--log FILE or --kafka HOST:PORT"),
        (["trim", "--snapshot", "s", "--timeout-seconds", "5"], 2, "--log FILE or --kafka HOST:PORT"),
        (["enforce", "--token-file", "f"], 2, "--log FILE or --kafka HOST:PORT"),
        (["--url", "http://h", "serve", "--log", "/no/such/directory/log"], 2, "--host and --port"),
        (["report", "labels", "--snapshot", ".", "--url", "http://h"], 2, "Leave it out, or --snapshot"),
    ],
)
def test_a_failure_is_one_line_and_a_hint_on_stderr(run: Run, arguments: list[str], code: int, hint: str) -> None:
    failed = run(*arguments)
    assert (failed.code, failed.out) == (code, "")
    wrong, next_line = failed.err.splitlines()
    assert wrong.startswith("error: ")
    assert next_line.startswith("hint: ")
    assert hint in next_line


def test_an_option_of_a_groups_command_is_not_looked_for_in_others(bare_run: Run) -> None:
    assert bare_run("import", "--bootstrap", "broker:9092").err.endswith("; --bootstrap is an option of kafka\n")


@pytest.mark.parametrize("words", [["public/default"], ["-n", "public/default"], []])
def test_of_a_namespace_that_was_not_there_yet_it_is_said_since_when_anything_is_known(
    run: Run, words: list[str]
) -> None:
    refused = run("topics", "list", *words, "--at", "2001-01-01T00:00:00Z")
    assert (refused.code, refused.err.splitlines()[1].startswith("hint: Its known history begins at 20")) == (3, True)


@pytest.mark.parametrize(
    ("option", "value", "wrong"),
    [
        ("--reason", "a\nb", " holds characters"),
        ("--idempotency-key", "k" * 256, ": expected 1 to 255"),
        ("--idempotency-key", "ä", ": '\\xe4' holds characters"),
        ("--if-match", "ä", ": "),
        ("--if-match", 'a"b', " "),
    ],
)
def test_what_is_wrong_with_an_option_names_it_and_no_header(
    run: Run, client: Client, option: str, value: str, wrong: str
) -> None:
    client.create_topic("orders")
    failed = run("topics", "delete", "orders", option, value)
    assert (failed.code, failed.err.startswith(f"error: {option}{wrong}")) == (2, True), failed.err


def test_a_second_creation_is_a_conflict(run: Run) -> None:
    run("topics", "create", "orders")
    assert run("topics", "create", "orders").code == 4


def test_labels_that_break_the_rules_are_all_named_in_one_line(run: Run) -> None:
    run("topics", "create", "orders")
    failed = run("topics", "set-custom-labels", "orders", "--labels", "a b=c,-=x")
    assert failed.code == 2
    assert "labels.a b" in failed.err
    assert "labels.-" in failed.err


def test_what_lives_inside_is_deleted_only_with_force_and_the_hint_says_so(run: Run, client: Client) -> None:
    client.create_topic("orders")
    failed = run("namespaces", "delete", "public/default")
    assert failed.code == 4
    assert "topicfold namespaces delete --force public/default" in failed.err


@pytest.mark.parametrize(
    ("partitions", "tried", "meant"),
    [(0, "delete-partitioned-topic", "delete"), (3, "delete", "delete-partitioned-topic")],
)
def test_deleting_a_topic_of_the_other_kind_names_the_command_that_does(
    run: Run, client: Client, partitions: int, tried: str, meant: str
) -> None:
    client.create_topic("orders", partitions=partitions)
    failed = run("topics", tried, "orders")
    assert failed.code == 4
    assert f"hint: topicfold topics {meant} orders\n" in failed.err


def test_an_unreachable_server_says_how_to_start_one(bare_run: Run) -> None:
    failed = bare_run("topics", "list", "--url", closed_port())
    assert failed.code == 6
    assert "topicfold serve" in failed.err


def test_version_prints_its_own_even_where_no_server_answers(bare_run: Run) -> None:
    failed = bare_run("version", "--url", closed_port())
    assert failed.code == 6
    assert "0.1.0" in failed.out


def test_an_unknown_outcome_says_which_operation_to_ask_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, errors.OutcomeUnknown("no verdict in time", operation="ab12"))
    failed = run("topics", "create", "orders")
    assert failed.code == 6
    assert "topicfold operations get ab12" in failed.err


@pytest.mark.parametrize(
    ("hint", "told"), [(None, "try again in a few seconds; topicfold doctor tells more"), ("Set x.", "Set x.")]
)
def test_a_log_that_is_away_is_told_of_by_doctor(
    run: Run, monkeypatch: pytest.MonkeyPatch, hint: str | None, told: str
) -> None:
    fail_with(monkeypatch, errors.LogUnavailable("the log cannot be reached; the change is not applied", hint=hint))
    failed = run("topics", "create", "orders")
    assert (failed.code, failed.err.splitlines()[1]) == (6, f"hint: {told}")


def test_a_lost_answer_says_which_key_to_send_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, AnswerLost("cut", url="http://h", idempotency_key="k1"))
    assert "--idempotency-key k1" in run("topics", "create", "orders").err


def test_a_server_that_may_speak_tls_is_to_be_tried_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    server, closed = Server("http://h:1"), NoAnswer(HUNG_UP, was_sent=True)
    fail_with(monkeypatch, server.unreachable(closed))
    hint = "hint: That server may speak TLS; try https://h:1, or check that it is a Topicfold server\n"
    assert run("topics", "list").err.endswith(hint)
    fail_with(monkeypatch, server.lost(closed, "k1"))
    assert "hint: try --url https://h:1 with --idempotency-key k1; " in run("topics", "create", "orders").err


def test_an_interrupt_ends_with_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, KeyboardInterrupt())
    assert run("topics", "list") == (130, "", "")


@pytest.mark.parametrize("options", [["--idempotency-key", "k1"], []])
def test_an_interrupted_change_says_how_to_run_it_again_safely(
    run: Run, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    fail_with(monkeypatch, KeyboardInterrupt())
    ended = run("topics", "create", "orders", *options)
    assert ended.code == 130
    assert "may or may not be applied" in ended.err
    assert re.search(r"--idempotency-key (k1|[0-9a-f]{32});", ended.err)


@pytest.mark.parametrize("command", ["import kafka", "policies apply", "rollback", "tenants update"])
def test_where_a_key_is_no_help_one_is_to_run_it_again_without(command: str) -> None:
    hint = next_step(AnswerLost("cut", url="http://h", idempotency_key="k1"), command, {})
    assert (hint.startswith("run it again; "), "--idempotency-key" in hint) == (True, False)


def test_nor_does_an_interrupted_update_of_a_tenant_name_its_key(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, KeyboardInterrupt())
    ended = run("tenants", "update", "acme", "--idempotency-key", "k1")
    assert ended.err.splitlines()[1] == "hint: run it again; what was changed stays so"


def test_an_unexpected_error_is_one_line_and_its_traceback_is_for_debugging(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_with(monkeypatch, ZeroDivisionError("by nothing"))
    failed = run("topics", "list")
    assert failed.code == 1
    assert "Traceback" not in failed.err
    assert "ZeroDivisionError: by nothing" in failed.err
    assert "Traceback" in run("topics", "list", "--debug").err


@pytest.mark.parametrize(
    ("short", "said"),
    [(MemoryError(), "not enough memory"), (OSError(errno.EMFILE, "Too many open files"), "Too many open files")],
)
def test_what_a_process_has_too_little_of_is_said(
    run: Run, monkeypatch: pytest.MonkeyPatch, short: Exception, said: str
) -> None:
    fail_with(monkeypatch, short)
    failed = run("topics", "list")
    assert (failed.code, failed.err.splitlines()[0]) == (1, f"error: this process cannot continue: {said}")


@pytest.mark.parametrize("hint", SPOKEN_HERE)
def test_each_hint_of_the_server_that_is_translated_is_one_that_it_gives(hint: str) -> None:
    assert any(hint in path.read_text() for path in PACKAGE.rglob("*.py") if path.parent.name != "cli")


def test_the_first_process_of_a_container_is_ended_by_sigterm_before_it_serves() -> None:
    program = "import os, signal; pid, os.getpid = os.getpid(), lambda: 1\n"
    program += "from topicfold.cli.main import main; main(['--version']); os.kill(pid, signal.SIGTERM)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True)
    # Without a handler it would be -SIGTERM, which process 1 is never sent.
    assert ended.returncode == 128 + signal.SIGTERM


def test_streams_that_were_closed_are_open_again_under_their_own_numbers(tmp_path: Path) -> None:
    # Else a file or a connection is given such a number: what is written to stderr goes there, and uvloop ends the
    # process when it is closed.
    subprocess.run(["sh", "-c", 'exec "$0" -c "$1" "$2" <&- >&- 2>&-', sys.executable, _LOOK, tmp_path / "seen"])
    assert (tmp_path / "seen").read_text() == repr((2, [(os.devnull, True)] * 3))


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_a_stream_that_was_closed_is_one_that_nobody_reads(monkeypatch: pytest.MonkeyPatch, stream: str) -> None:
    monkeypatch.setattr(sys, stream, None)
    assert entry.main(["--version"]) == 0
    assert entry.main(["topics", "list", "no-such/namespace/at-all"]) == 2
    getattr(sys, stream).close()


def test_output_that_cannot_be_written_is_told_without_a_traceback() -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "topicfold", "--help"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (ended.returncode, ended.stderr) == (1, "error: the output cannot be written: No space left on device\n")


@pytest.mark.parametrize("is_unbuffered", [True, False])
def test_an_exit_code_comes_through_where_what_was_wrong_cannot_be_written(is_unbuffered: bool) -> None:
    command = [sys.executable, *(["-u"] if is_unbuffered else []), "-m", "topicfold", "topics", "list", "--no-such"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    read, write = os.pipe()
    os.close(read)
    with open("/dev/full", "w") as full:
        for unwritable in (full, write):
            assert subprocess.run(command, stderr=unwritable, env=env).returncode == 2
    os.close(write)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
@pytest.mark.parametrize(
    ("filename", "says"), [(None, "the output cannot be written"), ("a.yaml", "unexpected OSError")]
)
def test_a_disk_that_is_full_is_told_as_the_outputs_unless_it_is_a_files(
    monkeypatch: pytest.MonkeyPatch, run: Run, number: int, filename: str | None, says: str
) -> None:
    fail_with(monkeypatch, OSError(number, "full", filename))
    ended = run("topics", "list")
    assert ended.code == 1
    assert says in ended.err


def test_where_nobody_reads_what_is_printed_it_ends_as_who_dies_of_that_does_and_not_as_failed() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "topicfold", "--help"]
    ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, "")


def test_an_interrupt_while_the_command_is_loaded_is_130_without_a_traceback() -> None:
    pressed = (
        "import signal, sys, types\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background a shell has it ignored\n"
        "def find_spec(name, *_): return signal.raise_signal(signal.SIGINT) if name == 'typer' else None\n"
        "sys.meta_path.insert(0, types.SimpleNamespace(find_spec=find_spec))\n"
    )
    scripts = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = scripts["topicfold"].partition(":")
    by_script = f"from {module} import {function}; sys.exit({function}())"
    by_module = "import runpy; runpy.run_module('topicfold', run_name='__main__')"
    for way in (by_script, by_module):
        ended = subprocess.run([sys.executable, "-c", pressed + way], capture_output=True, text=True)
        assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("topics rollback", "topicfold rollback --help; or topicfold namespaces rollback --help"),
        ("export", "topicfold policies export --help"),
        ("topics tenants", "topicfold tenants --help"),
        ("find", "topicfold topics list --help"),
        ("topics describe", "topicfold topics get --help"),
        ("label", "topicfold topics set-custom-labels --help"),
        (
            "create",
            "topicfold topics create --help; or topicfold namespaces create --help; or topicfold tenants create --help",
        ),
    ],
)
def test_a_command_that_is_elsewhere_is_pointed_to(bare_run: Run, typed: str, meant: str) -> None:
    ran = bare_run(*typed.split())
    assert (ran.code, ran.err) == (2, f"error: No such command '{typed.split()[-1]}'.\nhint: {meant}\n")
    for command in meant.split("; or "):
        assert bare_run(*command.split()[1:]).code == 0


def test_how_a_shell_completes_is_found_under_the_name_that_others_have_for_it(bare_run: Run) -> None:
    ran = bare_run("completion", "bash")
    assert (ran.code, ran.err) == (2, "error: No such command 'completion'.\nhint: topicfold --show-completion\n")


@pytest.mark.parametrize("words", [["topics", "get"], ["topics", "list"], ["topics"], ["topics", "list", "-o"]])
def test_what_is_far_too_long_is_not_repeated_whole(bare_run: Run, words: list[str]) -> None:
    ran = bare_run(*words, "a" * 100_000)
    assert ran.code == 2
    assert len(ran.err) < 5_000
