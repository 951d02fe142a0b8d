"""`topicfold serve`: which settings reach the server. The server itself is replaced; it has tests of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.cli.conftest import Run
from topicfold.cli.server_names import SERVER_SETTINGS


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list that settings of servers go to."""
    for name in ("LOG_FILE", "KAFKA_BOOTSTRAP", "KAFKA_SETTINGS", "CLUSTER_BOOTSTRAP", "HOST", "PORT"):
        monkeypatch.delenv(f"TOPICFOLD_{name}", raising=False)
    settings: list[Any] = []
    module = ModuleType("topicfold.server.run")
    module.serve = lambda given, is_quiet: settings.append(given) or 0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "topicfold.server.run", module)
    return settings


def test_without_flags_the_defaults_hold(bare_run: Run, served: list[Any]) -> None:
    assert bare_run("serve").code == 0
    assert (served[0].host, served[0].port, served[0].kafka_bootstrap) == ("127.0.0.1", 8080, None)


def test_a_server_may_be_told_to_be_quiet(bare_run: Run, served: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    quiet: list[bool] = []
    monkeypatch.setattr(sys.modules["topicfold.server.run"], "serve", lambda _, is_quiet: quiet.append(is_quiet) or 0)
    bare_run("serve")
    bare_run("serve", "-q")
    monkeypatch.setenv("TOPICFOLD_QUIET", "true")
    bare_run("serve")
    assert quiet == [False, True, True]


def test_flags_become_settings(bare_run: Run, served: list[Any]) -> None:
    bare_run("serve", "--kafka", "b:9092", "--host", "::1", "--port", "0", "--kafka-setting", "security.protocol=SSL")
    assert (served[0].kafka_bootstrap, served[0].host, served[0].port) == ("b:9092", "::1", 0)
    assert served[0].kafka_settings == {"security.protocol": "SSL"}


def test_a_snapshot_is_named_by_a_flag_or_a_variable(
    bare_run: Run, served: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bare_run("serve", "--snapshot", "here").code == 0
    monkeypatch.setenv("TOPICFOLD_SNAPSHOT", "there")
    assert bare_run("serve").code == 0
    assert [str(each.snapshot) for each in served] == ["here", "there"]


def test_flags_say_who_may_come_in(bare_run: Run, served: list[Any]) -> None:
    flags = ("--auth-jwt-key-file", "keys.pem", "--auth-issuer", "i", "--superusers", "root, boss", "--insecure")
    assert bare_run("serve", *flags).code == 0
    assert (str(served[0].auth_jwt_key_file), served[0].auth_issuer) == ("keys.pem", "i")
    assert (served[0].superusers, served[0].insecure) == (("root", "boss"), True)


def test_half_of_what_says_who_may_come_in_is_refused(bare_run: Run, served: list[Any]) -> None:
    done = bare_run("serve", "--superusers", "root")
    assert (done.code, served) == (2, [])
    assert done.err.startswith("error: --superusers need authentication: --auth-jwks-url, ")
    done = bare_run("serve", "--tls-client-ca-file", "ca.pem")
    assert (done.code, done.err.splitlines()[0]) == (
        2, "error: --tls-client-ca-file needs --tls-cert-file, the certificate that this server shows"
    )  # fmt: skip


def test_what_is_not_said_by_a_flag_is_called_as_it_is_said(
    bare_run: Run, served: list[Any], config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file.write_text("[server]\nfollow_cluster = true")
    failed = bare_run("serve")
    assert (failed.err, served) == (
        f"error: {config_file}: follow_cluster needs a Kafka cluster: name it as cluster_bootstrap\n", [],
    )  # fmt: skip
    monkeypatch.setenv("TOPICFOLD_FOLLOW_CLUSTER", "true")
    assert bare_run("serve").err.startswith("error: TOPICFOLD_FOLLOW_CLUSTER needs a Kafka cluster: ")
    assert bare_run("serve", "--follow-cluster").err == (
        "error: --follow-cluster needs a Kafka cluster: name it as --cluster-bootstrap\n"
    )


@pytest.mark.parametrize("flags", [["--adopt-only"], ["--cluster-setting", "security.protocol=SSL"]])
def test_flags_about_a_cluster_are_refused_where_none_is_named(
    bare_run: Run, served: list[Any], flags: list[str]
) -> None:
    failed = bare_run("serve", *flags)
    assert (failed.code, served) == (2, [])
    assert failed.err.startswith(f"error: {flags[0]} is for a Kafka cluster, and none is named\nhint: Name it with ")


def test_flags_go_before_environment_before_file(
    bare_run: Run, served: list[Any], config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file.write_text('[server]\nport = 1\nhost = "localhost"\npartitions = 3')
    monkeypatch.setenv("TOPICFOLD_PORT", "2")
    bare_run("serve")
    assert (served[0].port, served[0].host, served[0].partitions) == (2, "localhost", 3)
    bare_run("serve", "--port", "3")
    assert served[1].port == 3


def test_a_log_file_on_the_command_line_goes_before_kafka_elsewhere(
    bare_run: Run, served: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPICFOLD_KAFKA_BOOTSTRAP", "b:9092")
    bare_run("serve", "--log", "events.db")
    assert (served[0].kafka_bootstrap, str(served[0].log_file)) == (None, "events.db")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[server]\nprot = 1", "Did you mean 'port'?"),
        ("[server]\nkafka = 'b:9092'", "Did you mean 'kafka_bootstrap'?"),
        ("[server]\nlog = 'a.db'", "Did you mean 'log_file'?"),
        ("[server]\nport = 'x'", "port: 'x' is not a whole number"),
        ("[server]\nkafka_bootstrap = 'http://b:9092'", "kafka_bootstrap: write HOST:PORT, without http://"),
        ("[server]\ncluster_bootstrap = 'http://b:9092'", "cluster_bootstrap: write HOST:PORT, without http://"),
    ],
)
def test_a_mistake_in_the_files_server_table_is_a_usage_error(
    bare_run: Run, served: list[Any], config_file: Path, text: str, said: str
) -> None:
    config_file.write_text(text)
    failed = bare_run("serve")
    assert (failed.code, served) == (2, [])
    assert said in failed.err


@pytest.mark.parametrize("text", ["sasl.password:hunter2", "sasl.password hunter2", "sasl.password"])
def test_of_a_setting_without_a_value_its_name_alone_is_told(bare_run: Run, text: str) -> None:
    failed = bare_run("serve", "--kafka", "b:9092", "--kafka-setting", text)
    assert (failed.code, failed.err.splitlines()[0]) == (2, "error: --kafka-setting: 'sasl.password' has no value")


@pytest.mark.parametrize("option", [("--kafka-setting", "a=b"), ("--kafka-topic", "a")])
def test_settings_of_kafka_with_a_log_in_a_file_are_refused(
    bare_run: Run, served: list[Any], option: tuple[str, str]
) -> None:
    failed = bare_run("serve", *option)
    assert (failed.code, served) == (2, [])
    assert f"error: {option[0]} is for a log on Kafka" in failed.err


@pytest.mark.parametrize("text", ["team,tier", " team , tier,", '["team", "tier"]'])
def test_lists_in_the_environment_are_words_parted_by_commas_or_json(
    bare_run: Run, served: list[Any], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("TOPICFOLD_ALLOWED_CUSTOM_LABEL_KEYS", text)
    monkeypatch.setenv("TOPICFOLD_ALLOWED_HOSTS", text)
    assert bare_run("serve").code == 0
    assert served[0].allowed_custom_label_keys == served[0].allowed_hosts == ("team", "tier")


def test_an_empty_variable_is_as_good_as_none(
    bare_run: Run, served: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ALLOWED_CUSTOM_LABEL_KEYS", "PORT"):
        monkeypatch.setenv(f"TOPICFOLD_{name}", "")
    assert bare_run("serve").code == 0
    assert (served[0].allowed_custom_label_keys, served[0].port) == (None, 8080)


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("PORT", "x", "TOPICFOLD_PORT: 'x' is not a whole number"),
        ("PORT", "70000", "TOPICFOLD_PORT: '70000' should be less than or equal to 65535"),
        ("STALE_AFTER_SECONDS", "soon", "TOPICFOLD_STALE_AFTER_SECONDS: 'soon' is not a number"),
        ("ALLOWED_HOSTS", "[a", "TOPICFOLD_ALLOWED_HOSTS: neither words separated by commas nor a JSON list"),
        ("KAFKA_BOOTSTRAP", "http://b:9092", "TOPICFOLD_KAFKA_BOOTSTRAP: write HOST:PORT, without http://"),
        ("CLUSTER_BOOTSTRAP", "http://b:9092", "TOPICFOLD_CLUSTER_BOOTSTRAP: write HOST:PORT, without http://"),
        ("KAFKA_BOOTSTRAP", "b:1,kafka://b:2", "TOPICFOLD_KAFKA_BOOTSTRAP: write HOST:PORT, without kafka://"),
        ("KAFKA_SETTINGS", "a", "TOPICFOLD_KAFKA_SETTINGS is not a JSON object"),
        ("POLICY_DEFAULTS", "a", "TOPICFOLD_POLICY_DEFAULTS is not a JSON object"),
        (
            "KAFKA_SETTINGS",
            '[{"sasl.password": "hunter2"}]',
            "TOPICFOLD_KAFKA_SETTINGS: should be keys with values, not a text or a list",
        ),
        ("ADVERTISED_URL", "http://me:p@w@node1:80", "TOPICFOLD_ADVERTISED_URL: it cannot contain a user or password"),
    ],
)
def test_a_value_that_cannot_work_is_told_in_plain_words(
    bare_run: Run, served: list[Any], monkeypatch: pytest.MonkeyPatch, variable: str, text: str, said: str
) -> None:
    monkeypatch.setenv(f"TOPICFOLD_{variable}", text)
    failed = bare_run("serve")
    assert (failed.code, served) == (2, [])
    assert failed.err.startswith(f"error: {said}\n")


@pytest.mark.parametrize("nested", ["[", '{"a": '])
@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("KAFKA_SETTINGS", "TOPICFOLD_KAFKA_SETTINGS is not a JSON object"),
        ("POLICY_DEFAULTS", "TOPICFOLD_POLICY_DEFAULTS is not a JSON object"),
        ("POLICY_DEFAULTS__RETENTIONPOLICIES", "policy_defaults: "),
        ("ALLOWED_HOSTS", "TOPICFOLD_ALLOWED_HOSTS: "),
    ],
)
def test_json_that_is_nested_too_deep_is_none(
    bare_run: Run, served: list[Any], monkeypatch: pytest.MonkeyPatch, variable: str, nested: str, said: str
) -> None:
    monkeypatch.setenv(f"TOPICFOLD_{variable}", nested * 5_000)
    failed = bare_run("serve")
    assert (failed.code, served) == (2, [])
    assert failed.err.startswith(f"error: {said}")
    assert len(failed.err) < 500


def test_entries_of_a_table_are_not_repeated_for_they_may_be_secret(
    bare_run: Run, served: list[Any], config_file: Path
) -> None:
    config_file.write_text('[server.kafka_settings]\n"sasl.password" = 4711')
    failed = bare_run("serve")
    assert "kafka_settings.sasl.password: " in failed.err
    assert "4711" not in failed.err


def test_a_flag_that_cannot_work_is_named_as_it_was_typed(bare_run: Run, served: list[Any]) -> None:
    failed = bare_run("serve", "--auth-role-claim", "")
    assert (failed.code, served) == (2, [])
    assert failed.err.startswith("error: --auth-role-claim: ")


def test_the_command_line_knows_all_settings_of_the_server() -> None:
    from topicfold.settings import Settings

    assert set(SERVER_SETTINGS) == set(Settings.model_fields)


def test_the_cluster_with_the_topics_is_the_one_with_the_log_unless_another_is_named(
    bare_run: Run, served: list[Any]
) -> None:
    bare_run("serve")
    bare_run("serve", "--kafka", "b:9092", "--kafka-setting", "security.protocol=SSL")
    bare_run("serve", "--log", "a.db", "--cluster-bootstrap", "c:9092", "--cluster-setting", "client.rack=r")
    assert [settings.cluster for settings in served] == [
        None,
        ("b:9092", {"security.protocol": "SSL"}),
        ("c:9092", {"client.rack": "r"}),
    ]


def test_a_node_adopts_only_and_follows_if_it_is_told_to(bare_run: Run, served: list[Any]) -> None:
    bare_run("serve", "--kafka", "b:9092")
    bare_run("serve", "--kafka", "b:9092", "--adopt-only", "--follow-cluster")
    assert [(settings.adopt_only, settings.follow_cluster) for settings in served] == [(False, False), (True, True)]


def test_following_without_a_cluster_is_refused(bare_run: Run, served: list[Any]) -> None:
    failed = bare_run("serve", "--follow-cluster")
    assert (failed.code, served) == (2, [])
    assert "--cluster-bootstrap" in failed.err


def test_a_file_and_kafka_together_are_refused(bare_run: Run, served: list[Any]) -> None:
    assert bare_run("serve", "--log", "a.db", "--kafka", "b:9092").code == 2
    assert served == []


@pytest.mark.parametrize(
    ("missing", "arguments", "command"),
    [
        ("pydantic_settings", [], "pip install 'topicfold[server]'"),
        ("pydantic_settings", ["--log", "a.db"], "pip install 'topicfold[server]'"),
        ("pydantic_settings", ["--kafka", "b:9092"], "pip install 'topicfold[server,kafka]'"),
        ("confluent_kafka", ["--kafka", "b:9092"], "pip install 'topicfold[server,kafka]'"),
        ("pyarrow", ["--snapshot", "s"], "pip install 'topicfold[server,snapshot]'"),
        ("pydantic_settings", ["--snapshot", "s"], "pip install 'topicfold[server,snapshot]'"),
        ("pydantic_settings", ["--cluster-bootstrap", "b:9092"], "pip install 'topicfold[server,kafka]'"),
        ("confluent_kafka", ["--kafka", "b:9092", "--snapshot", "s"], "pip install 'topicfold[server,kafka,snapshot]'"),
    ],
)
def test_without_the_packages_for_serving_the_command_that_installs_all_of_them_is_printed(
    bare_run: Run, served: list[Any], monkeypatch: pytest.MonkeyPatch, missing: str, arguments: list[str], command: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "topicfold.settings", raising=False)
    failed = bare_run("serve", *arguments)
    assert (failed.code, served) == (1, [])
    in_a_checkout = command.replace("'topicfold[", "-e '.[")
    assert f"hint: {command}, or in a checkout: {in_a_checkout}\n" in failed.err


@pytest.mark.parametrize(("package", "options"), [("starlette", []), ("jwt", ["--auth-jwt-key-file", "keys.pem"])])
@pytest.mark.parametrize(
    ("text", "why"),
    [("", "is not a package"), ("raise ImportError('of mine')", "of mine")],
    ids=["other", "broken"],
)
def test_a_module_of_the_name_of_a_package_is_not_taken_for_a_package_that_is_missing(
    tmp_path: Path, package: str, options: list[str], text: str, why: str
) -> None:
    module = tmp_path / f"{package}.py"
    module.write_text(text)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    serving = [sys.executable, "-m", "topicfold", "serve", "--port", "0", *options]
    failed = subprocess.run(
        serving, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60
    )
    wrong, hint = failed.stderr.splitlines()
    assert failed.returncode == 1
    assert wrong.startswith("error: serving cannot import ")
    assert wrong.endswith(why)
    assert f" from {module}: " in wrong
    assert hint.startswith("hint: If that is a file of your own")
