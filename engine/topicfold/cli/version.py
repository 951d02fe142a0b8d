"""`topicfold version`: this command's version, and the server's."""

from __future__ import annotations

from topicfold import __version__
from topicfold.cli.session import Session
from topicfold.errors import TopicfoldError


def version(session: Session) -> None:
    """Show the versions of command and server. The first also where no server answers.

    \b
    Example:
      topicfold version -o json
    """
    server, failure = "", None
    try:
        server = session.client.version().version
    except TopicfoldError as error:
        failure = error
    versions = {"client": __version__, "server": server or None}
    rows = [("client", __version__), ("server", server or "-")]
    session.output.show(versions, [__version__], ("PART", "VERSION"), rows)
    if failure:
        raise failure
