"""What a running command has at hand: settings, printing, a client that is made when first used, options of changes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from topicfold.cli.config import Config
from topicfold.cli.output import Output

if TYPE_CHECKING:
    from topicfold.client import Client, Written
    from topicfold.client.calls import ChangeOptions

# One connection refused is answer enough for a person; a server that restarts gets a moment.
_ATTEMPTS = 3


@dataclass(slots=True)
class Session:
    """One command's run. `changes` holds `--reason`, `--if-match` and `--idempotency-key`; empty for reads."""

    config: Config
    output: Output
    changes: ChangeOptions
    _client: Client | None = field(default=None, init=False)

    @property
    def client(self) -> Client:
        """The client of the server that the settings name."""
        if self._client is None:
            # The HTTP library costs more than all else here; --help never comes this far.
            from topicfold.client import Client, RetryRule

            seconds = self.config["timeout_seconds"]
            self._client = Client(self.config["url"], timeout_seconds=seconds, retry=RetryRule(max_attempts=_ATTEMPTS))
        return self._client

    def close(self) -> None:
        """Close the client, if there is one."""
        if self._client is not None:
            self._client.close()

    def show_change(self, done: str, name: str, written: Written) -> None:
        """Say that `name` was `done`: as data in JSON or as a name, else as a note."""
        self.output.show({"name": name, "done": done, **asdict(written)}, [name], (), ())
        self.output.note(f"{done} {name}")
