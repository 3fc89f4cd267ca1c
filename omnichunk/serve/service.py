"""Calls of the methods: checked, limited, spread over workers, cut at their deadline, counted and logged."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from time import perf_counter
from typing import Any

from omnichunk import OptionError
from omnichunk.serve.methods import (
    FAILED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    WENT_WRONG,
    Method,
    Table,
    row_of,
)
from omnichunk.serve.metrics import Log, Metrics
from omnichunk.serve.roots import Roots
from omnichunk.serve.schema import check
from omnichunk.serve.worker import place
from omnichunk.serve.workers import CallFailed, Limits, WorkerGone, Workers

Progress = Callable[[int, int, str], Awaitable[None]]
"""Told of files done, files in all, and the last one."""
BUSY = "busy"


class Service:
    """The methods for clients, over ``roots``. An asynchronous context: workers run while it is entered."""

    def __init__(self, roots: Roots, limits: Limits, log: Log, metrics: Metrics | None = None) -> None:
        self.table = Table(bool(limits.store))
        self.roots = roots
        self.limits = limits
        self.log = log
        self.metrics = metrics or Metrics()
        self.running = 0
        self._workers: Workers | None = None
        self.metrics.gauges |= {"calls_running": lambda: self.running, "workers_running": lambda: self.alive}

    async def __aenter__(self) -> Service:
        self._workers = Workers(self.roots, self.limits, self._lost)
        try:
            await self._workers.start()
        except WorkerGone as gone:
            self.log.event("worker does not start", "error", raised=str(gone))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the workers, once."""
        if self._workers is not None:
            await self._workers.close()
            self._workers = None

    @property
    def alive(self) -> int:
        """Worker processes that run."""
        return self._workers.alive if self._workers is not None else 0

    async def call(self, name: str, params: dict[str, Any], progress: Progress | None = None) -> bytes:
        """The result of a method as JSON; raises CallFailed. Cancelling it ends the work."""
        started, outcome, log = perf_counter(), "cancelled", ""
        known = name in self.table and not self.table[name].hidden
        try:
            if not known:
                names = ", ".join(method.name for method in self.table.public)
                raise CallFailed(METHOD_NOT_FOUND, f"There is no such method; there are {names}.", "method")
            result = await self._mapped(self.table[name], params, progress)
            outcome = "ok"
            return result
        except CallFailed as failed:
            outcome, log = failed.reason, failed.log
            raise
        finally:
            seconds = perf_counter() - started
            self.metrics.call(name if known else "unknown", outcome, seconds)
            more = {"path": str(params["path"])[:200]} if isinstance(params.get("path"), str) else {}
            level = "error" if outcome in ("internal", "crashed", "workers") else "info"
            self.log.event("call", level, method=name if known else "unknown", outcome=outcome,
                           ms=round(seconds * 1000, 1), **more, **({"raised": log} if log else {}))  # fmt: skip

    async def internal(self, name: str, params: dict[str, Any]) -> Any:
        """The result of a hidden method, of plain values; raises CallFailed."""
        return json.loads(await self._mapped(self.table[name], params, None))

    async def _mapped(self, method: Method, params: dict[str, Any], progress: Progress | None) -> bytes:
        try:
            check(method.name, params, method.params)
            return await self._limited(method, params, progress)
        except OptionError as error:
            raise CallFailed(INVALID_PARAMS, str(error), "option") from None
        except CallFailed:
            raise
        except Exception as error:  # noqa: BLE001  no client may see the text of an exception that nobody expects
            raise CallFailed(INTERNAL_ERROR, WENT_WRONG, "internal", place(error)) from None

    async def _limited(self, method: Method, params: dict[str, Any], progress: Progress | None) -> bytes:
        if self.running >= self.limits.calls:
            raise CallFailed(FAILED, "The service is busy. Try again in a second.", BUSY)
        self.running += 1
        try:
            return await asyncio.wait_for(self._done(method, params, progress), self.limits.call_timeout)
        except asyncio.TimeoutError:
            told = f"It took longer than {self.limits.call_timeout:g} seconds and was stopped."
            raise CallFailed(FAILED, told, "deadline") from None
        finally:
            self.running -= 1

    async def _done(self, method: Method, params: dict[str, Any], progress: Progress | None) -> bytes:
        result = await self._at_worker(method.name, params)
        if method.each:
            shared = {name: value for name, value in params.items() if name not in _OF_FOLDER}
            found = json.loads(result)
            parts: list[bytes] = []
            total = 0
            async with aclosing(self._spread(method.each, found, shared, params.get("concurrency", 1))) as rows:
                async for number, row in rows:
                    parts.append(row)
                    total += len(row) + 1
                    self._check_size(total, f" {number} of {len(found)} files")
                    if progress is not None:
                        await progress(number, len(found), _name(found[number - 1]))
            result = b"[" + b",".join(parts) + b"]"
        self._check_size(len(result), "")
        return result

    def _check_size(self, size: int, of: str) -> None:
        if size > self.limits.answer_bytes:
            told = f"The answer{' for' + of if of else ''} would be larger than {self.limits.answer_bytes:,} bytes. "
            raise CallFailed(FAILED, told + 'Ask for less: a narrower glob, or detail="brief".', "size")

    async def _spread(
        self, method: str, found: list[Any], shared: dict[str, Any], concurrency: int
    ) -> AsyncGenerator[tuple[int, bytes], None]:
        """The rows in their order, each with how many there are now; ``concurrency`` files at once.

        ``found``: names of files, and rows that are known already.
        """
        ahead = min(concurrency, self.limits.workers)
        running: list[asyncio.Task[bytes]] = []
        waiting = iter(found)
        try:
            for number in range(1, len(found) + 1):
                while len(running) < ahead and (one := next(waiting, None)) is not None:
                    running.append(asyncio.ensure_future(self._row(method, one, shared)))
                yield number, await running[0]
                running.pop(0)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _row(self, method: str, one: Any, shared: dict[str, Any]) -> bytes:
        """The row of a file; a worker that was lost over it costs only the file."""
        if isinstance(one, dict):
            return json.dumps(one).encode()
        try:
            return await self._at_worker(method, {"path": one, **shared})
        except CallFailed as failed:
            if failed.code not in (FAILED, INTERNAL_ERROR):
                raise
            return json.dumps(row_of(one, "failed", failed.message)).encode()

    async def _at_worker(self, method: str, params: dict[str, Any]) -> bytes:
        if self._workers is None:
            raise CallFailed(FAILED, "The service is shutting down.", BUSY)
        return await self._workers.call(method, params, self.limits.file_timeout)

    def _lost(self, reason: str) -> None:
        self.metrics.lost(reason)
        self.log.event("worker lost", "warning", reason=reason)


_OF_FOLDER = ("path", "glob", "exclude", "include_hidden", "concurrency")


def _name(one: Any) -> str:
    return str(one["filepath"] if isinstance(one, dict) else one)


def processors() -> int:
    """Processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
