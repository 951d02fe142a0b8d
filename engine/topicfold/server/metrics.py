"""The metrics of a node for Prometheus. No metric contains a label's value or a topic's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from topicfold import __version__
from topicfold.build import build_id
from topicfold.runtime.engine import Engine
from topicfold.runtime.examiner import Conclusion
from topicfold.runtime.kafka.upkeep import Upkeep, UpkeepReport
from topicfold.runtime.topic_counts import count_topics
from topicfold.runtime.watching.reset import RESET_CAUSES
from topicfold.server.process_figures import ProcessFigures
from topicfold.state.change import Outcome

TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus' text format."""
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0)

_PROBES = frozenset({"/livez", "/readyz", "/metrics"})
"""Asked all day long on an idle node, too: they would be most of what is timed there."""


class Metrics:
    """Counts of requests, and the figures of the engine and the process, read when somebody asks."""

    def __init__(self, engine: Engine, upkeep: Upkeep | None, certificate_ends: Mapping[str, datetime]) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "topicfold_http_requests_total", "Answered requests.", ("method", "route", "code"), registry=self._registry
        )
        self._write_visible = Histogram(
            "topicfold_write_visible_seconds",
            "From a write's arrival until it was readable on this node.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._read_answered = Histogram(
            "topicfold_read_answered_seconds",
            "From a read's arrival until its answer began.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._children: dict[tuple[str, str, int], tuple[Counter, bool]] = {}
        self._engine = engine
        self._figures = _EngineFigures(engine)
        self._registry.register(self._figures)
        self._registry.register(ProcessFigures())
        if certificate_ends:
            self._registry.register(_CertificateFigures(certificate_ends))
        self._upkeep = upkeep
        self._cluster_figures = _ClusterFigures()
        if upkeep:
            self._registry.register(self._cluster_figures)

    def request(self, scope: Mapping[str, Any], status: int, seconds: float, *, is_dry_run: bool = False) -> None:
        """Count one answered request, whose answer began after `seconds`: by method and route, never by its path.

        A dry run writes nothing, and probes read nothing. Cost: 0.7 µs for the histogram (measured).
        """
        key = (scope["method"], getattr(scope.get("route"), "path_format", "none"), status)
        known = self._children.get(key)
        if known is None:
            is_timed = 200 <= status < 300 and key[1] not in _PROBES
            known = self._children[key] = self._requests.labels(*key), is_timed
        counter, is_timed = known
        counter.inc()
        if is_timed and not is_dry_run:
            (self._read_answered if scope["method"] == "GET" else self._write_visible).observe(seconds)

    async def text(self) -> bytes:
        """Return all metrics in Prometheus' text format; topics are counted in slices."""
        counts = await count_topics(self._engine.states.values())
        self._figures.topics = counts.live
        if self._upkeep:
            self._cluster_figures.report = self._upkeep.report(counts.waiting)
        return generate_latest(self._registry)


class _EngineFigures(Collector):
    """Reads the engine at the moment of the scrape, but for `topics`, which it is told. Cost: O(partitions).

    What can be counted is there from the first scrape on, as 0: Prometheus sees no rise in what begins at 1.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.topics = 0

    def collect(self) -> Iterable[Metric]:
        engine = self._engine
        build = GaugeMetricFamily(
            "topicfold_build_info", "Always 1; the labels name the running code.", labels=("version", "build")
        )
        build.add_metric((__version__, build_id()), 1)
        yield build
        events = CounterMetricFamily("topicfold_events_applied", "Folded records, by outcome.", labels=("outcome",))
        for outcome in Outcome:
            events.add_metric((outcome.value,), engine.reader.counts[outcome])
        yield events
        lag = GaugeMetricFamily(
            "topicfold_apply_lag_seconds", "How old the folded state may be.", labels=("partition",)
        )
        ready = GaugeMetricFamily(
            "topicfold_partition_ready",
            "Whether the partition has caught up with the log and has not stopped.",
            labels=("partition",),
        )
        for partition in engine.states:
            lag.add_metric((str(partition),), engine.freshness.age_seconds(partition))
            ready.add_metric((str(partition),), engine.readiness.is_ready(partition))
        yield lag
        yield ready
        yield GaugeMetricFamily(
            "topicfold_log_reachable", "Whether the log answered the last request.", value=engine.freshness.is_reachable
        )
        yield GaugeMetricFamily(
            "topicfold_log_refuses_writes",
            "Partitions that accept no writes: stopped, unreachable, or the log's settings are unsafe.",
            value=sum(engine.freshness.refuses_writes(partition) is not None for partition in engine.states),
        )
        yield GaugeMetricFamily(
            "topicfold_log_problems",
            "Problems of the log's settings, file or disk; `topicfold doctor` names them.",
            value=sum(not problem.is_advice for problem in engine.freshness.problems),
        )
        if engine.snapshot_age.seconds is not None:
            yield GaugeMetricFamily(
                "topicfold_snapshot_age_seconds",
                "For how long the snapshot has been behind the log.",
                value=engine.snapshot_age.seconds,
            )
        yield GaugeMetricFamily("topicfold_index_topics", "Live topics.", value=self.topics)
        yield GaugeMetricFamily(
            "topicfold_pending_aggregates", "Aggregates with updates waiting or undecided.", value=len(engine.updates)
        )
        yield from _agreement_figures(engine)
        watches = engine.watches
        yield GaugeMetricFamily("topicfold_watchers", "Open watches.", value=len(watches.watchers))
        yield GaugeMetricFamily(
            "topicfold_watchers_behind",
            "Open watches that are not up to date: just opened, or their clients do not read.",
            value=watches.behind,
        )
        yield CounterMetricFamily("topicfold_watch_events", "Frames sent to watchers.", value=watches.pump.delivered)
        resets = CounterMetricFamily("topicfold_watch_resets", "Watches that had to start over.", labels=("reason",))
        for cause in sorted(RESET_CAUSES):
            resets.add_metric((cause,), watches.resets[cause])
        yield resets


def _agreement_figures(engine: Engine) -> Iterable[Metric]:
    """Yield what comparing with other nodes, and looking through memory, came to."""
    reports = engine.agreement.reports.values()
    differences = sum(report.differences.total() for report in reports)
    compared = CounterMetricFamily(
        "topicfold_digests_compared", "Comparisons of digests with other nodes.", labels=("result",)
    )
    compared.add_metric(("equal",), sum(report.compared for report in reports) - differences)
    compared.add_metric(("different",), differences)
    yield compared
    yield CounterMetricFamily("topicfold_digests_logged", "Digest records written.", value=engine.agreement.logged)
    examined = CounterMetricFamily(
        "topicfold_partitions_examined",
        "Partitions that were folded again because their state was in doubt.",
        labels=("finding",),
    )
    for conclusion in Conclusion:
        examined.add_metric((conclusion.value,), engine.examiner.conclusions[conclusion])
    yield examined
    yield CounterMetricFamily("topicfold_scrub_found", "Errors found in memory.", value=engine.scrubber.found)
    if engine.scrubber.report is not None:
        yield GaugeMetricFamily(
            "topicfold_scrubbed_timestamp_seconds", "When memory was last checked.",
            value=engine.scrubber.report.at_ms / 1000,
        )  # fmt: skip


class _ClusterFigures(Collector):
    """Tells what the last look at the Kafka cluster found, as it is told in `report`."""

    def __init__(self) -> None:
        self.report = UpkeepReport(None, {})

    def collect(self) -> Iterable[Metric]:
        report = self.report
        if report.is_reachable is not None:
            yield GaugeMetricFamily(
                "topicfold_cluster_reachable",
                "Whether the Kafka cluster answered the last request.",
                value=report.is_reachable,
            )
        if report.cluster_id:
            cluster = GaugeMetricFamily(
                "topicfold_cluster_info", "Always 1; the label is the Kafka cluster's own ID.", labels=("cluster_id",)
            )
            cluster.add_metric((report.cluster_id,), 1)
            yield cluster
        topics = GaugeMetricFamily(
            "topicfold_cluster_topics", "Topics, by how their record and Kafka topic agree.", labels=("state",)
        )
        for state, count in report.counts.items():
            topics.add_metric((state,), count)
        yield topics


class _CertificateFigures(Collector):
    """Tells until when the certificates are valid that the node shows, as it has read them at its start."""

    def __init__(self, ends: Mapping[str, datetime]) -> None:
        self._ends = ends

    def collect(self) -> Iterable[Metric]:
        expiry = GaugeMetricFamily(
            "topicfold_certificate_expiry_timestamp_seconds",
            "When a certificate expires that this node has read at its start, by the setting that names it.",
            labels=("setting",),
        )
        for setting, end in self._ends.items():
            expiry.add_metric((setting,), end.timestamp())
        yield expiry
