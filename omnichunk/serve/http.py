"""The service over HTTP: an application of the gate, the endpoints and the answers, and the server that runs it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from omnichunk import __version__
from omnichunk.serve import metrics, rpc
from omnichunk.serve.gate import LOOPBACK, Gate, Refusal, error_body
from omnichunk.serve.methods import INTERNAL_ERROR, WENT_WRONG
from omnichunk.serve.protocol import HEAD, Protocol
from omnichunk.serve.service import Service

JSON = "application/json"
GONE = 499
"""The status that is counted for clients that left; nobody reads it."""


@dataclass(frozen=True)
class Settings:
    """How to listen. ``rpc``, ``mcp``: what is spoken. Times are seconds, sizes bytes; see ``omnichunk serve --help``."""

    host: str = "127.0.0.1"
    port: int = 3333
    rpc: bool = True
    mcp: bool = False
    token: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    max_body: int = 1 << 20
    request_timeout: float = 10.0
    max_connections: int = 512
    grace: float = 10.0
    tls_cert: str | None = None
    tls_key: str | None = None
    endpoints: dict[str, tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        endpoints: dict[str, tuple[str, ...]] = {}
        if self.rpc:
            endpoints |= {"/": ("POST",), "/rpc": ("POST",), "/openrpc.json": ("GET", "HEAD")}
        if self.mcp:
            endpoints |= {"/mcp": ("GET", "POST", "DELETE")}
        watched = dict.fromkeys(("/health", "/healthz", "/metrics"), ("GET", "HEAD"))
        object.__setattr__(self, "endpoints", endpoints | watched)

    def url(self, port: int) -> str:
        """Where a service with these settings is, that listens on ``port``."""
        host = f"[{self.host}]" if ":" in self.host and not self.host.startswith("[") else self.host
        return f"{'https' if self.tls_cert else 'http'}://{host}:{port}"

    def gate(self, port: int) -> Gate:
        """The gate of a service that listens on ``port``."""
        token = None if self.token is None else self.token.encode()
        anywhere = self.host in ("", "0.0.0.0", "::")
        own = tuple(dict.fromkeys((*LOOPBACK, self.host.strip("[]").lower())))
        return Gate(port, self.endpoints, self.max_body, token, self.allowed_hosts, own, anywhere, bool(self.tls_cert))


def application(service: Service, settings: Settings, gate: Gate) -> Starlette:
    """The application. It starts and ends the workers of ``service``."""

    async def call(request: Request) -> Response:
        try:
            body = await _timely(request, settings.request_timeout)
        except asyncio.TimeoutError:
            told = f"The request did not arrive within {settings.request_timeout:g} seconds."
            return _refused(Refusal(408, told))
        except ClientDisconnect:
            return Response(status_code=GONE)
        answer = await _while_connected(request, rpc.answer(service, body))
        if answer is None:
            return Response(status_code=GONE)
        headers = {} if answer.retry_after is None else {"retry-after": str(answer.retry_after)}
        return Response(answer.body or None, answer.status, headers, JSON if answer.body else None)

    async def health(request: Request) -> Response:
        state = {"status": "ok", "version": __version__, "workers": service.alive, "running": service.running}
        return JSONResponse(state)

    async def numbers(request: Request) -> Response:
        return Response(service.metrics.text(), media_type=metrics.CONTENT_TYPE)

    async def openrpc(request: Request) -> Response:
        return JSONResponse(rpc.description(service.table))

    async def failed(request: Request, error: Exception) -> Response:
        service.log.event("failure", "error", raised=type(error).__name__)
        return Response(error_body(INTERNAL_ERROR, WENT_WRONG), 500, media_type=JSON)

    routes = [Route("/health", health), Route("/healthz", health), Route("/metrics", numbers)]
    if settings.rpc:
        routes += [Route(path, call, methods=["POST"]) for path in ("/", "/rpc")] + [Route("/openrpc.json", openrpc)]
    manager = None
    if settings.mcp:
        from omnichunk.serve.mcp import http_endpoint

        manager, endpoint = http_endpoint(service, settings.max_body)
        routes.append(Route("/mcp", _InTime(endpoint, settings.request_timeout)))

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(service)
            if manager is not None:
                await stack.enter_async_context(manager.run())
            service.log.event("listening", url=settings.url(gate.port), endpoints=list(settings.endpoints))
            yield

    return Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={Exception: failed},
        middleware=[Middleware(_Door, gate=gate, service=service)],
    )  # fmt: skip


def _refused(refusal: Refusal) -> Response:
    return Response(refusal.body, refusal.status, {**dict(refusal.headers), "connection": "close"}, JSON)


class _Door:
    """Applies the gate to every request, and counts what is answered."""

    def __init__(self, app: ASGIApp, gate: Gate, service: Service) -> None:
        self._app, self._gate, self._service = app, gate, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._service.metrics.request(message["status"])
            await send(message)

        target = scope["raw_path"].decode("latin-1")
        refusal = self._gate.refusal(scope["method"], target, scope["headers"], (scope["server"] or ("",))[0])
        if refusal is not None:
            self._service.log.event("refused", status=refusal.status)
        await (self._app if refusal is None else _refused(refusal))(scope, receive, counted)


def _left(scope: Scope, seconds: float) -> float:
    """Seconds until a request has to be there as a whole; the connection knows when it began."""
    until = scope.get("state", {}).get("until")
    return seconds if until is None else max(0.001, float(until) - asyncio.get_running_loop().time())


async def _timely(request: Request, seconds: float) -> bytes:
    return await asyncio.wait_for(request.body(), _left(request.scope, seconds))


async def _while_connected(request: Request, work: Awaitable[rpc.Answer]) -> rpc.Answer | None:
    """What ``work`` gives; it is cancelled when the client leaves, and there is nothing."""
    doing = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return doing.result() if doing.done() else None
    finally:
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)


class _InTime:
    """An application whose requests have to be there within their time."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self._app, self._seconds = app, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        whole = False

        async def timely() -> Message:
            nonlocal whole
            if whole:
                return await receive()
            message = await asyncio.wait_for(receive(), _left(scope, self._seconds))
            whole = not message.get("more_body", False)
            return message

        try:
            await self._app(scope, timely, send)
        except asyncio.TimeoutError:
            await _refused(Refusal(408, "The request did not arrive in time."))(scope, receive, send)


