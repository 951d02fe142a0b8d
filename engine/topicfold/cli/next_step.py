"""What to type next after a failure: the server's hints speak HTTP, these speak the command line.

Only where one command is the likely next step; elsewhere the error's own hint stands.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from topicfold.errors import InvalidName, TopicfoldError, Wait, shortened
from topicfold.model.names import DEFAULT_NAMESPACE, argument, parse_topic

_CREATE_NAMESPACE = "topicfold namespaces create {namespace}"
_START_OVER = (
    "to start over, delete the topic, if it exists, with its labels and messages; then "
    "topicfold topics create-partitioned-topic --partitions {partitions} {topic}"
)
_MAKE_AGAIN = "if it was deleted, make it again, then roll back: topicfold topics create {topic}"

# By code, and the command without its program. Options go before names, which may need a "--" before them.
_NEXT_STEP_OF_COMMAND: Mapping[tuple[str, str], str | tuple[str, ...]] = {
    ("tenant_not_found", "namespaces create"): "topicfold tenants create {tenant}",
    ("namespace_not_found", "topics create"): _CREATE_NAMESPACE,
    ("namespace_not_found", "topics create-partitioned-topic"): _CREATE_NAMESPACE,
    ("namespace_not_found", "policies apply"): _CREATE_NAMESPACE,
    ("namespace_not_found", "policies diff"): _CREATE_NAMESPACE,
    ("not_empty", "tenants delete"): "topicfold tenants delete --force {tenant} deletes its namespaces and topics, too",
    ("not_empty", "namespaces delete"): "topicfold namespaces delete --force {namespace} deletes its topics, too",
    ("policy_unmet", "tenants create"): "topicfold clusters list",
    ("policy_unmet", "tenants update"): "topicfold clusters list",
    **{
        ("policy_unmet", f"{group} set-{name}"): step
        for name in ("retention", "backlog-quota")
        for group, step in (
            ("topicPolicies", "topicfold topics effective {topic} shows both, and where they are set"),
            ("namespaces", "topicfold namespaces policies {namespace} shows both"),
        )
    },
    ("answer_lost", "policies apply"): "run it again; what was already applied no longer differs",
    ("answer_lost", "import kafka"): "run it again; it continues from there",
    # What these send follows from what they read first, so the same key would stand for another change.
    ("answer_lost", "rollback"): "run it again; what was rolled back stays so",
    ("answer_lost", "namespaces rollback"): "run it again; what was rolled back stays so",
    ("answer_lost", "tenants update"): "run it again; what was changed stays so",
    ("outcome_unknown", "namespaces delete"): "run it again; what was deleted stays deleted",
    ("outcome_unknown", "tenants delete"): "run it again; what was deleted stays deleted",
    ("outcome_unknown", "policies apply"): "run it again; what was already applied no longer differs",
    ("invalid_name", "topics list"): "write it like public/default; of a topic, topicfold topics get {name}",
    ("wrong_kind", "topics delete"): "topicfold topics delete-partitioned-topic {topic}",
    ("wrong_kind", "topics delete-partitioned-topic"): "topicfold topics delete {topic}",
    ("wrong_kind", "topics update-partitioned-topic"): _START_OVER,
    ("fewer_partitions", "topics update-partitioned-topic"): _START_OVER,
    ("not_found", "clusters get"): "topicfold clusters list",
    ("not_found", "clusters delete"): "topicfold clusters list",
    ("already_exists", "topics create"): "topicfold topics get {topic}",
    ("already_exists", "topics create-partitioned-topic"): "topicfold topics get {topic}",
    ("already_exists", "namespaces create"): "topicfold namespaces policies {namespace}",
    ("already_exists", "clusters create"): "topicfold clusters get {cluster}",
    ("already_exists", "tenants create"): "topicfold tenants update --help says how to change it",
    ("topic_not_found", "rollback"): _MAKE_AGAIN,
    ("precondition_failed", "rollback"): "topicfold history {topic}, then try again",
    ("namespace_not_found", "namespaces rollback"): (
        "if it was deleted, make it again, then roll back: topicfold namespaces create {namespace}"
    ),
    ("precondition_failed", "namespaces rollback"): "topicfold history {topic}, then try again",
    ("version_not_found", "namespaces rollback"): (
        "topicfold history {topic}; near it are {nearest}",
        "topicfold history {topic} shows all",
    ),
}
# Of several the first for which all is known that it names.
_NEXT_STEP: Mapping[str, str | tuple[str, ...]] = {
    "tenant_not_found": "topicfold tenants list",
    "namespace_not_found": "topicfold namespaces list {tenant}",
    "topic_not_found": "topicfold topics list {namespace}",
    "version_not_found": ("topicfold history {topic}; near it are {nearest}", "topicfold topics list {namespace}"),
    "invalid_pattern": (
        "names are split at {separator} here; give --regex {expression} instead of --match, or have all servers split "
        "them at {meant}: TOPICFOLD_WILDCARD_SEPARATOR={meant} topicfold serve",
        "'*' stands for a whole segment, and {separator} separates them; give --regex {expression} instead of --match",
    ),
    "operation_not_found": "copy the operation from the message of the failed command, or from its -o json",
    "unknown_cluster": "topicfold clusters list",
    "server_unreachable": "start one with 'topicfold serve', or name another with --url",
    "log_unavailable": "try again in a few seconds; topicfold doctor tells more",
    "outcome_unknown": "topicfold operations get {operation}",
    "answer_lost": (
        "run it again with --if-match {if_match} --idempotency-key {idempotency_key}; it is applied at most once",
        "run it again with --idempotency-key {idempotency_key}; it is applied at most once",
    ),
    "precondition_failed": (
        "topicfold topics get {topic}, then try again with its ETag",
        # No command shows the ETag of what follows.
        "topicfold namespaces policies {namespace}, then try again with --if-match {current}",
        "topicfold namespaces policies {namespace}, then try again without --if-match",
        "topicfold clusters get {cluster}, then try again with --if-match {current}",
        "topicfold clusters get {cluster}, then try again without --if-match",
        "topicfold tenants get {tenant}, then try again with its ETag",
    ),
    "undecodable": (
        "upgrade the server if others can read it; else topicfold topics delete {topic} ends the topic, and "
        "topicfold topics create {topic} makes it anew"
    ),
    "idempotency_key_reused": "leave out --idempotency-key, or give another one: this one stands for another change",
    "resync": "topicfold history {topic} shows how far back the history goes",
}
_NAMES = frozenset({"topic", "namespace", "tenant", "cluster"})
SPOKEN_HERE: Mapping[str, str] = {
    "DELETE takes all away.": "revoke-permission takes all away",
    "GET /admin/v2/clusters lists those there are.": "topicfold clusters list",
    "Send Authorization: Bearer TOKEN, with a token that this server accepts.": "authenticate with --token-file FILE",
    "Connect with a client certificate that this server accepts.": "authenticate with --client-cert-file FILE",
    "Send Authorization: Bearer TOKEN, or connect with a client certificate, that this server accepts.": (
        "authenticate with --token-file FILE or --client-cert-file FILE"
    ),
    "The history shows both.": "topicfold history {topic}",
    "The history shows offsets.": "topicfold history {topic}",
    "If it is the right server, name the CA of its certificate: tls_ca_file": (
        "if it is the right server, name the CA of its certificate: --tls-ca-file FILE"
    ),
    "If it requires client certificates, check that it trusts the CA of yours: client_cert_file": (
        "if it requires client certificates, check that it trusts the CA of yours: --client-cert-file FILE"
    ),
    "It takes requests, but is silent. If it is a Topicfold server, see its log, or raise timeout_seconds.": (
        "it takes requests, but is silent; if it is a Topicfold server, see its log, or raise --timeout-seconds"
    ),
    "Try again. A node sends one answer for at most two minutes: ask for less, or for pages with limit.": (
        "try again; a server sends one answer for at most two minutes: ask for less, or give --limit"
    ),
    "GET /readyz?verbose tells more.": "try again in a moment",
    "Try again in a few seconds. GET /readyz?verbose tells whether this node reaches the Kafka cluster.": (
        "try again in a few seconds; topicfold doctor tells whether the server reaches the Kafka cluster"
    ),
    "Give the `cursor` of a frame as it was received; leave it out to watch from now.": (
        "give the cursor that 'topicfold watch' ended with, or one of its -o json; without --since, it starts now"
    ),
    "Leave it out to start with the topics that match now, or watch the namespaces that it lacks separately.": (
        "leave --since out to start with the topics that match now, or watch the namespaces that it lacks separately"
    ),
    "Is it from another log, or was this one restored? Watch without `since`.": (
        "is it of another server? leave --since out to watch from now"
    ),
    "Watch without `since`, and start over.": "leave --since out to watch from now",
    "Watch without `since`.": "leave --since out to watch from now",
    "Read again without a position, and continue from that of the answer.": "leave --at out, or give a time",
    "Take X-Log-Position from an answer about its namespace, or an offset from its history.": (
        "topicfold history {topic} shows versions"
    ),
    "Histories show offsets.": "topicfold history TOPIC shows those of a topic",
    "Try again in a few seconds. GET /readyz?verbose counts such topics as endingTopics.": (
        "try again in a few seconds; topicfold doctor tells whether the server reaches the Kafka cluster"
    ),
    "Leave selector out to watch all topics.": "leave -l out to watch all topics",
    "Try again in a few seconds, or list less: by labels, or page by page with GET /api/v1/topics.": (
        "try again in a few seconds, or list less: leave -p out, or name fewer namespaces"
    ),
    "Try again in a few seconds, or ask for pages with limit.": "try again in a few seconds, or give --limit",
    'Give a selector, labels, a pattern or a regular expression, with properties too; match="**" means every topic.': (
        "give -l, --match or --regex, with --properties too; --match '**' means every topic"
    ),
}
"""Hints that speak of requests or of Python, and what means the same here."""


def said_here(reason: str) -> str:
    """Return what was wrong, with the option that a header or parameter is where it begins with one.

    Elsewhere it may be a name.

    >>> said_here("X-Change-Reason holds characters that cannot be printed")
    '--reason holds characters that cannot be printed'
    >>> said_here("at=tomorrow is neither a time nor a position")
    '--at tomorrow is neither a time nor a position'
    >>> said_here("since: position 'abc' is not valid")
    "--since: position 'abc' is not valid"
    """
    if reason.startswith("since: "):
        return f"--{reason}"
    if reason.startswith("at="):
        return f"--at {reason.removeprefix('at=')}"
    from topicfold.wire import headers

    options = {
        headers.CHANGE_REASON: "--reason",
        headers.IDEMPOTENCY_KEY: "--idempotency-key",
        headers.IF_MATCH: "--if-match",
    }
    for header, option in options.items():
        if re.match(rf"{header}\b", reason):
            return option + reason.removeprefix(header)
    return reason


def next_step(error: TopicfoldError, command: str, given: Mapping[str, Any]) -> str:
    """Return the hint for people who ran `command`, say `topics get`, with the arguments `given`.

    It is the error's own where we have no better, and where it says since when anything is known of a namespace's past.
    """
    if error.code == "namespace_not_found" and error.hint and given.get("at") is not None:
        return error.hint
    remedy = str(error.values.get("remedy", "")).rstrip(".")
    first = f"{remedy}; then " if remedy else ""
    words = {key: _typed(key, value) for key, value in _words(given, error).items() if value}
    for template in _templates(error, command, given):
        with suppress(KeyError):
            return shortened(first + template.format_map(words))
    return error.hint


def _templates(error: TopicfoldError, command: str, given: Mapping[str, Any]) -> list[str]:
    """Return what may be said in the place of the error's own hint, the best first."""
    if error.values.get("instead"):
        return ["try --url {instead} with --idempotency-key {idempotency_key}; it is applied at most once"]
    spoken = [SPOKEN_HERE[error.hint]] if error.hint in SPOKEN_HERE else []
    if isinstance(error, Wait) and error.hint != error.default_hint:
        return spoken
    if error.code == "already_exists" and error.hint:
        # It is not the topic that exists, but something that stands in its way.
        return []
    if error.code == "topic_not_found" and given.get("at"):
        return ["topicfold history {topic}"]
    if error.code == "invalid_name" and _are_patterns(given):
        return ["the server is of an older version, without patterns of namespaces: upgrade it, or name each namespace"]
    steps = _NEXT_STEP_OF_COMMAND.get((error.code, command), _NEXT_STEP.get(error.code, ()))
    found = [*((steps,) if isinstance(steps, str) else steps), *spoken]
    if not command.startswith("namespaces "):
        return found
    return [each.replace("topicfold history {topic}", "topicfold namespaces history {namespace}") for each in found]


def _are_patterns(given: Mapping[str, Any]) -> bool:
    """Return whether the namespaces that were given are in order, and patterns are among them."""
    from topicfold.model.namespaces import parse_namespaces

    texts = [*([given["namespace"]] if given.get("namespace") else []), *(given.get("namespaces") or ())]
    with suppress(InvalidName):
        return bool(parse_namespaces(texts).patterns)
    return False


def _typed(word: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_typed(word, each) for each in value)
    return argument(str(value)) if word in _NAMES else shlex.quote(str(value))


def _words(given: Mapping[str, Any], error: TopicfoldError) -> dict[str, Any]:
    """Return what a hint may name: what the command was given, and what follows from it."""
    words = {**error.values, **{name: value for name, value in given.items() if not isinstance(value, list)}}
    if topic := given.get("topic"):
        try:
            words["namespace"] = parse_topic(topic).namespace
        except InvalidName:
            words["namespace"] = DEFAULT_NAMESPACE
    elif error.code == "namespace_not_found":
        words["namespace"] = words.get("namespace") or error.values.get("name")
    if namespace := words.get("namespace"):
        words.setdefault("tenant", str(namespace).split("/")[0])
    return words
