"""Runs benchmarks: `python -m tests.benchmarks [NAMES…] [--json FILE] [--quick]`.

The table goes to standard output, progress to standard error. The exit code is 0 whether goals are met or not: a
number that depends on the machine must not fail a build.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.benchmarks import (
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


def main() -> None:
    """Run the benchmarks that are named, all of them where none is."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure Topicfold beside something else.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here too")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that the harness works, no more")
    options = parser.parse_args()
    unknown = set(options.names) - BENCHMARKS.keys()
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    with Site(QUICK if options.quick else FULL) as site:
        for name in options.names or BENCHMARKS:
            site.say(name)
            rows += BENCHMARKS[name](site)
    facts = machine.facts()
    if options.json:
        options.json.write_text(json.dumps({"machine": facts, "rows": [each.as_json() for each in rows]}, indent=2))
    print_table("  ".join(f"{name} {value}" for name, value in facts.items()), rows)


if __name__ == "__main__":
    main()
