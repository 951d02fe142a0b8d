"""`topicfold version`: this command's version, and the server's."""

from __future__ import annotations

from topicfold import __version__
from topicfold.cli.session import Session
from topicfold.errors import TopicfoldError


def version(session: Session) -> None:
    """Show the versions of command and server. If no server answers, show that of the command.

    A build is a digest of the code: it tells apart different builds of one version.

    \b
    Example:
      topicfold version -o json
    """
    from topicfold.build import build_id

    server, build, failure = "", "", None
    try:
        answer = session.client.version()
        # A server of an older version says none.
        server, build = answer.version, answer.details.get("build", "")
    except TopicfoldError as error:
        failure = error
    builds = {"clientBuild": build_id(), "serverBuild": build or None}
    versions = {"client": __version__, "server": server or None, **builds}
    rows = [("client", __version__, build_id()), ("server", server or "-", build or "-")]
    session.output.show(versions, [__version__], ("PART", "VERSION", "BUILD"), rows)
    if failure:
        raise failure
