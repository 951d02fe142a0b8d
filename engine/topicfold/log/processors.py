"""How many processors this process may use.

Source: Linux, Documentation/admin-guide/cgroup-v2.rst (`cpu.max`) and cgroups(7) (`/proc/self/cgroup`).
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def usable_processors(own: Path = Path("/proc/self/cgroup"), groups: Path = Path("/sys/fs/cgroup")) -> float:
    """Return how many processors this process may use: those it may run on, or what a quota leaves of them.

    `own` names the control group, a directory under `groups`; a quota holds for all below it. Where there are no
    control groups of version 2 there is no quota.
    """
    usable = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    with suppress(OSError):
        lines = own.read_text().splitlines()
        group = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), "")
        for directory in (groups / group, *(groups / group).parents):
            # The parents of a group are those within `groups`; what else lies above holds no such file.
            with suppress(OSError, ValueError):
                quota, period = (directory / "cpu.max").read_text().split()
                usable = min(usable, int(quota) / int(period))  # or `max`, which is no number
    return usable
