"""`topicfold doctor`: whether a server is well, and what to do where it is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import typer

from topicfold.cli.exit_codes import ExitCode
from topicfold.cli.same_server import on_the_same_server
from topicfold.cli.session import Session
from topicfold.cli.units import age_text

_HEADER = ("PARTITION", "STATE", "POSITION", "DIGEST", "COMPARED", "WITH", "DIFFERENT", "UNDECODABLE")
_SPARE = ("UNDECODABLE", "COMPARED", "DIGEST")
_DIGEST_SHOWN = 12


def doctor(session: Session) -> None:
    """Check whether a server is healthy. If it is not, it says what is wrong and what to do, and exits with 1.

    A warning names something that should be changed; the server is well all the same.

    For each partition it shows the position, the digest, and the node it was last compared with; then when memory was
    last checked, and the age of the snapshot. -o json prints everything.

    \b
    Examples:
      topicfold doctor
      topicfold doctor --url http://node2:8080
      topicfold doctor -o json | jq '.partitions[] | {partition, position, digest}'
    """
    found = session.client.diagnosis()
    partitions = found["partitions"]
    session.output.show(
        found, [str(each["partition"]) for each in partitions], _HEADER, list(map(_row, partitions)), spare=_SPARE
    )
    if not any(each["compared"] for each in partitions):
        session.output.note("not compared yet: nodes compare after changes, and a node alone has none to compare with")
    session.output.note(_scrub_text(found["scrub"]))
    if found["snapshot"]:
        session.output.note(_snapshot_text(found["snapshot"]))
    # Older servers know of no warnings.
    for next_step, warnings in _by_next_step(found.get("warnings", ())).items():
        *others, last = warnings
        for text in others:
            session.output.warning(text)
        session.output.warning(last, on_the_same_server(next_step, session.config))
    for next_step, problems in _by_next_step(found["problems"]).items():
        session.output.failure("\n".join(problems), on_the_same_server(next_step, session.config))
    if not found["healthy"]:
        raise typer.Exit(ExitCode.FAILED)
    session.output.note(f"node {found['node']} is well")


def _by_next_step(problems: Iterable[Mapping[str, str]]) -> Mapping[str, list[str]]:
    """Return what is wrong by what to do about it."""
    told: dict[str, list[str]] = {}
    for problem in problems:
        told.setdefault(problem["next"], []).append(problem["what"])
    return told


def _row(partition: Mapping[str, Any]) -> tuple[str, ...]:
    compared = partition["compared"] or {"at": "–", "node": "–"}
    return (
        str(partition["partition"]),
        "ready" if partition["ready"] else "not ready",
        str(partition["position"]),
        partition["digest"][:_DIGEST_SHOWN],
        compared["at"],
        compared["node"],
        ", ".join(f"{count} × {node}" for node, count in partition["differences"].items()) or "–",
        str(partition["undecodableTopics"]),
    )


def _scrub_text(scrub: Mapping[str, Any] | None) -> str:
    if scrub is None:
        return "memory has not been checked yet"
    found = f"{scrub['found']:,} wrong" if scrub["found"] else "nothing wrong"
    return f"memory was checked at {scrub['at']}: {scrub['topics']:,} topics, {found}"


def _snapshot_text(snapshot: Mapping[str, Any]) -> str:
    if snapshot["sequence"] is None:
        return f"the snapshot {snapshot['path']} holds no commit that can be read"
    age = age_text(snapshot["ageSeconds"])
    return f"the newest commit of the snapshot {snapshot['path']} is {snapshot['sequence']}, {age} old"
