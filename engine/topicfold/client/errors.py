"""Errors that only a client raises: no answer, an answer that is not Topicfold's, or a missing optional package.

TopicfoldError
├── Wait
│   └── ServerUnreachable   the request did not reach a server, or was a read
├── OutcomeUnknown
│   └── AnswerLost          a change was sent, but no answer came
├── UnexpectedAnswer        the answer is not that of a Topicfold server
│   └── QueryUnconfirmed    the server does not confirm how it understood the query
└── OperatorNeeded
    ├── ExtraMissing        an optional part of the package is not installed
    └── ExtraBroken         an optional part is installed, but cannot be imported
"""

from __future__ import annotations

from topicfold.errors import OperatorNeeded, OutcomeUnknown, TopicfoldError, Wait

OLDER_SERVER = "Upgrade the server to the client's version."
"""The hint where a server of Topicfold does not know what this client asks for."""


class ServerUnreachable(Wait):
    """No server answered, and nothing was changed; `values` hold `url`."""

    code = "server_unreachable"
    default_hint = "Check the URL, and that the server runs (`topicfold serve`)."


class AnswerLost(OutcomeUnknown):
    """A change was sent, but no answer came: it may or may not be applied, now or later.

    The ID of its operation is unknown too (""). `values` hold `url` and `idempotency_key`: sent again with that key,
    the change is applied at most once. They also hold `instead`, the URL to send it to if `url` may be wrong.
    """

    code = "answer_lost"

    def __init__(self, reason: str, *, url: str, idempotency_key: str, instead: str = "") -> None:
        super().__init__(reason, operation="")
        place = f" to {instead}" if instead else ""
        self.hint = f"Send it again{place} with the Idempotency-Key {idempotency_key}: it is applied at most once."
        self.values = {**self.values, "url": url, "idempotency_key": idempotency_key, "instead": instead}


class UnexpectedAnswer(TopicfoldError):
    """The answer is not that of a Topicfold server; `values` hold `url` and `status`."""

    code = "unexpected_answer"
    default_hint = "Check that the URL is that of a Topicfold server."


class QueryUnconfirmed(UnexpectedAnswer):
    """The server does not confirm the query, so its answer may contain other topics, or all of them.

    `values` hold `url`, `asked` and `confirmed`, the last two as `topicfold.wire.confirmation` writes them; `confirmed`
    is None if the server said nothing.
    """

    code = "query_unconfirmed"
    default_hint = OLDER_SERVER

    def __init__(self, *, url: str, asked: str, confirmed: str | None, hint: str | None = None) -> None:
        said = "does not say what it understood" if confirmed is None else f"understood {confirmed}"
        super().__init__(
            f"{url} was asked for {asked} and {said}",
            hint=hint,
            url=url,
            status=200,
            asked=asked,
            confirmed=confirmed,
        )


class ExtraMissing(OperatorNeeded):
    """An optional part of the package is not installed; the hint is the command that installs it."""

    code = "extra_missing"

    def __init__(self, what: str, *extras: str) -> None:
        names = ",".join(extras)
        super().__init__(
            f"{what} needs packages that are not installed",
            hint=f"pip install 'topicfold[{names}]', or in a checkout: pip install -e '.[{names}]'",
            extras=list(extras),
        )


class ExtraBroken(OperatorNeeded):
    """An optional part is installed, but cannot be imported.

    `values` hold `module`, its name or "" if not known, and `path`, the file that caused the error.
    """

    code = "extra_broken"
    default_hint = (
        "If that is a file of your own with the name of a package, for instance on PYTHONPATH, rename it. Otherwise "
        "reinstall the package."
    )

    def __init__(self, what: str, error: ImportError, path: str) -> None:
        module = error.name or ""
        super().__init__(
            f"{what} cannot import {module or 'what it needs'} from {path}: {error}", module=module, path=path
        )
