"""Parameters of requests: under `/api/v1` none is passed over."""

from __future__ import annotations

import pytest

from tests.server.rest import RestNode
from topicfold.server.finding.find import FIND_PATH
from topicfold.server.queries import LABEL_FILTERS, MAX_PARAMETERS

NAMED = {
    "{tenant}": "public",
    "{namespace}": "default",
    "{topic}": "orders",
    "{operation}": f"0-{'ab' * 16}",
}


async def test_no_native_operation_takes_a_parameter_that_it_does_not_know(orders: RestNode) -> None:
    native = [each.operation for each in orders.app.table.routes if each.operation.path.startswith("/api/v1/")]
    assert native
    for operation in native:
        path = "/".join(NAMED.get(part, part) for part in operation.path.split("/"))
        body: dict[str, dict[str, str]] | None = {"labels": {}} if operation.body else None
        answer = await orders.send(operation.method, f"{path}?nosuch=1", body)
        told = (answer.status_code, "query parameter 'nosuch' is not known here" in answer.text)
        assert told == (400, True), operation.id


async def test_a_query_of_too_many_parameters_says_how_many_may_be_and_what_to_do(orders: RestNode) -> None:
    query = "&".join(f"namespace=acme/n{number}" for number in range(MAX_PARAMETERS + 1))
    problem = (await orders.send("GET", f"{FIND_PATH}?{query}")).json()
    assert problem["detail"] == f"query: more than {MAX_PARAMETERS} parameters"
    assert "fewer namespaces" in problem["hint"]


@pytest.mark.parametrize("spelling", LABEL_FILTERS)
@pytest.mark.parametrize("path", ["persistent/public/default", "namespaces/public/default/topics"])
async def test_a_filter_that_names_no_label_is_refused_and_does_not_list_all(
    rest: RestNode, path: str, spelling: str
) -> None:
    refused = await rest.send("GET", f"/admin/v2/{path}?{spelling}=")
    assert (refused.status_code, refused.json()["detail"]) == (400, "custom-labels: '' is not a pair of key and value")


@pytest.mark.parametrize("text", ["%FF", "caf%E9"])
async def test_a_query_that_is_not_utf_8_is_refused_and_not_read_as_something_else(rest: RestNode, text: str) -> None:
    refused = await rest.send("GET", f"{FIND_PATH}?match={text}*")
    assert (refused.status_code, refused.json()["detail"]) == (400, "query: not valid UTF-8")
