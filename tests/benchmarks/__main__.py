"""Runs benchmarks: `python -m tests.benchmarks [NAMES…] [--json FILE] [--quick] [--large]`.

The table goes to standard output, progress to standard error. The exit code is 0 whether goals are met or not: a
number that depends on the machine must not fail a build.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from tests.benchmarks import (
    boot,
    compaction,
    consuming,
    find,
    fold,
    hot_topic,
    machine,
    memory,
    policies,
    rest_reads,
    rest_writes,
    selectors,
    update_latency,
    update_rate,
    watches,
    wildcards,
)
from tests.benchmarks.report import Row, print_table
from tests.benchmarks.site import FULL, QUICK, Site

BENCHMARKS = {
    "update_latency": update_latency.run,
    "update_rate": update_rate.run,
    "hot_topic": hot_topic.run,
    "fold": fold.run,
    "compaction": compaction.run,
    "boot": boot.run,
    "selectors": selectors.run,
    "wildcards": wildcards.run,
    "memory": memory.run,
    "rest_reads": rest_reads.run,
    "rest_writes": rest_writes.run,
    "policies": policies.run,
    "find": find.run,
    "watches": watches.run,
    "consuming": consuming.run,
}

_LARGE_EVENTS = 10_000_000


def main() -> None:
    """Run the benchmarks that are named, all of them where none is."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure Topicfold beside something else.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here too")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that the harness works, no more")
    parser.add_argument("--large", action="store_true", help="compact 10,000,000 events too, which takes ten minutes")
    options = parser.parse_args()
    unknown = set(options.names) - BENCHMARKS.keys()
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    sizes = QUICK if options.quick else FULL
    with Site(replace(sizes, large_events=_LARGE_EVENTS) if options.large else sizes) as site:
        for name in options.names or BENCHMARKS:
            site.say(name)
            rows += BENCHMARKS[name](site)
    facts = machine.facts()
    if options.json:
        options.json.write_text(json.dumps({"machine": facts, "rows": [each.as_json() for each in rows]}, indent=2))
    print_table("  ".join(f"{name} {value}" for name, value in facts.items()), rows)


if __name__ == "__main__":
    main()
