"""Which operation a path means: the same as its spelling says, at the cost of its depth."""

from __future__ import annotations

import time
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from topicfold.model.permissions import Access, Permission, Right, Scope
from topicfold.server.routes import DOMAIN, Operation
from topicfold.server.routing import RouteTable

ALL = f"/admin/v2/{DOMAIN}/{{tenant}}/{{namespace}}"


async def nothing(request: Request) -> Response:
    """Answer nothing."""
    return Response(None, 204)


def operation(name: str, method: str, path: str, *aliases: str) -> Operation:
    """Return an operation without a meaning."""
    return Operation(name, method, path, nothing, name, aliases=aliases, needs=Access.ANYONE)


TABLE = RouteTable([
    operation("root", "GET", "/"),
    operation("live", "GET", "/livez"),
    operation("list", "GET", ALL),
    operation("partitioned", "GET", f"{ALL}/partitioned"),
    operation("create", "PUT", f"{ALL}/{{topic}}"),
    operation("labels", "GET", f"{ALL}/{{topic}}/custom-labels", f"{ALL}/{{topic}}/customLabels"),
    operation("set", "POST", f"{ALL}/{{topic}}/custom-labels"),
    operation("native", "GET", "/api/v1/topics/{tenant}/{namespace}/{topic}"),
])  # fmt: skip


def found(method: str, path: str) -> tuple[str, dict[str, str]]:
    """Return which operation a request means, with the parameters of its path."""
    scope: dict[str, Any] = {"method": method, "path": path}
    return TABLE.find(scope).operation.id, scope["path_params"]


@pytest.mark.parametrize("domain", ["persistent", "non-persistent", "topics"])
def test_a_topics_domain_is_one_of_three_words(domain: str) -> None:
    assert found("GET", f"/admin/v2/{domain}/a/b") == ("list", {"domain": domain, "tenant": "a", "namespace": "b"})


def test_a_literal_segment_comes_before_a_parameter() -> None:
    assert found("GET", "/admin/v2/persistent/a/b/partitioned")[0] == "partitioned"


def test_a_literal_that_does_not_take_the_method_leaves_it_to_the_parameter() -> None:
    operation_id, parameters = found("PUT", "/admin/v2/persistent/a/b/partitioned")
    assert (operation_id, parameters["topic"]) == ("create", "partitioned")


def test_an_alias_is_the_same_operation_under_its_own_pattern() -> None:
    scope = {"method": "GET", "path": "/admin/v2/topics/a/b/c/customLabels"}
    route = TABLE.find(scope)
    assert (route.operation.id, scope["route"]) == ("labels", route)
    assert route.path_format == "/admin/v2/{domain}/{tenant}/{namespace}/{topic}/customLabels"


def test_a_parameter_stays_as_it_was_sent() -> None:
    assert found("PUT", "/admin/v2/persistent/a/b/c%2Fd%20")[1]["topic"] == "c%2Fd%20"


@pytest.mark.parametrize(
    "path",
    ["", "/admin", "/admin/v2/persistent/a", "/admin/v2/other/a/b", "/livez/", "//livez", "/admin/v2/persistent//b",
     "/admin/v2/persistent/a/b/", "/admin/v2/persistent/a/b/c/d", "/livez%2F", "/%6Civez", "/" * 16_000],
)  # fmt: skip
def test_anything_else_is_404(path: str) -> None:
    with pytest.raises(HTTPException) as caught:
        found("GET", path)
    assert caught.value.status_code == 404


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/livez", "GET, HEAD"), ("/admin/v2/topics/a/b/c/custom-labels", "GET, HEAD, POST"),
     ("/admin/v2/persistent/a/b/partitioned", "GET, HEAD, PUT"), ("/admin/v2/persistent/a/b/c", "PUT")],
)  # fmt: skip
def test_a_method_that_is_not_taken_is_405_and_names_all_that_are(path: str, allowed: str) -> None:
    with pytest.raises(HTTPException) as caught:
        found("PATCH", path)
    assert (caught.value.status_code, caught.value.headers) == (405, {"Allow": allowed})
    assert caught.value.detail.endswith(f" is not allowed here, only {allowed}")


def test_two_operations_cannot_share_a_method_and_a_path() -> None:
    twins = [operation("one", "GET", "/a/{x}"), operation("two", "GET", "/a/{y}")]
    with pytest.raises(ValueError, match=r"GET /a/\{y\} is one already"):
        RouteTable(twins)


def test_the_cost_does_not_grow_with_the_number_of_routes() -> None:
    many = RouteTable([operation(f"o{number}", "GET", f"/{number}/{{a}}/{{b}}") for number in range(3_000)])
    few = RouteTable([operation("o2999", "GET", "/2999/{a}/{b}")])
    scope = {"method": "GET", "path": "/2999/x/y"}

    def seconds(table: RouteTable) -> float:
        start = time.process_time()
        for _ in range(2_000):
            table.find(scope)
        return time.process_time() - start

    assert min(seconds(many) for _ in range(5)) < 3 * min(seconds(few) for _ in range(5))


def test_an_operation_without_a_need_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match="needs"):
        Operation("open", "GET", "/open", nothing, "Open")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("path", "scope"),
    [("/a/{tenant}", Scope.NAMESPACE), ("/a/{tenant}/{namespace}", Scope.TOPIC), ("/a", Scope.TENANT)],
)
def test_a_right_on_something_that_the_path_does_not_name_cannot_be_declared(path: str, scope: Scope) -> None:
    with pytest.raises(ValueError, match="names no"):
        Operation("vague", "GET", path, nothing, "Vague", needs=Right(Permission.ADMIN, scope))