# The server


def listening(settings: Settings) -> socket.socket:
    """A socket that listens; who connects waits until the service runs. Raises OSError."""
    host = settings.host.strip("[]")
    family = socket.getaddrinfo(host, settings.port, type=socket.SOCK_STREAM)[0][0]
    bound = socket.socket(
        family, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # named, else asyncio leaves Nagle on: 40 ms a call
    try:
        if sys.platform != "win32":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, settings.port))
        bound.listen(1024)
    except OSError:
        bound.close()
        raise
    return bound


class _Server(uvicorn.Server):
    """Ends well on a signal, instead of raising it again afterwards."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals():
            yield
            self._captured_signals.clear()


class _Forwarded(logging.Handler):
    """Takes what libraries log, without texts of exceptions and without tracebacks."""

    def __init__(self, tell: Callable[..., None]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        raised = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        more: dict[str, Any] = {"raised": raised} if raised else {}
        self._tell("library", "warning", logger=record.name, at=f"{record.filename}:{record.lineno}", **more)


def forward_logs(service: Service) -> None:
    """Let the libraries below log through the service's log alone."""
    root = logging.getLogger()
    root.handlers[:] = [_Forwarded(service.log.event)]
    root.setLevel(logging.WARNING)


def run(service: Service, settings: Settings, bound: socket.socket) -> None:
    """Serve on ``bound`` until a signal comes; then no request is taken any more, and those that run may end."""
    port = bound.getsockname()[1]
    gate = settings.gate(port)
    forward_logs(service)
    config = uvicorn.Config(
        application(service, settings, gate),
        http=Protocol.configured(gate, settings.request_timeout, settings.max_connections),
        loop="asyncio",
        ws="none", log_config=None, access_log=False, server_header=False, proxy_headers=False, lifespan="on",
        h11_max_incomplete_event_size=HEAD, timeout_keep_alive=15,
        timeout_graceful_shutdown=max(1, round(settings.grace)),
        ssl_certfile=settings.tls_cert, ssl_keyfile=settings.tls_key,
    )  # fmt: skip
    _Server(config).run(sockets=[bound])
    service.log.event("ended")
