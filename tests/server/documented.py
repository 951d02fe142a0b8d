"""Holds answers against the OpenAPI document: status, headers, media type, body and the code of a problem.

The document lets a newer server's answers have further members; those of this one have none that it does not name.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import httpx2
import jsonschema_rs
import orjson
from starlette.exceptions import HTTPException

from topicfold.server.app import Application
from topicfold.server.document import document_of
from topicfold.server.routes import DOMAIN
from topicfold.wire import headers as names

BY_HTTP = {"connection", "content-length", "content-type"}
"""Headers that HTTP itself asks for."""

_documents: dict[int, dict[str, Any]] = {}


def undocumented(app: Application, method: str, answer: httpx2.Response) -> list[str]:
    """Return what of `answer` the document of `app` does not say; nothing where there is no such route.

    HEAD is answered as the document says of GET.
    """
    path = answer.request.url.raw_path.decode().partition("?")[0]
    try:
        operation = app.table.find({"path": path, "method": method}).operation
    except HTTPException:
        return []
    document = _document(app)
    said = document["paths"][operation.path.replace(DOMAIN, "{domain}")][operation.method.lower()]["responses"]
    status = str(answer.status_code)
    media_type = answer.headers.get("content-type", "").partition(";")[0]
    response = said.get(status) or (said["default"] if media_type == names.PROBLEM_TYPE else None)
    if response is None:
        return [f"status {status}"]
    found = [f"header {name}" for name in {*answer.headers} - BY_HTTP - {each.lower() for each in response["headers"]}]
    if not answer.content:
        return found
    if media_type not in response.get("content", {}):
        return [*found, f"media type {media_type!r}"]
    codes = response["description"].split(", ")
    if media_type == names.PROBLEM_TYPE and status in said and answer.json()["code"] not in codes:
        found.append(f"code {answer.json()['code']}")
    if media_type.endswith("json"):
        schema = {**response["content"][media_type]["schema"], "components": document["components"]}
        validator = _validator(orjson.dumps(schema))
        found += [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(answer.json())]
    return [f"{operation.id} {status}: {each}" for each in found]


def _document(app: Application) -> dict[str, Any]:
    known = len(app.table.routes)
    if known not in _documents:
        _documents[known] = document_of({route.operation.id: route.operation for route in app.table.routes}.values())
        schemas = _documents[known]["components"]["schemas"]
        schemas |= {name: {"additionalProperties": False} | schema for name, schema in schemas.items()}
    return _documents[known]


@cache
def _validator(schema: bytes) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(orjson.loads(schema))
