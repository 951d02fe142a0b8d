"""Topic listings for tests: plug-ins as somebody else would write them, well and badly."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import count
from typing import Any

from topicfold.runtime.engine import Engine
from topicfold.runtime.finding.topic_listing import ListingMode

calls: list[tuple[str, ...]] = []
"""What the plug-ins were called with, oldest first."""
DEFAULT = "persistent://public/default"


class Chosen:
    """Lists what its property `only` names, parted by blanks; everything else it was told to."""

    def initialize(self, engine: Engine) -> None:
        calls.append(("initialize",))

    async def list(self, namespace: str, mode: ListingMode, properties: Mapping[str, str]) -> Iterable[str]:
        calls.append(("list", namespace, mode, *sorted(f"{key}={value}" for key, value in properties.items())))
        await asyncio.sleep(0.05)
        return properties.get("only", "").split()

    def close(self) -> None:
        calls.append(("close",))


class Heedless(Chosen):
    """Takes no notice of properties, and says so."""

    takes_properties = False


class Plain(Chosen):
    """The same as plain functions, which may wait."""

    def list(self, namespace: str, mode: ListingMode, properties: Mapping[str, str]) -> Iterable[str]:  # type: ignore[override]
        return iter(properties.get("only", "").split())


class Broken(Chosen):
    """Does what its property `how` says."""

    async def list(self, namespace: str, mode: ListingMode, properties: Mapping[str, str]) -> Any:
        match properties["how"]:
            case "raise":
                raise RuntimeError("secret text")
            case "type":
                raise TypeError("secret text")
            case "interrupt":
                raise KeyboardInterrupt
            case "exit":
                raise SystemExit(3)
            case "cancel":
                raise asyncio.CancelledError
            case "end" if task := asyncio.current_task():
                task.cancel()
                await asyncio.sleep(60)
            case "hang":
                await asyncio.sleep(60)
            case "deaf":
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(60)
                await asyncio.sleep(60)
            case "text":
                return "orders"
            case "numbers":
                return [1, 2]
        return None


class Hanging(Plain):
    """Plain functions that never come back where its property `hang` is there, some only when names are taken."""

    def list(self, namespace: str, mode: ListingMode, properties: Mapping[str, str]) -> Iterable[str]:  # type: ignore[override]
        if properties.get("hang") == "later":
            return self._named()
        if properties.get("hang") == "view":
            return View()
        while "hang" in properties:
            time.sleep(60)
        return [f"{DEFAULT}/a"]

    def _named(self) -> Iterator[str]:
        yield f"{DEFAULT}/a"
        time.sleep(60)


class View:
    """Names that are asked for when they are taken, which never ends."""

    def __iter__(self) -> Iterator[str]:
        time.sleep(60)
        yield f"{DEFAULT}/a"


class Endless(Plain):
    """Names what is not there, for ever."""

    def list(self, namespace: str, mode: ListingMode, properties: Mapping[str, str]) -> Iterable[str]:  # type: ignore[override]
        return (f"{DEFAULT}/x{number}" for number in count())


class Named(Plain):
    """Names nothing, and a partition of a topic that has none."""

    def list(self, namespace: str, mode: ListingMode, properties: Mapping[str, str]) -> Iterable[str]:  # type: ignore[override]
        return ["", f"{DEFAULT}/a-partition-7"]


class Unready(Chosen):
    """Cannot be made ready."""

    def initialize(self, engine: Engine) -> None:
        raise OSError("no such host")


class Unmade(Chosen):
    """Cannot even be made."""

    def __init__(self) -> None:
        raise OSError("no such host")


class Incomplete:
    """Is no listing."""

    def initialize(self, engine: Engine) -> None:
        """Do nothing."""
