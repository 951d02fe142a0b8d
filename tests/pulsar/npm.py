"""The npm client, many calls in one Node process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.pulsar.answering import AnsweringProcess
from tests.pulsar.npm_package import package

_DRIVER = Path(__file__).with_name("npm_driver.mjs")


class Refused(Exception):
    """The server said no: the status, and the body as the client hands it out."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


class NpmClient:
    """The package; each call goes to the next of the nodes."""

    def __init__(self, process: AnsweringProcess, urls: Sequence[str]) -> None:
        self._process = process
        self._urls = cycle(urls)

    def call(self, service: str, method: str, **arguments: Any) -> Any:
        """Return what `client.<service>.<method>(…)` resolves to, None for nothing; arguments are given by name.

        Raises:
            Refused: the promise was rejected.
        """
        answer = self._process.ask([next(self._urls), service, method, arguments])
        if "status" in answer:
            raise Refused(**answer)
        return answer["value"]


@contextmanager
def client_process(directory: Path) -> Iterator[AnsweringProcess]:
    """Run the client's Node process meanwhile; its own output goes to `directory`.

    Raises:
        Unavailable: there is no Node, or the package cannot be had.
    """
    with AnsweringProcess(["node", str(_DRIVER)], package(), directory / "npm.log") as process:
        yield process
