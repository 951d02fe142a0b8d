"""`topicfold demo`: a server with topics to look at, that leaves nothing behind."""

from __future__ import annotations

from typing import Annotated

import typer

from topicfold.cli.server_settings import needed_packages
from topicfold.cli.session import Session

Port = Annotated[int, typer.Option(min=0, max=65535, metavar="PORT", help="Port to serve on; 0 takes a free one.")]


def demo(session: Session, port: Port = 8080) -> None:
    """Run a server with 200 sample topics. It needs no Kafka, and when it stops, nothing is left.

    It serves on 127.0.0.1, prints what to try, and uses no settings but these flags.

    \b
    Examples:
      topicfold demo
      topicfold demo --port 8090
    """
    with needed_packages("serving", {}):
        from topicfold.server.demo import serve_demo
    raise typer.Exit(serve_demo(port, is_quiet=session.output.is_quiet))
