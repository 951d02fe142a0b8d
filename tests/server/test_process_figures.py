"""What Prometheus is told of the process, under the names that all its clients use."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.server.rest import RestNode
from topicfold.server import process_figures
from topicfold.server.process_figures import ProcessFigures

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells")


def told(registry: CollectorRegistry) -> dict[str, float]:
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return {sample.name: sample.value for family in families for sample in family.samples}


@pytest.fixture
def registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(ProcessFigures())
    return registry


def test_it_is_what_the_client_of_prometheus_tells_of_any_process(registry: CollectorRegistry) -> None:
    theirs_registry = CollectorRegistry()
    ProcessCollector(registry=theirs_registry)
    ours, theirs = told(registry), told(theirs_registry)
    assert ours.keys() == theirs.keys()
    for name in ("process_max_fds", "process_virtual_memory_bytes"):
        assert ours[name] == pytest.approx(theirs[name], rel=0.1)
    assert ours["process_start_time_seconds"] == pytest.approx(theirs["process_start_time_seconds"], abs=2)
    assert 0 < ours["process_resident_memory_bytes"] < ours["process_virtual_memory_bytes"]
    assert 0 < ours["process_cpu_seconds_total"] <= time.process_time()
    assert ours["process_max_fds"] == resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def test_each_open_file_counts_whether_or_not_the_system_has_counted_them(
    registry: CollectorRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = told(registry)["process_open_fds"]
    held = [os.dup(0) for _ in range(200)]
    try:
        # Other threads may open files or close some meanwhile.
        assert told(registry)["process_open_fds"] - before == pytest.approx(200, abs=20)
    finally:
        for each in held:
            os.close(each)
    (tmp_path / "stat").write_bytes(Path("/proc/self/stat").read_bytes())
    (tmp_path / "fd").symlink_to("/proc/self/ns")
    monkeypatch.setattr(process_figures, "_PROCESS", tmp_path)
    assert told(registry)["process_open_fds"] == len(os.listdir("/proc/self/ns"))


def test_where_the_system_tells_nothing_of_a_process_nothing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_figures, "_PROCESS", tmp_path)
    assert list(ProcessFigures().collect()) == []


async def test_a_node_tells_of_its_process(orders: RestNode) -> None:
    assert "\nprocess_resident_memory_bytes " in (await orders.send("GET", "/metrics")).text
