"""The service as an MCP server, with the official SDK: over standard input and output, and over HTTP.

Tools are the methods of the table, resources the chunks of the files below the roots.
"""

from __future__ import annotations

import base64
import contextlib
import json
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from omnichunk import __version__
from omnichunk.serve import uri
from omnichunk.serve.methods import INTERNAL_ERROR, INVALID_PARAMS, Method
from omnichunk.serve.schema import Schema
from omnichunk.serve.service import Service
from omnichunk.serve.workers import CallFailed

if sys.version_info < (3, 11):
    from exceptiongroup import ExceptionGroup
if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

PAGE = 1000
"""Resources that are listed at once."""
SESSIONS = 1000
"""Sessions over HTTP at once, of about 40 kB each; one that is idle for half an hour is ended."""
_DETAIL = "text"
"""What tools tell of a chunk unless asked for something else: a model reads them, and pays for every field."""
_INSTRUCTIONS = (
    "Reads the files below the folders it was started for, in pieces that keep definitions, sections, tables and "
    "paragraphs whole. Begin with outline or chunk_directory (detail=brief), then read what matters: read_around, "
    "or the resource chunk:///PATH?index=N. Paths are relative to the served folder."
)
Context = Any


def server(service: Service) -> Server[Any]:
    """The server for any transport; ``service`` has to be entered while it runs."""

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(method) for method in service.table.public])

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        method = service.table.get(params.name)
        if method is None or method.hidden:
            raise MCPError(INVALID_PARAMS, "There is no such tool.")
        arguments = dict(params.arguments or {})
        if "detail" in method.params["properties"]:
            arguments.setdefault("detail", _DETAIL)
        try:
            result = json.loads(await service.call(method.name, arguments, _progress(ctx)))
        except CallFailed as failed:
            if failed.code == INTERNAL_ERROR:
                raise MCPError(failed.code, failed.message) from None
            return types.CallToolResult(content=[types.TextContent(text=_shown(failed.message))], is_error=True)
        structured = {_KEY: result} if isinstance(result, list) else result
        text = json.dumps(structured, ensure_ascii=False)
        if (shown := _shown(text)) != text:
            text, structured = shown, json.loads(shown)
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=structured)

    async def list_resources(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        found = await _mapped(service.internal("list_files", {"path": "."}))
        start = _offset(params.cursor if params is not None else None)
        page = [
            types.Resource(uri=uri.of_file(name), name=_shown(name), size=size, mime_type="text/plain")
            for name, size in found[start : start + PAGE]
        ]
        more = _cursor(start + PAGE) if start + PAGE < len(found) else None
        return types.ListResourcesResult(resources=page, next_cursor=more)

    async def list_templates(
        ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=uri.TEMPLATE, name="chunk", mime_type="text/plain",
            description="A chunk of a file by its number, or all chunks; options of chunk_file may follow.",
        )  # fmt: skip
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        rows = await _mapped(service.internal("read_resource", {"uri": str(params.uri)}))
        contents: list[Any] = [
            types.TextResourceContents(uri=row["uri"], text=row["text"], mime_type="text/plain") for row in rows
        ]
        return types.ReadResourceResult(contents=contents)

    return Server(
        "omnichunk", version=__version__, instructions=_INSTRUCTIONS,
        on_list_tools=list_tools, on_call_tool=call_tool, on_list_resources=list_resources,
        on_list_resource_templates=list_templates, on_read_resource=read_resource,
    )  # fmt: skip


async def over_stdio(make: Callable[[], Service]) -> None:
    """Serve standard input until it ends. Nothing but messages is written to standard output.

    ``make`` makes the service; it imports plugins, whatever they print, so it is called when the output is protected.
    """
    from anyio import CancelScope
    from mcp.server.stdio import stdio_server

    try:
        async with stdio_server() as (read, write):
            with contextlib.redirect_stdout(sys.stderr):
                async with make() as service:
                    serving = server(service)
                    try:
                        await serving.run(read, write, serving.create_initialization_options())
                    finally:
                        with CancelScope(shield=True):  # a client that has left cancels whatever is awaited
                            await service.close()
    except (OSError, ExceptionGroup) as error:
        if not _client_left(error):
            raise


def _client_left(error: BaseException) -> bool:
    """Whether nothing but a closed output is behind ``error``, which may be a group."""
    inner = getattr(error, "exceptions", ())
    return all(map(_client_left, inner)) if inner else isinstance(error, BrokenPipeError)


def http_endpoint(service: Service, max_body: int) -> tuple[StreamableHTTPSessionManager, StreamableHTTPASGIApp]:
    """The manager, to be run beside it, and the application for one path. The gate is before it, not in it."""
    from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

    manager = StreamableHTTPSessionManager(app=server(service), max_request_body_size=max_body, max_sessions=SESSIONS)
    return manager, StreamableHTTPASGIApp(manager)


_KEY = "result"


def _shown(text: str) -> str:
    """``text`` without what MCP has no form for: bytes of a file name that are no UTF-8. Addresses keep them."""
    return text.encode("utf-8", "replace").decode()


def _tool(method: Method) -> types.Tool:
    result = method.result
    if result["type"] == "array":
        result = {"type": "object", "properties": {_KEY: result}, "required": [_KEY]}
    schema: Schema = method.params
    if "detail" in schema["properties"]:
        detail = {**schema["properties"]["detail"], "default": _DETAIL}
        schema = {**schema, "properties": {**schema["properties"], "detail": detail}}
    return types.Tool(
        name=method.name, description=method.summary, input_schema=schema, output_schema=result,
        annotations=types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
    )  # fmt: skip


def _progress(ctx: ServerRequestContext[Any, Any]) -> Callable[[int, int, str], Awaitable[None]]:
    async def told(done: int, total: int, name: str) -> None:
        await ctx.session.report_progress(done, total, _shown(name))

    return told


async def _mapped(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except CallFailed as failed:
        raise MCPError(failed.code, _shown(failed.message), {"reason": failed.reason}) from None


def _cursor(offset: int) -> str:
    return base64.urlsafe_b64encode(str(offset).encode()).decode()


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        offset = int(base64.urlsafe_b64decode(cursor.encode()))
    except ValueError:
        offset = -1
    if offset < 0:
        raise MCPError(INVALID_PARAMS, "cursor: not one of ours.")
    return offset
