"""JSON-RPC 2.0: from a request body to the body of the answer, and the description of it all in OpenRPC."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, NoReturn

from omnichunk import __version__
from omnichunk.serve.gate import INVALID_REQUEST, error_body
from omnichunk.serve.methods import INVALID_PARAMS, Table
from omnichunk.serve.service import BUSY, Service
from omnichunk.serve.workers import CallFailed

PARSE_ERROR = -32700
DISCOVER = "rpc.discover"


@dataclass(frozen=True)
class Answer:
    """Status and body; no body for a notification."""

    status: int
    body: bytes = b""
    retry_after: int | None = None


async def answer(service: Service, body: bytes) -> Answer:
    """The answer to one request. What is no request at all has the status 400, a busy service 503."""
    try:
        request = json.loads(body.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_object)
    except _Twice:
        return Answer(400, error_body(INVALID_REQUEST, "A name stands twice in one object."))
    except (ValueError, RecursionError):
        return Answer(400, error_body(PARSE_ERROR, "The body is no JSON in UTF-8."))
    if not isinstance(request, dict):
        wrong = "Requests are sent one by one, each as an object."
        return Answer(400, error_body(INVALID_REQUEST, wrong))
    identity = request.get("id")
    if not _is_identity(identity):
        return Answer(400, error_body(INVALID_REQUEST, "id: a string, a number or null is needed."))
    if request.get("jsonrpc") != "2.0" or not isinstance(request.get("method"), str):
        wrong = 'jsonrpc has to be "2.0", and method a string.'
        return Answer(400, error_body(INVALID_REQUEST, wrong, identity))
    if "id" not in request:
        return Answer(204)  # nothing here has an effect, so there is nothing to do
    params = request.get("params", {})
    if not isinstance(params, dict):
        return Answer(200, error_body(INVALID_PARAMS, "params: an object, by name, is needed.", identity, "option"))
    try:
        result = await _result(service, request["method"], params)
    except CallFailed as failed:
        status, retry = (503, 1) if failed.reason == BUSY else (200, None)
        return Answer(status, error_body(failed.code, failed.message, identity, failed.reason), retry)
    return Answer(200, b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (json.dumps(identity).encode(), result))


async def _result(service: Service, method: str, params: dict[str, Any]) -> bytes:
    if method == DISCOVER:
        return json.dumps(description(service.table)).encode()
    return await service.call(method, params)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


class _Twice(Exception):
    """An object that one reader may read otherwise than another."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _Twice
    return made


def _is_identity(value: object) -> bool:
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        return False
    return value is None or isinstance(value, (str, int, float))


def description(table: Table) -> dict[str, Any]:
    """The methods, as an OpenRPC document."""
    errors = [
        {"code": PARSE_ERROR, "message": "The body is no JSON."},
        {"code": INVALID_REQUEST, "message": "The body is no request."},
        {"code": INVALID_PARAMS, "message": "A parameter is unknown, missing or wrong."},
        {"code": -32000, "message": "It could not be done; data.reason says why in one word."},
    ]
    methods = [
        {
            "name": method.name, "summary": method.summary, "paramStructure": "by-name",
            "params": [
                {"name": name, "required": name in method.params["required"], "schema": schema}
                for name, schema in sorted(method.params["properties"].items(),
                                           key=lambda item: item[0] not in method.params["required"])
            ],
            "result": {"name": "result", "schema": method.result},
            "errors": errors,
        }
        for method in table.public
    ]  # fmt: skip
    return {"openrpc": "1.3.2", "info": {"title": "omnichunk", "version": __version__}, "methods": methods}
