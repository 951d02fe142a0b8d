"""The announcement that a server prints once it serves, with commands to try on exactly this server."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import sys
from pathlib import Path

import structlog

from topicfold.model.kafka.adoption import risk_of_log
from topicfold.settings import Settings

_log = structlog.get_logger(__name__)

_DEFAULT_URL = "http://127.0.0.1:8080"
"""Where the command line asks that is told nothing else."""
_FROM_HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 -- to be told apart, not to be listened on
"""Which of all addresses is this machine's own: requests for no address in particular are not served."""


def announce_server(settings: Settings, listener: socket.socket) -> None:
    """Say where is served on `listener`, to the log and on stdout."""
    url = served_at(settings, listener)
    log = str(settings.log_file)
    if settings.kafka_bootstrap is not None:
        log = f"{settings.kafka_topic} at {settings.kafka_bootstrap}"
        if risk := risk_of_log(settings.kafka_topic):
            _log.warning("log_topic_is_ordinary", reason=risk, hint="topicfold copy moves the log to another topic.")
    _log.info("serving", url=url, log=log, **_cluster(settings))
    say(
        f"Topicfold serves {url} on the log {log}. Ctrl-C stops it.{_warning(settings)}"
        + to_try(
            settings,
            listener,
            "topics create orders",
            "topics set-custom-labels orders --labels team=payments,tier=gold",
            "topics list public/default --custom-labels team:payments",
        )
    )


def served_at(settings: Settings, listener: socket.socket) -> str:
    """Return the URL of what is served on `listener`."""
    host, port = listener.getsockname()[:2]
    return _url(settings, host, port)


def to_try(settings: Settings, listener: socket.socket, *commands: str) -> str:
    """Return lines that tell to try these commands, which need no URL where they ask that server without one."""
    host, port = listener.getsockname()[:2]
    here = _url(settings, _FROM_HERE.get(host, host), port)
    at = "" if here == _DEFAULT_URL else f" --url {here}"
    if settings.tls_cert_file is not None:
        at += " --tls-ca-file FILE"
    if settings.has_authentication:
        at += " --token-file FILE"
    program = _program()
    return "Try, in another terminal:\n\n" + "".join(f"  {program} {each}{at}\n" for each in commands) + "\n"


def say(text: str) -> None:
    """Write on stdout. Where that cannot be written, as on a disk that is full, nothing is from then on."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _url(settings: Settings, host: str, port: int) -> str:
    scheme = "http" if settings.tls_cert_file is None else "https"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _cluster(settings: Settings) -> dict[str, str]:
    """Return what the log line says of the Kafka cluster."""
    if settings.cluster is None:
        return {}
    return {"cluster": settings.cluster[0], "topics": "adopted" if settings.adopt_only else "made and deleted"}


def _warning(settings: Settings) -> str:
    """Return a line with what a person must know who does not expect a deletion to reach Kafka; a space for nothing."""
    if settings.cluster is None or settings.adopt_only:
        return " "
    return (
        f"\nIt creates topics in Kafka at {settings.cluster[0]} and deletes them with all messages; "
        "--adopt-only prevents it.\n"
    )


def _program() -> str:
    """Return what to type for `topicfold` in a terminal where this checkout's environment is not active."""
    if shutil.which("topicfold"):
        return "topicfold"
    return shlex.quote(os.path.relpath(Path(sys.executable).with_name("topicfold")))
