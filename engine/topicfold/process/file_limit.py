"""How many files and connections this process may have open at once: all that it can get, and enough to start."""

from __future__ import annotations

import contextlib
import resource

from topicfold.errors import BadSetting

WANTED_FILES = 65_536
"""So many connections and files a node may have open. Shells say 1,024: whoever comes beyond that is reset."""
NEEDED_FILES = 128
"""A node on a cluster of one broker has 41 open before anybody connects, on one of several some more for each.

With fewer it got somewhere, and then what failed first was reported: a log that cannot be opened, or Kafka timing out.
"""


def want_files(needed: int = NEEDED_FILES) -> None:
    """Raise the limit of open files as far as the system allows without asking anybody.

    Raises:
        BadSetting: it stays below what is `needed`.
    """
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_FILES if most == resource.RLIM_INFINITY else min(WANTED_FILES, most)
    if limit != resource.RLIM_INFINITY and limit < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
            limit = wanted
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise BadSetting(
            f"this process may have no more than {limit} files open, and needs {needed}",
            hint="Raise that limit: 'ulimit -n 65536' in a shell, LimitNOFILE=65536 in a unit of systemd.",
        )
