"""What a running command has at hand: settings, printing, the client once it is used, options of changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from topicfold.cli.config import Config, token_of
from topicfold.cli.output import Output, data_of
from topicfold.cli.same_server import on_the_same_server
from topicfold.errors import TopicfoldError
from topicfold.text.counting import counted

if TYPE_CHECKING:
    from topicfold.client import Client, Written
    from topicfold.client.call import ChangeOptions

# One connection refused is answer enough for a person; a server that restarts gets a moment.
_ATTEMPTS = 3
# A server hears from its log several times a second.
_STALE_AFTER_SECONDS = 2.0


def open_client(config: Config, timeout_seconds: float, max_attempts: int) -> Client:
    """Return a client of the server that the settings name.

    Raises:
        TopicfoldError: the settings contradict each other, or name files that cannot be read.
    """
    # The HTTP library costs more than all else here; --help never comes this far.
    from topicfold.client import Client, RetryRule

    return Client(
        config["url"],
        timeout_seconds=timeout_seconds,
        retry=RetryRule(max_attempts=max_attempts),
        token=token_of(config),
        tls_ca_file=config["tls_ca_file"],
        client_cert_file=config["client_cert_file"],
        client_key_file=config["client_key_file"],
    )


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
            self._client = open_client(self.config, self.config["timeout_seconds"], _ATTEMPTS)
        return self._client

    @property
    def is_progress_shown(self) -> bool:
        """Whether people want to see how far it is."""
        return bool(self.config["progress"]) and not self.output.is_quiet

    def warn_if_stale(self) -> None:
        """Say so if what was read is older than the answer of a server that reaches its log and goes on with it."""
        age_seconds = self._client.age_seconds if self._client else None
        if age_seconds is not None and age_seconds > _STALE_AFTER_SECONDS:
            tells = on_the_same_server("topicfold doctor tells why", self.config)
            self.output.warning(f"this may be {age_seconds:.0f} s old; {tells}")

    def catch_up(self) -> None:
        """Have what is read next be as fresh as the log, with what another node has just made.

        Under `/admin/v2` a read waits for a barrier, one of the tenants for that of all partitions, and the client
        carries its position on.
        """
        self.client.list_tenants()

    def count_unreadable(self) -> int:
        """Return how many topics the server cannot read, wherever they are."""
        partitions = self.client.readiness().report["partitions"].values()
        return sum(each["undecodableTopics"] for each in partitions)

    def warn_of_unreadable(self) -> None:
        """Say how many topics the server cannot read: they look like topics without labels, and may have some."""
        if many := self.count_unreadable():
            self.output.warning(
                f"the server cannot read the records of {counted(many, 'topic')}, wherever; counted without labels",
                "upgrade it if others of a newer version can; topicfold doctor tells more",
            )

    def close(self) -> None:
        """Close the client, if there is one."""
        if self._client is not None:
            self._client.close()

    def show_change(
        self,
        done: str,
        name: str,
        written: Written,
        already: str = "already so",
        follows: Callable[[], str] = lambda: "",
    ) -> None:
        """Say that `name` was `done` and what `follows`, or that it stayed as it was and why.

        As data or a name, and as a note. What follows is asked last: where it takes long, the change is known already.
        """
        is_changed = self._is_changed(written)
        told = {"name": name, "changed": is_changed, "done": f"{done} {name}" if is_changed else "", **data_of(written)}
        self.output.show(told, [name], (), ())
        self.output.note(f"{done} {name}" if is_changed else f"unchanged {name}: {already}")
        if is_changed and not self.output.is_quiet and (more := follows()):
            self.output.note(more)

    def _is_changed(self, written: Written) -> bool:
        """Return whether a change that was applied changed anything; it did where the server cannot tell."""
        if not written.operation:
            return False
        try:
            return self.client.get_operation(written.operation).changed is not False
        except TopicfoldError:
            return True
