"""From where in the log a refusal comes: who sends that on hears nothing older from another node, nor that it was so.

What is refused was so at a position that this node has folded; where it is now covers that.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.requests import Request

from topicfold.errors import FewerPartitions, NotFound, Reread, WrongKind
from topicfold.runtime.asking import Cut
from topicfold.runtime.engine import Engine
from topicfold.server.answers import read_headers
from topicfold.server.asking import minimum_in
from topicfold.server.guard import HEADERS_KEY
from topicfold.server.paths import namespace_in
from topicfold.server.problems import REFUSED_AT_KEY
from topicfold.wire import headers

BY_STATE = (NotFound, WrongKind, FewerPartitions, Reread)
"""What is refused because of what there is, or is not."""

PLACED = frozenset({"namespace", "tenant"})
"""Parameters of a path, one of which says where in the log that is."""


def note_refusal(request: Request, engine: Engine) -> None:
    """Note for the answer to `request` how far that is folded which its path names.

    To be called before anything is awaited, once the refusal was found: the age is that of what was looked at.

    Raises:
        InvalidRequest, Resync: the request's own position is none of this log, and nobody had looked at it.
    """
    partitions = _partitions(request, engine)
    if not partitions:
        return
    age_seconds = max(map(engine.freshness.age_seconds, partitions))
    revision = engine.revision(partitions).merged(minimum_in(request.scope[HEADERS_KEY], engine))
    said = read_headers(Cut(revision, age_seconds))
    if request.method != "GET":
        # A change is refused by what was fresh, or by what the log has of it.
        del said[headers.LOG_AGE.lower()]
    request.scope[REFUSED_AT_KEY] = said


def _partitions(request: Request, engine: Engine) -> Collection[int]:
    """Return the partitions in which a refusal may have been found; a tenant's may be found in any."""
    named = request.path_params
    if "namespace" in named:
        return [engine.partition(namespace_in(request))]
    return engine.states if "tenant" in named else ()
