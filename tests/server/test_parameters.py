"""Parameters of queries: what the OpenAPI document says that one takes is what the server takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.document import DOCUMENT
from tests.server.rest import NATIVE, ORDERS, RestNode
from topicfold.errors import InvalidRequest, NotFound
from topicfold.server.parameters import Choice, Count, Flag, Integer32, Parameter
from topicfold.server.shapes import tidied

PAGE = Count("limit", "", 10)
WAY = Choice("way", "", ("up", "down"))
SIDE = Choice("side", "", ("left", "right"), "left", refused=NotFound)
SAID: dict[str, Any] = json.loads(DOCUMENT.read_text())


@pytest.mark.parametrize(
    ("parameter", "text", "meant"),
    [
        (Flag("a", ""), None, False), (Flag("a", ""), "TRUE", True),
        (Flag("a", "", default=True), None, True), (Flag("a", "", default=True), "False", False),
        (PAGE, None, None), (PAGE, "1", 1), (PAGE, "10", 10),
        (Integer32("a", ""), "-2147483648", -(1 << 31)), (Integer32("a", ""), "+7", 7),
        (WAY, None, ""), (WAY, "down", "down"), (SIDE, None, "left"), (SIDE, "", "left"),
        (SIDE, "right", "right"),
    ],
)  # fmt: skip
def test_a_parameter_means_what_its_schema_says(parameter: Any, text: str | None, meant: object) -> None:
    assert parameter.of({} if text is None else {parameter.name: [text]}) == meant


@pytest.mark.parametrize(
    ("parameter", "text", "refused"),
    [
        (Flag("a", ""), "1", InvalidRequest), (Flag("a", ""), "", InvalidRequest),
        (Flag("a", "", default=True), "", InvalidRequest), (PAGE, "0", InvalidRequest), (PAGE, "11", InvalidRequest),
        (PAGE, "1e1", InvalidRequest), (PAGE, "²", InvalidRequest), (PAGE, "٣", InvalidRequest),
        (Integer32("a", ""), "2147483648", NotFound), (WAY, "", InvalidRequest),
        (WAY, "Up", InvalidRequest), (SIDE, "top", NotFound),
    ],
)  # fmt: skip
def test_what_its_schema_does_not_allow_is_refused(parameter: Any, text: str, refused: type[Exception]) -> None:
    with pytest.raises(refused, match=parameter.name):
        parameter.of({parameter.name: [text]})


async def test_whatever_the_document_has_as_no_text_is_read_so(orders: RestNode) -> None:
    """By the declaration itself, so that the two cannot differ."""
    declared = {
        (operation.id, each.name): each.schema
        for operation in {route.operation.id: route.operation for route in orders.app.table.routes}.values()
        for each in operation.query.values()
        if isinstance(each, Parameter)
    }
    documented = {
        (operation["operationId"], each["name"]): each["schema"]
        for methods in SAID["paths"].values()
        for operation in methods.values()
        for each in operation.get("parameters", ())
        if each.get("in") == "query" and each["name"] != "authoritative"
    }
    _, as_written = tidied({}, declared)
    assert {place: documented[place] for place in declared} == as_written
    texts = {place for place, schema in documented.items() if {**schema} == {"type": "string"}}
    assert {place for place in {*documented} - texts if documented[place].get("type") != "array"} == {*declared}


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", f"{NATIVE}2?dryRun="), ("GET", f"{NATIVE}?domain=any"), ("DELETE", f"{ORDERS}?force=perhaps")],
)
async def test_a_request_with_another_value_is_refused(orders: RestNode, method: str, path: str) -> None:
    assert (await orders.problem(method, path))[0] == 400
