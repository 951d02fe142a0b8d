"""`topicfold watch` and `topics list -w`: a line for each change, until somebody interrupts it."""

from __future__ import annotations

import errno
import json
import re
import signal
from types import SimpleNamespace
from typing import Any, Self, cast

import pytest

from tests.cli.conftest import Run, Start
from topicfold.cli.config import ColorMode, OutputFormat
from topicfold.cli.output import Output
from topicfold.cli.watch import Lines, follow, frame_data
from topicfold.client import Added, Bookmark, Client, Deleted, Frame, Match, Modified, Reset
from topicfold.errors import Forbidden

ORDERS = "persistent://public/default/orders"
SYSTEM = "persistent://public/default/__change_events"
WHEN = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def match(name: str = ORDERS, **labels: str) -> Match:
    return Match(name, labels, "v1", 0)


def shown(*frames: Frame) -> list[str]:
    """Return the lines of these frames without their times."""
    lines = Lines()
    return [re.sub(f"^{WHEN}  ", "", lines.text(frame)) for frame in frames]


def test_changes_are_shown_with_what_differs_and_who_did_it() -> None:
    assert shown(
        Added("", match(tier="gold", team="pay")),
        Modified("c1", match(tier="silver", note="x"), {"tier": "gold", "team": "pay"}, ("ann", "bob")),
        Modified("c2", match(tier="silver"), {"tier": "silver"}),
        Deleted("c3", match(tier="silver"), ("ann",)),
        Reset("too old"),
        Bookmark("c4"),
    ) == [
        f"ADDED     {ORDERS}  team=pay,tier=gold",
        f"MODIFIED  {ORDERS}  note: – → x, team: pay → –, tier: gold → silver  by ann, bob",
        f"MODIFIED  {ORDERS}  (labels as before)",
        f"DELETED   {ORDERS}  tier=silver  by ann",
        "RESET     too old",
        "",
    ]


def test_a_change_that_left_the_labels_alone_is_shown_with_what_else_changed() -> None:
    frame = Modified("c1", match(tier="gold"), {"tier": "gold"}, ("ann",), "2026-01-02T03:04:05.678Z")
    assert Lines().text(frame, "partitions: 2 → 3").endswith(f"{ORDERS}  partitions: 2 → 3  by ann")


def test_names_line_up_under_the_longest_so_far() -> None:
    lines = shown(Added("", match("orders-of-eu", a="b")), Added("", match("orders", a="b")))
    assert lines == ["ADDED     orders-of-eu  a=b", "ADDED     orders        a=b"]


def test_a_name_that_is_far_longer_than_others_pushes_its_own_line_only() -> None:
    lines = Lines()
    frames = [Added("", match(name, a="b")) for name in ("x" * 200, *(f"t{number}" for number in range(20)))]
    lines.line_up(frames)
    assert lines.text(frames[1]).endswith("  ADDED     t0   a=b")


def test_a_change_is_shown_with_its_own_time_however_late_it_is_read() -> None:
    then = "2026-01-02T03:04:05.678Z"
    assert Lines().text(Added("c1", match(), ("ann",), then)).startswith(f"{then}  ADDED")
    assert frame_data(Deleted("c1", match(), ("ann",), then))["time"] == then


def test_data_has_the_names_of_the_rest_api() -> None:
    data = frame_data(Modified("c1", match(a="b"), {"a": "c"}, ("ann",)))
    assert (data["type"], data["cursor"], data["old"], data["actors"]) == (
        "MODIFIED",
        "c1",
        {"labels": {"a": "c"}},
        ("ann",),
    )
    assert frame_data(Bookmark("c1", is_initial=True)) == {
        "type": "BOOKMARK",
        "cursor": "c1",
        "initial": True,
        "hash": None,
    }


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_watch_goes_on_until_it_is_interrupted_and_another_goes_on_from_there(
    start: Start, client: Client, number: signal.Signals
) -> None:
    client.create_topic("orders", labels={"team": "pay"})
    watching = start("watch", "-l", "team=pay")
    assert re.fullmatch(rf"{WHEN}  ADDED     {ORDERS}  team=pay", watching.line())
    client.set_labels("orders", {"tier": "gold"})
    assert watching.line().endswith("tier: – → gold  by anonymous")
    code, err = watching.interrupt(number)
    told = re.fullmatch(r"go on with --since (\S+)\n", err)
    assert (code, bool(told)) == (130, True), err
    client.delete_topic("orders")
    assert told is not None
    assert start("watch", "-l", "team=pay", "--since", told[1], "-o", "name").line() == ORDERS


