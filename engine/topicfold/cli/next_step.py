"""What to type next after a failure: the server's hints speak HTTP, these speak the command line.

Only where one command is the likely next step; elsewhere the error's own hint stands.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from topicfold.errors import InvalidName, TopicfoldError, Wait
from topicfold.model.names import DEFAULT_NAMESPACE, parse_topic

_CREATE_NAMESPACE = "topicfold namespaces create {namespace}"
_START_OVER = (
    "delete the topic if there is one, its labels and messages go with it; then "
    "topicfold topics create-partitioned-topic {topic} --partitions {partitions}"
)

# By code, and the command without its program.
_NEXT_STEP_OF_COMMAND: Mapping[tuple[str, str], str] = {
    ("tenant_not_found", "namespaces create"): "topicfold tenants create {tenant}",
    ("namespace_not_found", "topics create"): _CREATE_NAMESPACE,
    ("namespace_not_found", "topics create-partitioned-topic"): _CREATE_NAMESPACE,
    ("not_empty", "tenants delete"): "topicfold tenants delete {tenant} --force deletes its namespaces and topics, too",
    ("not_empty", "namespaces delete"): "topicfold namespaces delete {namespace} --force deletes its topics, too",
    ("wrong_kind", "topics delete"): "topicfold topics delete-partitioned-topic {topic}",
    ("wrong_kind", "topics delete-partitioned-topic"): "topicfold topics delete {topic}",
    ("wrong_kind", "topics update-partitioned-topic"): _START_OVER,
}
_NEXT_STEP: Mapping[str, str] = {
    "tenant_not_found": "topicfold tenants list",
    "namespace_not_found": "topicfold namespaces list {tenant}",
    "topic_not_found": "topicfold topics list {namespace}",
    "operation_not_found": "",
    "unauthenticated": "say who asks with --token-file FILE, TOPICFOLD_TOKEN or --client-cert-file FILE",
    "server_unreachable": "start one with 'topicfold serve', or name another with --url",
    "outcome_unknown": "topicfold operations get {operation}",
    "answer_lost": "run it again with --idempotency-key {idempotency_key}; it is applied at most once",
    "precondition_failed": "topicfold topics get {topic}, then try again with its ETag",
}


def next_step(error: TopicfoldError, command: str, given: Mapping[str, Any]) -> str:
    """Return the hint for people who ran `command`, say `topics get`, with the arguments `given`.

    It is the error's own where we have no better.
    """
    template = _NEXT_STEP_OF_COMMAND.get((error.code, command), _NEXT_STEP.get(error.code))
    if template is None or (isinstance(error, Wait) and error.hint != error.default_hint):
        return error.hint
    words = {key: shlex.quote(str(value)) for key, value in _words(given, error.values).items() if value}
    try:
        return template.format_map(words)
    except KeyError:
        return error.hint


def _words(given: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a hint may name: what the command was given, and what follows from it."""
    words = {**values, **given}
    if topic := given.get("topic"):
        try:
            words["namespace"] = parse_topic(topic).namespace
        except InvalidName:
            words["namespace"] = DEFAULT_NAMESPACE
    if namespace := words.get("namespace"):
        words.setdefault("tenant", str(namespace).split("/")[0])
    return words
