"""Which operation a request means: a tree of path segments, walked over the path as it was sent.

A literal segment comes before a parameter. The walk costs the depth of the path, however many routes there are.
Percent-escapes are left alone, so an encoded slash never parts two segments.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.types import Scope

from topicfold.model.names import DOMAINS
from topicfold.server.connections.exchange import method_asked
from topicfold.server.routes import DOMAIN, TOPICS_DOMAIN, Operation, segments_of


@dataclass(frozen=True, slots=True)
class Route:
    """One spelling of an operation's path; `parameters` are the names and the places of its variable segments."""

    operation: Operation
    path_format: str
    parameters: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class _Step:
    """What may follow the segments so far, and the routes that end here, by method."""

    literals: defaultdict[str, _Step] = field(default_factory=lambda: defaultdict(_Step))
    parameter: _Step | None = None
    routes: dict[str, Route] = field(default_factory=dict)


class RouteTable:
    """All routes of the API."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._root = _Step()
        self.routes: list[Route] = []
        for operation in operations:
            for path in (operation.path, *operation.aliases):
                self._add(operation, path)

    def find(self, scope: Scope) -> Route:
        """Return the route of a request, and note it in `scope` with the parameters of the path.

        Raises:
            HTTPException: 404, there is no such path; 405, it does not take this method.

        Cost: O(depth of the path); a way back to each parameter that a literal was preferred to.
        """
        segments: list[str] = scope["path"].split("/")
        method = method_asked(scope)
        depth = len(segments)
        allowed: set[str] = set()
        untried = [(self._root, 1)]
        while untried:
            step, at = untried.pop()
            while at < depth:
                segment = segments[at]
                at += 1
                parameter = step.parameter if segment else None
                after = step.literals.get(segment)
                if after is None:
                    if parameter is None:
                        break
                    step = parameter
                else:
                    if parameter is not None:
                        untried.append((parameter, at))
                    step = after
            else:
                route = step.routes.get(method)
                if route is not None:
                    scope["route"] = route
                    scope["path_params"] = {name: segments[place] for name, place in route.parameters}
                    return route
                allowed.update(each for each, route in step.routes.items() if not route.operation.is_never_done)
        raise no_route(method, scope["path"], allowed)

    def _add(self, operation: Operation, path: str) -> None:
        """Put one spelling of a path into the tree.

        Raises:
            ValueError: an operation has the same method and path already.
        """
        segments = segments_of(path)
        parameters = tuple((name, place) for place, (_, name) in enumerate(segments) if name)
        route = Route(operation, path.replace(DOMAIN, "{domain}"), parameters)
        ends = [self._root]
        for segment, name in segments[1:]:
            if segment == DOMAIN:
                ends = [step.literals[each] for step in ends for each in (*DOMAINS, TOPICS_DOMAIN)]
            elif name:
                ends = [_parameter_of(step) for step in ends]
            else:
                ends = [step.literals[segment] for step in ends]
        for step in ends:
            for method in operation.methods:
                if step.routes.setdefault(method, route) is not route:
                    raise ValueError(f"{method} {path} is {step.routes[method].operation.id} already")
        self.routes.append(route)


def _parameter_of(step: _Step) -> _Step:
    """Return the step that a variable segment leads to, made where it is new."""
    if step.parameter is None:
        step.parameter = _Step()
    return step.parameter


def no_route(method: str, path: str, allowed: Collection[str] = ()) -> HTTPException:
    """Return the error that a path is none, or takes only the methods that are `allowed`."""
    if not allowed:
        return HTTPException(404, f"there is no route {path[:200]}")
    methods = ", ".join(sorted(allowed))
    return HTTPException(405, f"{method} is not allowed here, only {methods}", {"Allow": methods})
