"""The tables in `docs/reference.md`, made from the code.

Run as a script, it puts them there: `PYTHONPATH=engine python -m tests.architecture.reference_document`.
"""

from __future__ import annotations

import re
from pathlib import Path

from topicfold.cli.exit_codes import exit_code_of
from topicfold.errors import TopicfoldError
from topicfold.log.payload import MAX_PAYLOAD_BYTES
from topicfold.model import (
    clusters,
    events,
    grants,
    labels,
    names,
    records,
)
from topicfold.model.finding import pattern, regex, selector, selector_text
from topicfold.model.kafka import names as kafka_names
from topicfold.model.policy import values
from topicfold.runtime import snapshots
from topicfold.runtime.watching import window
from topicfold.runtime.writing import updates
from topicfold.server import guard, history, label_metrics, paths, queries, watch, watch_start
from topicfold.server.connections import long_answer
from topicfold.server.finding import find, topic_query
from topicfold.wire import headers
from topicfold.wire.problems import error_classes, error_of, status_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference.md"
START = "<!-- {} by tests/architecture/reference_document.py -->\n"
END = "<!-- end -->\n"

LIMITS = (
    ("characters of a tenant's or a namespace's name", names.MAX_PART_LENGTH),
    ("bytes of a topic's own name", names.MAX_TOPIC_BYTES),
    ("characters of its name in Kafka", kafka_names.MAX_KAFKA_NAME_LENGTH),
    ("partitions of a topic", records.MAX_PARTITIONS),
    ("labels of a topic", labels.MAX_LABELS),
    ("characters of a label's key, and of a prefix before its `/`",
     labels.MAX_KEY_NAME_LENGTH, labels.MAX_KEY_PREFIX_LENGTH),
    ("characters of a label's value, and its bytes", labels.MAX_VALUE_LENGTH, labels.MAX_VALUE_BYTES),
    ("characters of a text in a policy, and entries of a list or a map", values.MAX_TEXT_LENGTH, values.MAX_ITEMS),
    ("bytes of a record with all that is in it", MAX_PAYLOAD_BYTES),
    ("roles with grants on one tenant, namespace or topic", grants.MAX_ROLES),
    ("characters of a role", grants.MAX_ROLE_LENGTH),
    ("clusters that are registered", clusters.MAX_CLUSTERS),
    ("bytes of a request's body", guard.MAX_BODY_BYTES),
    ("bytes of its path and headers", guard.MAX_HEADER_BYTES),
    ("bytes of a token", guard.MAX_TOKEN_BYTES),
    ("parameters of a query", queries.MAX_PARAMETERS),
    (f"characters of `{headers.IDEMPOTENCY_KEY}`", headers.MAX_IDEMPOTENCY_KEY_LENGTH),
    (f"characters of `{headers.CHANGE_REASON}`", headers.MAX_CHANGE_REASON_LENGTH),
    ("keys of clients that a partition remembers", events.CLIENT_RING),
    ("changes of one topic that wait on a node", updates.MAX_WAITING),
    ("namespaces in one query", paths.MAX_NAMESPACES),
    ("characters of a label selector, and its requirements", selector_text.MAX_LENGTH, selector.MAX_REQUIREMENTS),
    ("wildcards in one query", topic_query.MAX_PATTERNS),
    ("characters of a wildcard, and its segments", pattern.MAX_PATTERN_LENGTH, pattern.MAX_SEGMENTS),
    ("characters of a regular expression", regex.MAX_REGEX_LENGTH),
    ("topics on a page", find.MAX_PAGE),
    ("long answers that a node sends at once", long_answer.MAX_LONG_ANSWERS),
    ("those to one role, with authentication", long_answer.MAX_LONG_ANSWERS_OF_ONE),
    ("label keys in one metric", label_metrics.MAX_KEYS),
    ("changes on a page of a history", history.MAX_LIMIT),
    ("questions of one role about the past that wait on a node", snapshots.MAX_WAITING),
    ("watches of a node", watch.MAX_WATCHES),
    ("watches of one role on a node, with authentication", watch.MAX_WATCHES_OF_ONE),
    ("seconds that a watch lasts", watch_start.MAX_SECONDS),
    ("events of a partition that a watch can go back", window.SIZE),
)  # fmt: skip
"""What, and how much of it."""
BY_HTTP = {
    "no_route": (404, "There is no such path."),
    "method_not_allowed": (405, "The path does not support this method."),
    "not_acceptable": (406, "A number of partitions, or a property, that Pulsar refuses with this status."),
    "request_timeout": (408, "The body did not arrive in time."),
    "unsupported_media_type": (415, "The body's `Content-Type`, or its encoding, is not supported."),
}
"""Codes without a class of ours."""


def codes() -> str:
    """Return the table of codes, a line each."""
    by_code = {cls.code: cls for cls in error_classes() if cls is not TopicfoldError}
    rows = {code: _row(code, cls) for code, cls in by_code.items()}
    for code, (status, text) in BY_HTTP.items():
        rows[code] = f"| `{code}` | {status} | {exit_code_of(error_of({}, status)).value} | {text} |\n"
    return "| code | status | exit code | meaning |\n|---|---|---|---|\n" + "".join(rows[code] for code in sorted(rows))


def limits() -> str:
    """Return the table of limits."""
    rows = (f"| {what} | {', '.join(f'{each:,}' for each in numbers)} |\n" for what, *numbers in LIMITS)
    return "| at most | |\n|---|---|\n" + "".join(rows)


def with_tables(text: str) -> str:
    """Return the document with the tables between their markers."""
    for name, table in (("Codes", codes()), ("Limits", limits())):
        before, rest = text.split(START.format(name))
        text = before + START.format(name) + table + END + rest.split(END, 1)[1]
    return text


def _row(code: str, cls: type[TopicfoldError]) -> str:
    error = cls.__new__(cls)
    native, admin = (status_of(error, under_admin) for under_admin in (False, True))
    status = str(native) if native == admin else f"{native}; {admin} under `/admin/v2`"
    meaning = re.split(r"\n|; `values|; carries", cls.__doc__ or "")[0].rstrip(".")
    return f"| `{code}` | {status} | {exit_code_of(error).value} | {meaning}. |\n"


if __name__ == "__main__":
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text()))
    print(f"tables written to {DOCUMENT.name}")
