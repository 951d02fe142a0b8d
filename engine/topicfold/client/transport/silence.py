"""What is made of there being no answer: which error that is, and what to do about it. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, replace

from topicfold.client.errors import AnswerLost, ServerUnreachable
from topicfold.errors import NotReady, TopicfoldError, Wait

HUNG_UP = "it closed the connection"
"""The reason where a connection was closed instead of an answer."""

BROKE_OFF = "it closed the connection in the middle"
"""The reason where a connection was closed in the middle of an answer."""

BROKE_OFF_HINT = "Try again. A node sends one answer for at most two minutes: ask for less, or for pages with limit."
"""What to do where an answer was not read to its end."""

SILENT_HINT = "It takes requests, but is silent. If it is a Topicfold server, see its log, or raise timeout_seconds."
"""What to do where a request was taken, and its answer waited for in vain."""

RESET_HINT = "It resets connections. If it is a Topicfold server, see its log: it may be out of open files."
"""What to do where a connection was reset before anything was sent: who has the address is there."""

PROXY_HINT = "The environment names the proxy. To ask the server itself, put its host into NO_PROXY."

# OpenSSL's words.
_NOT_TRUSTED = "certificate verify failed"
_EXPIRED_THERE = f"{_NOT_TRUSTED}: certificate has expired"
_OF_OTHER_NAMES = "certificate is not valid for"
_RESET = "Connection reset by peer"
# OpenSSL's names, by version, for an answer that is plain HTTP.
_NO_TLS_THERE = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "record layer failure")


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """What became of an attempt without an answer; `was_sent` unless it surely never reached a server.

    `url` is the node that gave none, "" for the one that was asked first. `timed_out`: it was waited for in vain.
    """

    reason: str
    was_sent: bool
    url: str = ""
    timed_out: bool = False

    @property
    def is_silence(self) -> bool:
        """Whether there is somebody who took the request and was waited for in vain."""
        return self.timed_out and self.was_sent


@dataclass(slots=True)
class Server:
    """Whom a client asks, through which proxy, and whether it ever answered; a client's calls and watches share one.

    `others` are nodes of the same service, to be asked next.
    """

    url: str
    has_answered: bool = False
    proxy: str = ""
    others: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The server, and the proxy, which may be the one that refused or was silent."""
        return f"{self.url} through the proxy {self.proxy}" if self.proxy else self.url

    def named(self, silence: NoAnswer, url: str) -> NoAnswer:
        """Return `silence` of the node at `url` so that it is told of that one, though others are asked since."""
        return replace(silence, url=silence.url or url) if self.others else silence

    def pass_over(self, url: str, error: TopicfoldError) -> None:
        """Ask the next node from now on, if `error` says that the one at `url` is away or not ready.

        A bare `Wait` is what the proxy in front of a node says of it.
        """
        is_away = isinstance(error, (ServerUnreachable, AnswerLost, NotReady)) or type(error) is Wait
        if self.others and self.url == url and is_away:
            self.url, *others = (*self.others, url)
            self.others = tuple(others)

    def unreachable(self, silence: NoAnswer, if_silent: str = SILENT_HINT) -> ServerUnreachable:
        """Return the error that there is no answer to what changes nothing.

        `if_silent` is what to do where there is somebody who took the request and was waited for in vain.
        """
        hint = self._hint(silence) or (if_silent if silence.is_silence else None)
        return ServerUnreachable(self._said(silence), hint=hint, url=silence.url or self.url)

    def lost(self, silence: NoAnswer, idempotency_key: str) -> AnswerLost:
        """Return the error that there is no answer to a change."""
        return AnswerLost(
            f"{self._said(silence)}; the change may or may not be applied",
            url=silence.url or self.url,
            idempotency_key=idempotency_key,
            instead=self._url_of_tls(silence),
        )

    def _url_of_tls(self, silence: NoAnswer) -> str:
        """Return what to try where it may be TLS that is spoken there, "" where it is not.

        A server that ever answered speaks what it was asked in, and so do the nodes that it names.
        """
        is_strange = not (self.has_answered or silence.url)
        if is_strange and silence.reason == HUNG_UP and self.url.startswith("http:"):
            return f"https:{self.url.removeprefix('http:')}"
        return ""

    def _said(self, silence: NoAnswer) -> str:
        as_tls = ", as a server of https:// does" if self._url_of_tls(silence) else ""
        return f"no answer from {silence.url or self.place}: {silence.reason}{as_tls}"

    def _hint(self, silence: NoAnswer) -> str | None:
        """Return what to do where TLS is amiss, or a proxy may be."""
        url, reason = silence.url or self.url, silence.reason
        if reason == BROKE_OFF:
            return BROKE_OFF_HINT
        if url_of_tls := self._url_of_tls(silence):
            return f"That server may speak TLS; try {url_of_tls}, or check that it is a Topicfold server"
        if url.startswith("https:") and reason == HUNG_UP and not self.has_answered:
            return "If it requires client certificates, check that it trusts the CA of yours: client_cert_file"
        if url.startswith("https:") and any(word in reason for word in _NO_TLS_THERE):
            return f"That server does not speak TLS; try http:{url.removeprefix('https:')}"
        if _EXPIRED_THERE in reason:
            return "The server needs a new certificate."
        if _OF_OTHER_NAMES in reason:
            return "Use a name that the certificate has; openssl x509 -in CERT -noout -ext subjectAltName shows them."
        if _NOT_TRUSTED in reason:
            return "If it is the right server, name the CA of its certificate: tls_ca_file"
        if self.proxy and not silence.url:
            return PROXY_HINT
        return RESET_HINT if _RESET in reason else None
