"""How many processors this process may use.

Source: Linux, Documentation/admin-guide/cgroup-v2.rst (`cpu.max`) and cgroups(7) (`/proc/self/cgroup`).
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def usable_processors(own: Path = Path("/proc/self/cgroup"), groups: Path = Path("/sys/fs/cgroup")) -> float:
    """Return how many processors this process may use: those that it may run on, or less if a quota limits it.

    `own` names the control group, a directory under `groups`; a group's quota applies to everything below it. Without
    control groups of version 2, no quota is found.
    """
    usable = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    with suppress(OSError):
        lines = own.read_text().splitlines()
        group = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), "")
        for directory in (groups / group, *(groups / group).parents):
            # Only parents within `groups` have such a file; directories above do not.
            with suppress(OSError, ValueError):
                quota, period = (directory / "cpu.max").read_text().split()
                usable = min(usable, int(quota) / int(period))  # or `max`, which is not a number
    return usable
