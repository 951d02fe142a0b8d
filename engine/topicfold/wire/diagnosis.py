"""What a node finds out about itself: the shape of `GET /api/v1/doctor`."""

from __future__ import annotations

from pydantic import Field

from topicfold.wire.resources import Resource

_DIGEST = "In hex; the same on all nodes at the same position."


class DigestComparison(Resource):
    """The latest comparison of a partition's digest with another node's."""

    position: int = Field(description="Where the digests were compared.")
    node: str = Field(description="The node whose digest was compared.")
    equal: bool
    at: str = Field(description="Time of the comparison, by this node's clock.")


class PartitionDiagnosis(Resource):
    """One partition on this node."""

    partition: int
    ready: bool
    reason: str = Field(description="Why it is not ready; empty if it is.")
    position: int
    digest: str = Field(description=_DIGEST)
    topics: int
    undecodable_topics: int
    compared: DigestComparison | None = Field(default=None, description="Null: not compared since this node started.")
    comparisons: int = Field(description="Number of comparisons since this node started.")
    differences: dict[str, int] = Field(description="By node: how often its digest differed since this node started.")
    examined: str | None = Field(
        default=None,
        description="Result of the last refold, compared with memory: memory_right, memory_wrong or not_examined.",
    )


class LogDiagnosis(Resource):
    """The log, as this node sees it."""

    incarnation: str
    reachable: bool
    wrong_settings: list[str]


class ScrubDiagnosis(Resource):
    """The last check of the state in memory."""

    at: str
    topics: int
    found: int
    told: list[str] = Field(description="The first few of the differences found.")


class SnapshotDiagnosis(Resource):
    """The latest commit of the snapshot that this node is configured with."""

    path: str
    sequence: int | None = Field(description="Null: there is no commit yet.")
    age_seconds: float | None


class DiagnosedProblem(Resource):
    """Something that a person should look into."""

    what: str
    next: str = Field(description="A command to run, or what else to do.")


class Diagnosis(Resource):
    """Whether a node is healthy, and if not, why."""

    healthy: bool
    node: str = Field(description="The name of this node in digest records.")
    version: str
    log: LogDiagnosis
    partitions: list[PartitionDiagnosis]
    scrub: ScrubDiagnosis | None = Field(default=None, description="Null: none has run yet.")
    snapshot: SnapshotDiagnosis | None = Field(default=None, description="Null: no snapshot is configured.")
    problems: list[DiagnosedProblem]
    warnings: list[DiagnosedProblem] = Field(description="What should be changed, although the node is healthy.")
