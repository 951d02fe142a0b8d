"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import apsw
import confluent_kafka

from tests.brokers.jars import KAFKA


def facts() -> dict[str, str]:
    """Return the machine and the versions that the numbers depend on."""
    return {
        "cpu": _cpu_model(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        "librdkafka": confluent_kafka.libversion()[0],
        "sqlite": apsw.sqlite_lib_version(),
        "kafka": KAFKA,
    }


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def resident_bytes(process: int | None = None) -> int:
    """Return how much memory a process holds now; this one, unless another is meant."""
    pages = Path(f"/proc/{process or 'self'}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
