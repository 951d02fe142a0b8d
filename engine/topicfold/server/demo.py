"""The demo: a server on a log of its own with sample topics. The log is deleted when the server stops."""

from __future__ import annotations

import asyncio
import logging
import socket
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from topicfold.log_lines import configure_logging
from topicfold.model.names import parse_topic
from topicfold.model.records import TenantRecord
from topicfold.runtime.asking import Asked
from topicfold.runtime.at_once import each_at_once
from topicfold.runtime.engine import Engine
from topicfold.runtime.writing.writing import Writing
from topicfold.server.announcement import say, served_at, to_try
from topicfold.server.demo_topics import EXAMPLE, TENANT, demo_namespaces, demo_topics
from topicfold.server.run import serve
from topicfold.settings import Settings
from topicfold.starting import engine_options, open_log

_AT_ONCE = 64
_FILLING_SECONDS = 60.0
_CHANGES = (
    ("ann", {"team": "billing"}, "billing takes refunds over"),
    ("bob", {"tier": "gold"}, "SLA 2026"),
    ("ann", {"team": "payments"}, "and gives them back"),
)
"""What happens to `EXAMPLE`: who changes which labels, and why."""
_SELECTOR = "team=payments,tier in (gold,silver)"


class _Given(Settings):
    """Settings that only the demo says: no variable makes it touch a log or a cluster that is somebody's."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        *others: PydanticBaseSettingsSource,
        **more: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return where settings are looked for: only what the class is called with."""
        return (init_settings,)


def serve_demo(port: int, *, is_quiet: bool = False) -> int:
    """Serve the demo on `port` of 127.0.0.1 until it is told to stop; return the process's exit code.

    Nothing of it is left then.
    """
    configure_logging(level=logging.WARNING)
    with TemporaryDirectory(prefix="topicfold-demo-") as directory:
        settings = _Given(log_file=Path(directory) / "topicfold.db", port=port)
        asyncio.run(_fill(settings))
        return serve(settings, is_quiet=is_quiet, announce=_announce)


async def _fill(settings: Settings) -> None:
    engine = await Engine.start(await open_log(settings), engine_options(settings))
    try:
        await _write(Writing(engine))
    finally:
        await engine.stop()


async def _write(writing: Writing) -> None:
    deadline = asyncio.get_running_loop().time() + _FILLING_SECONDS

    def asked(actor: str, reason: str) -> Asked:
        return Asked(deadline, actor=actor, reason=reason)

    first = asked("ann", "the shop opens")
    await writing.create_tenant(TENANT, TenantRecord(), first)
    for name, record in demo_namespaces().items():
        await writing.create_namespace(name, record, first)
    topics = list(demo_topics())
    failures = await each_at_once(lambda each: writing.record_topic(*each, first), topics, _AT_ONCE)
    if failures:
        raise failures[0]
    for actor, labels, reason in _CHANGES:
        await writing.set_labels(parse_topic(EXAMPLE), labels, asked(actor, reason))


def _announce(settings: Settings, listener: socket.socket) -> None:
    url = served_at(settings, listener)
    say(
        f"Topicfold serves {url} with {sum(1 for _ in demo_topics())} topics of a shop, in {len(demo_namespaces())} "
        "namespaces. Ctrl-C stops it, and nothing is left.\n\n"
        f"  {url}/api/v1/topics?namespace={TENANT}/*&labelSelector={quote(_SELECTOR)}\n"
        f"  {url}/api/v1/topics/{EXAMPLE}/history\n"
        f"  {url}/readyz?verbose\n\n"
        + to_try(
            settings,
            listener,
            f"topics list '{TENANT}/*' -l '{_SELECTOR}' --match 'refund__**' -w",
            f"topics set-custom-labels {TENANT}/payments/refund__issued__br --labels tier=gold --reason 'new SLA'",
            f"history {EXAMPLE}",
            "report labels",
        )
    )
