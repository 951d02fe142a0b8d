"""Errors that only a client can meet: no answer, or one that is not Topicfold's, or a part that cannot be had.

TopicfoldError
├── Wait
│   └── ServerUnreachable   the request did not reach a server, or changes nothing
├── OutcomeUnknown
│   └── AnswerLost          a change was sent and no answer came
├── UnexpectedAnswer        something else listens there
│   └── QueryUnconfirmed    a server that does not say which topics it understood are meant
└── OperatorNeeded
    ├── ExtraMissing        an optional part of the package is not installed
    └── ExtraBroken         an optional part is there, and cannot be imported
"""

from __future__ import annotations

from topicfold.errors import OperatorNeeded, OutcomeUnknown, TopicfoldError, Wait


class ServerUnreachable(Wait):
    """No server answered, and nothing was changed by asking; `values` hold `url`."""

    code = "server_unreachable"
    default_hint = "Check the URL, and that the server runs (`topicfold serve`)."


class AnswerLost(OutcomeUnknown):
    """A change was sent and no answer came: it may or may not be applied, now or later.

    Its operation's id is unknown too (""). `values` hold `url` and `idempotency_key`: sent again with that key, the
    change is applied at most once; and `instead`, the URL to send it to where that one may be wrong.
    """

    code = "answer_lost"

    def __init__(self, reason: str, *, url: str, idempotency_key: str, instead: str = "") -> None:
        super().__init__(reason, operation="")
        place = f" to {instead}" if instead else ""
        self.hint = f"Send it again{place} with the Idempotency-Key {idempotency_key}: it is applied at most once."
        self.values = {**self.values, "url": url, "idempotency_key": idempotency_key, "instead": instead}


class UnexpectedAnswer(TopicfoldError):
    """What answered does not speak Topicfold's protocol; `values` hold `url` and `status`."""

    code = "unexpected_answer"
    default_hint = "Check that the URL is that of a Topicfold server."


class QueryUnconfirmed(UnexpectedAnswer):
    """The server does not confirm which topics are meant, so it may tell of others, or of all.

    `values` hold `url`, `asked` and `confirmed`: both as `topicfold.wire.confirmation` writes them, None for no word.
    """

    code = "query_unconfirmed"
    default_hint = "Upgrade the server to the client's version."

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
    """An optional part is there and cannot be imported.

    `values` hold `module`, its name or "" where that is not known, and `path`, the file that is to blame.
    """

    code = "extra_broken"
    default_hint = (
        "Is that a file of your own, with the name of a package, say on PYTHONPATH? Then rename it. Else install the "
        "package anew."
    )

    def __init__(self, what: str, error: ImportError, path: str) -> None:
        module = error.name or ""
        super().__init__(
            f"{what} cannot import {module or 'what it needs'} from {path}: {error}", module=module, path=path
        )
