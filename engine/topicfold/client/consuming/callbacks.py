"""Callbacks that Kafka's client calls: what one raises is kept, for whoever polls.

Kafka's client throws away the records of a call in which a callback raises, and goes on behind them. It also hands out
an exception of its own, such as one of `commit`, as an object that no `except` catches but one without a class, if no
Python code caught it in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_OF_SETTINGS = ("error_cb", "throttle_cb", "stats_cb", "on_commit")
"""Those that are settings and are called by polls. What `oauth_cb` raises Kafka's client takes itself."""


class Callbacks:
    """What callbacks raised and nobody was told yet, of which only the first is kept. One thread at a time uses it.

    callbacks = Callbacks()
    consumer.subscribe(["orders"], **callbacks.kept_from({"on_assign": on_assign}))
    message = consumer.poll(1.0)    # calls on_assign
    callbacks.raise_kept()          # raises what on_assign raised
    """

    def __init__(self) -> None:
        self._raised: BaseException | None = None

    def kept_from(self, callbacks: Mapping[str, Callable[..., None]]) -> dict[str, Callable[..., None]]:
        """Return the same callbacks, which raise nothing."""
        return {name: self._keeping(callback) for name, callback in callbacks.items()}

    def of_settings(self, conf: Mapping[str, Any]) -> dict[str, Any]:
        """Return the same settings, with callbacks that raise nothing."""
        return {**conf, **self.kept_from({name: conf[name] for name in _OF_SETTINGS if callable(conf.get(name))})}

    def raise_kept(self) -> None:
        """Raise what a callback raised, once."""
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised

    def _keeping(self, callback: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            try:
                callback(*arguments)
            except BaseException as error:  # noqa: BLE001 - the boundary of a callback; whoever polls hears of it
                if self._raised is None:
                    self._raised = error

        return call
