"""What a running command has at hand: settings, printing, the client once it is used, options of changes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from topicfold.cli.config import Config, token_of
from topicfold.cli.output import Output

if TYPE_CHECKING:
    from topicfold.client import Client, Written
    from topicfold.client.call import ChangeOptions

# One connection refused is answer enough for a person; a server that restarts gets a moment.
_ATTEMPTS = 3
# A server hears from its log several times a second.
_STALE_AFTER_SECONDS = 2.0


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
            retry = RetryRule(max_attempts=_ATTEMPTS)
            self._client = Client(
                self.config["url"],
                timeout_seconds=seconds,
                retry=retry,
                token=token_of(self.config),
                tls_ca_file=self.config["tls_ca_file"],
                client_cert_file=self.config["client_cert_file"],
                client_key_file=self.config["client_key_file"],
            )
        return self._client

    def warn_if_stale(self) -> None:
        """Say so if what was read is older than a server's answer that can reach its log."""
        age_seconds = self._client.age_seconds if self._client else None
        if age_seconds is not None and age_seconds > _STALE_AFTER_SECONDS:
            self.output.warning(f"this may be {age_seconds:.0f} s old; the log cannot be reached")

    def close(self) -> None:
        """Close the client, if there is one."""
        if self._client is not None:
            self._client.close()

    def show_change(self, done: str, name: str, written: Written) -> None:
        """Say that `name` was `done`: as data in JSON or as a name, else as a note."""
        self.output.show({"name": name, "done": done, **asdict(written)}, [name], (), ())
        self.output.note(f"{done} {name}")
