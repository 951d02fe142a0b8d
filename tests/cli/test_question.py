"""Questions before much is deleted: who is asked, what they are told, and that no script waits for an answer."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.client.served import serving
from tests.terminal import Terminal
from topicfold.client import Client
from topicfold.client.answers import Readiness
from topicfold.client.errors import UnexpectedAnswer


@pytest.fixture
def on_kafka(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """What the server says of its cluster."""
    cluster = {"adoptsOnly": False}
    monkeypatch.setattr(Client, "readiness", lambda _: Readiness(True, {"cluster": cluster}))
    return cluster


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
@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), (" YES\n", 0), ("\n", 1)])
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
    assert (refused.code, refused.err.endswith("[y/N] not confirmed; nothing was changed\n")) == (1, True)
    assert "acme/pay" in client.list_namespaces("acme")


@pytest.mark.parametrize(
    ("words", "created", "told"),
    [
        (("delete", "orders"), {}, "persistent://public/default/orders, and its Kafka topic orders"),
        (
            ("delete-partitioned-topic", "orders"),
            {"partitions": 2, "kafka_name": "legacy"},
            "persistent://public/default/orders, and its Kafka topic legacy",
        ),
    ],
)
@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("\n", 1)])
@pytest.mark.usefixtures("on_kafka")
def test_on_a_terminal_a_deletion_that_takes_messages_names_the_kafka_topic_and_asks(
    run: Run,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    created: dict[str, Any],
    told: str,
    typed: str,
    code: int,
) -> None:
    client.create_topic("orders", **created)
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    asked = run("topics", *words)
    assert asked.code == code
    assert asked.err.startswith(f"This deletes {told} with all messages. Continue? [y/N] ")
    assert bool(client.list_topics("public/default")) == (code != 0)


@pytest.mark.parametrize("stdin", [None, io.StringIO("n\n"), Terminal("n\n")])
@pytest.mark.usefixtures("on_kafka")
def test_nobody_is_asked_about_a_topic_without_a_terminal_or_with_yes(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch, stdin: io.StringIO | None
) -> None:
    client.create_topic("orders")
    monkeypatch.setattr(sys, "stdin", stdin)
    done = run("topics", "delete", "orders", *(["--yes"] if isinstance(stdin, Terminal) else []))
    assert (done.code, done.err) == (0, "deleted persistent://public/default/orders\n")
    if stdin is None:
        sys.stdin.close()


@pytest.mark.parametrize("name", ["orders", "non-persistent://public/default/orders"])
def test_nobody_is_asked_about_a_topic_whose_messages_stay(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch, on_kafka: dict[str, bool], name: str
) -> None:
    on_kafka["adoptsOnly"] = not name.startswith("non-")
    client.create_topic(name)
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    assert run("topics", "delete", name).code == 0


def test_nobody_is_asked_about_a_topic_of_a_server_that_knows_no_cluster(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create_topic("orders")
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    assert run("topics", "delete", "orders").code == 0


@pytest.mark.parametrize(
    ("words", "code"), [(("delete", "nope"), 3), (("delete", "parted"), 4), (("delete", "parted-partition-0"), 2)]
)
@pytest.mark.usefixtures("on_kafka")
def test_nobody_is_asked_about_a_topic_that_the_server_does_not_delete(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    client.create_topic("parted", partitions=2)
    there = Terminal("y\n")
    monkeypatch.setattr(sys, "stdin", there)
    assert (run("topics", *words).code, there.read()) == (code, "y\n")


@pytest.mark.parametrize("report", [None, {}, {"cluster": {}}])
def test_where_a_server_does_not_say_whether_messages_are_deleted_somebody_is_asked(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch, report: Mapping[str, Any] | None
) -> None:
    def readiness(client: Client) -> Readiness:
        if report is None:
            raise UnexpectedAnswer("a proxy hides it", url=client.url, status=404)
        return Readiness(True, report)

    client.create_topic("orders")
    monkeypatch.setattr(Client, "readiness", readiness)
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    asked = run("topics", "delete", "orders")
    assert (asked.code, "and its Kafka topic orders with all messages" in asked.err) == (1, True)


@pytest.mark.usefixtures("on_kafka")
def test_whoever_may_delete_a_topic_but_not_read_it_is_asked_and_may(
    bare_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("s3cret root\nother keeper\n")
    monkeypatch.setattr(sys, "stdin", Terminal("n\ny\n"))
    with (
        serving(auth_static_tokens_file=tokens, superusers=("root",)) as (url,),
        Client(url, token="s3cret") as root,
    ):
        root.create_topic("orders")
        root.grant_on_topic("orders", "keeper", ["manage-topics"])
        words = ("topics", "delete", "orders", "--url", url, "--token", "other")
        refused, done = bare_run(*words), bare_run(*words)
        assert root.list_topics("public/default") == ()
    told = "This deletes persistent://public/default/orders, and its Kafka topic with all messages. Continue? [y/N] "
    assert (refused.code, refused.err.startswith(told), done.code) == (1, True, 0)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("topics", "delete", "orders"), "its Kafka topic orders with"),
        (("namespaces", "delete", "-f", "public/default"), "public/default with 1 topic."),
    ],
)
@pytest.mark.usefixtures("on_kafka")
def test_a_topic_that_another_node_has_just_made_is_not_deleted_without_a_question(
    bare_run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    with serving(0.0, 0.3) as urls, Client(urls[0]) as client:
        with Client(urls[1]) as late:
            late.list_tenants()
        client.create_topic("orders")
        asked = bare_run(*words, "--url", urls[1])
        assert client.list_topics("public/default") != ()
    assert (asked.code, told in asked.err) == (1, True)


@pytest.mark.parametrize("name", ["örders", "__change_events"])
@pytest.mark.usefixtures("on_kafka")
def test_nobody_is_asked_about_a_topic_that_stands_for_none_in_kafka(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    client.create_topic(name)
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    assert run("topics", "delete", name).code == 0


@pytest.mark.usefixtures("on_kafka")
def test_what_was_agreed_to_is_not_another_topic_of_that_name(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Terminal):
        def readline(self, *_: object) -> str:
            client.delete_topic("orders")
            client.create_topic("orders", kafka_name="precious")
            return "y\n"

    client.create_topic("orders")
    monkeypatch.setattr(sys, "stdin", Slow())
    assert run("topics", "delete", "orders").code == 4
    assert client.get_topic("orders").kafka_name == "precious"


@pytest.mark.usefixtures("on_kafka")
def test_a_deletion_that_was_agreed_to_and_lost_is_run_again_as_it_was(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    delete = Client.delete_plain_topic

    def lost(client: Client, topic: str, **options: Any) -> Any:
        delete(client, topic, **options)
        raise KeyboardInterrupt

    client.create_topic("orders")
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    with monkeypatch.context() as patch:
        patch.setattr(Client, "delete_plain_topic", lost)
        interrupted = run("topics", "delete", "orders")
    options = interrupted.err.rpartition("run it again with ")[2].partition(";")[0].split()
    assert options[::2] == ["--if-match", "--idempotency-key"]
    assert run("topics", "delete", "orders", *options).err == "deleted persistent://public/default/orders\n"
