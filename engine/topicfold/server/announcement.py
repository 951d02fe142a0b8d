"""The announcement: what a server says once it serves, with commands to try that ask just this one."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import sys
from pathlib import Path

import structlog

from topicfold.settings import Settings

_log = structlog.get_logger(__name__)

_DEFAULT_URL = "http://127.0.0.1:8080"
"""Where the command line asks that is told nothing else."""
_FROM_HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 -- to be told apart, not to be listened on
"""Which of all addresses is this machine's own: requests for no address in particular are not served."""


def announce_server(settings: Settings, listener: socket.socket) -> None:
    """Say where is served on `listener`, to the log and on stdout."""
    host, port = listener.getsockname()[:2]
    scheme = "http" if settings.tls_cert_file is None else "https"
    url, here = _url(scheme, host, port), _url(scheme, _FROM_HERE.get(host, host), port)
    log = settings.kafka_bootstrap or str(settings.log_file)
    _log.info("serving", url=url, log=log, **_cluster(settings))
    at = "" if here == _DEFAULT_URL else f" --url {here}"
    command = _command()
    if settings.has_authentication:
        at += " --token-file FILE"
    _say(
        f"Topicfold serves {url} on the log {log}. Ctrl-C stops it.{_warning(settings)}Try, in another terminal:\n\n"
        f"  {command} topics create orders{at}\n"
        f"  {command} topics set-custom-labels orders --labels team=payments,tier=gold{at}\n"
        f"  {command} topics list public/default --custom-labels team:payments{at}\n\n"
    )


def _say(text: str) -> None:
    """Write on stdout. Where that cannot be written, as on a disk that is full, nothing is from then on."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _url(scheme: str, host: str, port: int) -> str:
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
        f"\nTopics are made and deleted in Kafka at {settings.cluster[0]} too, messages and all; "
        "with --adopt-only they are not.\n"
    )


def _command() -> str:
    """Return what to type for `topicfold` in a terminal where this checkout's environment is not active."""
    if shutil.which("topicfold"):
        return "topicfold"
    return shlex.quote(os.path.relpath(Path(sys.executable).with_name("topicfold")))