def test_what_changed_besides_labels_is_shown_to_people_as_the_history_has_it(
    start: Start, client: Client, run: Run
) -> None:
    client.create_topic("orders")
    watching = start("watch", "--match", "orders")
    assert watching.line().endswith(f"ADDED     {ORDERS}")
    client.set_policy("orders", "retentionPolicies", {"retentionTimeInMinutes": 9, "retentionSizeInMB": -1})
    assert watching.line().endswith(
        f"MODIFIED  {ORDERS}  policies.local.retentionPolicies.retentionSizeInMB: – → -1, "
        "policies.local.retentionPolicies.retentionTimeInMinutes: – → 9  by anonymous"
    )


def test_a_watch_that_may_not_read_the_history_goes_on_without_it_and_asks_no_more(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Changes(Told):
        def __next__(self) -> Frame:
            super().__next__()
            return Modified(self.cursor, match(), {})

    asked: list[object] = []

    def refused(name: object, **_: object) -> None:
        asked.append(name)
        raise Forbidden("no")

    monkeypatch.setattr(client, "history", refused)
    output = Output(OutputFormat.TABLE, ColorMode.NEVER, is_quiet=False)
    follow(cast(Any, SimpleNamespace(output=output, client=client)), cast(Any, Changes(2)))
    assert capsys.readouterr().out.count(f"MODIFIED  {ORDERS}  (labels as before)\n") == 2
    assert asked == [ORDERS]


@pytest.mark.parametrize("words", [["watch", "--match", "**"], ["topics", "list", "-w"]])
def test_it_ends_when_its_reader_is_gone_though_nothing_happens_any_more(
    start: Start, client: Client, words: list[str]
) -> None:
    client.create_topic("orders")
    watching = start(*words, "-o", "name")
    assert watching.line() == ORDERS
    assert watching.unread() == (141, "")


class Told:
    """A watch that tells of `count` changes, and is interrupted as `where` says: inside it, or while one is shown."""

    def __init__(self, count: int, interrupt_inside: int | None = None) -> None:
        self.cursor = ""
        self._left = iter(range(1, count + 1))
        self._interrupt_inside = interrupt_inside

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def close(self) -> None: ...

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Frame:
        number = next(self._left)
        self.cursor = f"c{number}"
        if number == self._interrupt_inside:
            signal.raise_signal(signal.SIGINT)
        return Added(self.cursor, match())


class Shown(Output):
    """Shows cursors, interrupted so many times while it shows the third."""

    def __init__(self, times: int) -> None:
        super().__init__(OutputFormat.JSON, ColorMode.NEVER, is_quiet=False)
        self.cursors: list[str] = []
        self._times = times

    def show_event(self, data: Any, name: str, text: str) -> None:
        for _ in range(self._times if len(self.cursors) == 2 else 0):
            signal.raise_signal(signal.SIGTERM)
        self.cursors.append(data["cursor"])


@pytest.mark.parametrize(
    ("interrupt_inside", "while_shown", "shown", "said"),
    [(3, 0, ["c1", "c2"], "c2"), (None, 1, ["c1", "c2", "c3"], "c3"), (None, 2, ["c1", "c2"], "c2")],
)
def test_a_change_is_either_shown_or_lies_behind_what_is_said(
    capsys: pytest.CaptureFixture[str], interrupt_inside: int | None, while_shown: int, shown: list[str], said: str
) -> None:
    output = Shown(while_shown)
    with pytest.raises(KeyboardInterrupt):
        follow(cast(Any, SimpleNamespace(output=output)), cast(Any, Told(9, interrupt_inside)))
    assert (output.cursors, capsys.readouterr().err) == (shown, f"go on with --since {said}\n")


class ShownUntilFull(Shown):
    """Shows two cursors, until there is no room for the third."""

    def show_event(self, data: Any, name: str, text: str) -> None:
        if len(self.cursors) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().show_event(data, name, text)


def test_a_change_that_there_is_no_room_to_write_lies_behind_what_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    output = ShownUntilFull(times=0)
    with pytest.raises(OSError, match="No space left"):
        follow(cast(Any, SimpleNamespace(output=output)), cast(Any, Told(9)))
    assert (output.cursors, capsys.readouterr().err) == (["c1", "c2"], "go on with --since c2\n")


def test_a_cursor_of_other_namespaces_is_refused_with_the_one_that_it_says_nothing_of(
    start: Start, client: Client, run: Run
) -> None:
    watching = start("watch", "-l", "team=pay", "-o", "json")
    cursor = json.loads(watching.line())["cursor"]
    client.create_namespace("public/other")
    refused = run("watch", "-n", "public/default", "-n", "public/other", "--since", cursor)
    assert refused.code == 2
    assert "does not cover public/other" in refused.err
    assert "leave --since out to start with the topics that match now" in refused.err


def test_lines_of_json_have_everything_and_nothing_else_is_printed(start: Start, client: Client) -> None:
    client.create_topic("orders", labels={"team": "pay"})
    watching = start("watch", "--match", "orders", "-o", "json", "--no-initial")
    first = json.loads(watching.line())
    assert first["type"] == "BOOKMARK"
    client.delete_topic("orders")
    gone = json.loads(watching.line())
    assert (gone["type"], gone["topic"]["name"], gone["actors"]) == ("DELETED", ORDERS, ["anonymous"])


def test_where_nothing_matches_yet_it_says_that_it_waits(start: Start, client: Client) -> None:
    client.create_topic("orders", labels={"team": "pay"})
    watching = start("watch", "-l", "team=paymnts")
    assert watching.err_line() == "no topic matches yet; waiting for one"
    client.set_labels("orders", {"team": "paymnts"})
    assert f"ADDED     {ORDERS}" in watching.line()


def test_topics_that_match_at_the_start_line_up_from_the_first_on(start: Start, client: Client) -> None:
    for name in ("orders-of-the-eu", "orders"):
        client.create_topic(name, labels={"team": "pay"})
    watching = start("watch", "-l", "team=pay")
    lines = [watching.line(), watching.line()]
    assert {line.index("team=pay") for line in lines} == {
        len(f"2026-01-02T03:04:05.678Z  MODIFIED  {ORDERS}-of-the-eu  ")
    }
    assert [line.split()[2] for line in lines] == [ORDERS, f"{ORDERS}-of-the-eu"]


def test_what_was_held_back_of_a_start_that_was_cut_off_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    class CutOff(Told):
        def __next__(self) -> Frame:
            number = next(self._left)
            self.cursor = "c" if number == 4 else ""
            return [Added("", match()), Reset("cut"), Added("", match()), Bookmark("c", is_initial=True)][number - 1]

    output = Output(OutputFormat.TABLE, ColorMode.NEVER, is_quiet=False)
    follow(cast(Any, SimpleNamespace(output=output)), cast(Any, CutOff(4)))
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["RESET", "ADDED"]


def test_a_list_that_is_watched_goes_on_with_what_changes(start: Start, client: Client) -> None:
    client.create_topic("orders", labels={"team": "pay"})
    watching = start("topics", "list", "-w", "--custom-labels", "team:pay")
    assert watching.line().endswith(f"ADDED     {ORDERS}  team=pay")
    client.remove_labels("orders", ["team"])
    assert f"DELETED   {ORDERS}" in watching.line()


@pytest.mark.parametrize(("flag", "named"), [([], ORDERS), (["-ist"], SYSTEM)])
@pytest.mark.parametrize("words", [["watch"], ["topics", "list", "-w"]])
def test_pulsars_own_topics_are_watched_where_they_are_asked_for(
    start: Start, client: Client, words: list[str], flag: list[str], named: str
) -> None:
    for local in ("__change_events", "orders"):
        client.create_topic(local, labels={"team": "pay"})
    assert start(*words, *flag, "-l", '{"matchLabels": {"team": "pay"}}', "-o", "name").line() == named


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-l", "team in gold"], "column 9"),
        (["--match", "a*"], "segment 1"),
        (["-A", "-n", "public/default"], "--all-namespaces and names of namespaces are both given"),
        (["-n", "public/nowhere"], "namespace"),
        (["-l", ""], "leave -l out to watch all topics"),
        (["-l", "{}"], "leave -l out to watch all topics"),
        (["-l", '{"matchLabels": {"team": 1}}'], "matchLabels: an object whose values are texts"),
        (["--since", ""], "without --since, it starts now"),
        (["--since", "nonsense"], "without --since, it starts now"),
    ],
)
def test_what_cannot_be_watched_is_refused(run: Run, words: list[str], said: str) -> None:
    refused = run("watch", *words)
    assert refused.code in (2, 3)
    assert said in refused.err
    assert "go on with" not in refused.err
