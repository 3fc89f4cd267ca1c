"""The command line of the service: what it may be started with, and what not."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from importlib.util import find_spec
from typing import Annotated, NoReturn

import typer

from omnichunk import ChunkingError


def serve_command(
    allowed_root: Annotated[list[str], typer.Option(help="A folder whose files clients may have; repeat for more.")],
    rpc: Annotated[bool, typer.Option("--rpc", help="Speak JSON-RPC over HTTP.")] = False,
    mcp: Annotated[
        bool, typer.Option("--mcp", help="Speak MCP: over standard input and output, or see --http.")
    ] = False,
    http: Annotated[bool, typer.Option("--http", help="Speak MCP over HTTP, at /mcp; so it is with --rpc.")] = False,
    host: Annotated[str, typer.Option(help="Listen on this address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Listen on this port; 0 for any.")] = 3333,
    allowed_host: Annotated[list[str] | None, typer.Option(help="A further name clients may use, NAME[:PORT].")] = None,
    store: Annotated[str | None, typer.Option(help="Let clients search this store, a file or a URL.")] = None,
    collection: Annotated[str, typer.Option(help="The collection of the store.")] = "default",
    token_env: Annotated[str | None, typer.Option(help="Variable that holds the token clients need to show.")] = None,
    tls_cert: Annotated[str | None, typer.Option(help="Certificate chain, PEM.")] = None,
    tls_key: Annotated[str | None, typer.Option(help="Private key, PEM.")] = None,
    max_body_bytes: Annotated[int, typer.Option(min=1, help="Largest request.")] = 1 << 20,
    max_file_bytes: Annotated[int, typer.Option(min=1, help="Largest file that is read.")] = 32 << 20,
    max_answer_bytes: Annotated[int, typer.Option(min=1, help="Largest answer.")] = 64 << 20,
    max_calls: Annotated[int, typer.Option(min=1, help="Calls at once; one more is told to come again.")] = 100,
    max_connections: Annotated[int, typer.Option(min=1, help="Connections at once.")] = 512,
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes; as processors, at least 2.")] = None,
    worker_memory: Annotated[int, typer.Option(min=64, help="Megabytes a worker may add.")] = 2048,
    request_timeout: Annotated[
        float, typer.Option(min=0.1, max=86400, help="Seconds until a request has to be there.")
    ] = 10.0,
    file_timeout: Annotated[float, typer.Option(min=0.01, max=86400, help="Seconds a file may take.")] = 30.0,
    call_timeout: Annotated[float, typer.Option(min=0.01, max=86400, help="Seconds a call may take.")] = 300.0,
    shutdown_timeout: Annotated[
        float, typer.Option(min=0, max=86400, help="Seconds that calls may go on after a signal.")
    ] = 10.0,
    log_level: Annotated[str, typer.Option(help="info, warning or error.")] = "info",
) -> None:
    """Serve the files below folders to programs: JSON-RPC over HTTP (--rpc), or MCP (--mcp).

    Files outside of the roots are never read. Other addresses than those of this machine alone need --token-env. The log
    goes to standard error, a line of JSON an event.
    """
    from omnichunk.serve.gate import authority

    if not rpc and not mcp:
        _refuse("choose --rpc, --mcp or both")
    if log_level not in ("info", "warning", "error"):
        _refuse("--log-level: one of info, warning and error is needed")
    over_http = rpc or http
    for package in ("starlette", "uvicorn") if over_http else ():
        _need(package, "serve")
    if mcp:
        _need("mcp", "mcp")
    token = _token(token_env)
    if over_http and token is None and not _is_loopback(host):
        _refuse(f"--host {host} can be reached from other machines; name a token with --token-env")
    for name in allowed_host or ():
        if authority(name) is None:
            _refuse(f"--allowed-host {name}: a name or an address is needed, perhaps with a port")
    if (tls_cert is None) is not (tls_key is None):
        _refuse("--tls-cert and --tls-key are needed together")

    from omnichunk.serve.metrics import Log
    from omnichunk.serve.roots import Roots
    from omnichunk.serve.service import Service, processors
    from omnichunk.serve.workers import Limits

    try:
        roots = Roots(allowed_root)
    except ChunkingError as error:
        _refuse(str(error).replace("allowed_root", "--allowed-root"))
    limits = Limits(
        workers or max(2, processors()), max_calls, file_timeout, call_timeout, max_file_bytes, max_answer_bytes, worker_memory,
        os.path.abspath(store) if store and "://" not in store else store or "", collection,
    )  # fmt: skip
    log = Log(log_level)
    if not over_http:
        import asyncio
        import signal

        from omnichunk.serve.mcp import over_stdio

        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread that waits for input ends with the process alone
        asyncio.run(over_stdio(lambda: Service(roots, limits, log)))
        log.close()
        return

    from omnichunk.serve.http import Settings, listening, run

    settings = Settings(
        host, port, rpc, mcp, token, tuple(allowed_host or ()), max_body_bytes, request_timeout, max_connections,
        shutdown_timeout, tls_cert, tls_key,
    )  # fmt: skip
    try:
        bound = listening(settings)
    except OSError as error:
        _refuse(f"{host}:{port}: cannot be listened on: {error.strerror or error}")
    try:
        run(Service(roots, limits, log), settings, bound)
    except OSError as error:  # of the certificate
        _refuse(f"--tls-cert, --tls-key: {error.strerror or error}")
    finally:
        log.close()


def _refuse(why: str) -> NoReturn:
    sys.stderr.write(f"omnichunk serve: {why}.\n" if not why.endswith(".") else f"omnichunk serve: {why}\n")
    raise typer.Exit(2)


def _need(package: str, extra: str) -> None:
    if find_spec(package) is None:
        _refuse(f'needs {package}, which is not installed. Run: pip install "omnichunk[{extra}]"')


def _token(variable: str | None) -> str | None:
    if variable is None:
        return None
    token = os.environ.get(variable, "").strip()
    if not token:
        _refuse(f"--token-env: the variable {variable} is not set, or empty")
    return token


def _is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach what listens on ``host``, under all of its addresses."""
    try:
        found = {item[4][0] for item in socket.getaddrinfo(host.strip("[]"), None)} if host else set()
        return bool(found) and all(
            ipaddress.ip_address(str(address).partition("%")[0]).is_loopback for address in found
        )
    except (OSError, ValueError):
        return False
