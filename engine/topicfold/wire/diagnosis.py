"""What a node finds out about itself, as `GET /api/v1/doctor` answers it."""

from __future__ import annotations

from pydantic import Field

from topicfold.wire.resources import Resource

_DIGEST = "Hex; equal on all nodes at equal positions."


class DigestComparison(Resource):
    """The newest comparison of a partition's digest with another node's."""

    position: int = Field(description="Where the digests were compared.")
    node: str = Field(description="Whose digest record it was.")
    equal: bool
    at: str = Field(description="When, by this node's clock.")


class PartitionDiagnosis(Resource):
    """One partition on this node."""

    partition: int
    ready: bool
    reason: str = Field(description="Why it is not ready; empty where it is.")
    position: int
    digest: str = Field(description=_DIGEST)
    topics: int
    undecodable_topics: int
    compared: DigestComparison | None = Field(default=None, description="Null: with nobody since this node started.")
    comparisons: int = Field(description="Since this node started.")
    differences: dict[str, int] = Field(description="How often which node's digest differed since this one started.")
    examined: str | None = Field(
        default=None, description="What folding it aside came to last: memory_right, memory_wrong or not_examined."
    )


class LogDiagnosis(Resource):
    """The log, as this node sees it."""

    incarnation: str
    reachable: bool
    wrong_settings: list[str]


class ScrubDiagnosis(Resource):
    """The last look at whether memory holds what was put there."""

    at: str
    topics: int
    found: int
    told: list[str] = Field(description="The first few things that were found.")


class SnapshotDiagnosis(Resource):
    """The newest commit of the snapshot that this node is told of."""

    path: str
    sequence: int | None = Field(description="Null: there is none.")
    age_seconds: float | None


class DiagnosedProblem(Resource):
    """Something that a person should see to."""

    what: str
    next: str = Field(description="A command, or what to do.")


class Diagnosis(Resource):
    """Whether a node is well, and why not."""

    healthy: bool
    node: str = Field(description="What this node is called in digest records.")
    version: str
    log: LogDiagnosis
    partitions: list[PartitionDiagnosis]
    scrub: ScrubDiagnosis | None = Field(default=None, description="Null: there was none yet.")
    snapshot: SnapshotDiagnosis | None = Field(default=None, description="Null: this node is told of none.")
    problems: list[DiagnosedProblem]
    warnings: list[DiagnosedProblem] = Field(description="What should be otherwise; the node is well all the same.")
