"""Worker processes beside an event loop: each does one call at a time, and is killed when that is cut short."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from omnichunk.serve.methods import FAILED
from omnichunk.serve.roots import Roots
from omnichunk.serve.worker import LENGTH, READY, RESULT

START = 60.0
"""Seconds a worker may take to start."""
_CODE = "import sys; sys.path[:] = {path!r}; from omnichunk.serve.worker import main; main({setup!r})"


@dataclass(frozen=True)
class Limits:
    """What clients may use. Sizes are bytes, times seconds.

    ``calls``: calls at once, waiting ones included; one more is answered that the service is busy. ``file_timeout``:
    work on one file, ``call_timeout``: a whole call. ``answer_bytes``: of one answer. ``memory_mb``: megabytes a worker
    may add. ``store``: the database of the ``ChunkStore`` that may be searched, with ``collection``; empty for none.
    """

    workers: int = 2
    calls: int = 100
    file_timeout: float = 30.0
    call_timeout: float = 300.0
    file_bytes: int = 32 << 20
    answer_bytes: int = 64 << 20
    memory_mb: int = 2048
    store: str = ""
    collection: str = "default"


class CallFailed(Exception):
    """The error a client gets: ``code`` and message, and a ``reason`` of one word. ``log``: for the log alone."""

    def __init__(self, code: int, message: str, reason: str, log: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.reason, self.log = code, message, reason, log


class WorkerGone(Exception):
    """A worker ended before it had answered."""


class Worker:
    """One process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def started(cls, setup: str, handles: list[int]) -> Worker:
        """A process that is ready. Raises WorkerGone when it does not get so far."""
        command = [sys.executable, "-c", _CODE.format(path=sys.path, setup=setup)]
        pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        more: dict[str, Any] = {} if os.name == "nt" else {"pass_fds": handles, "start_new_session": True}
        try:
            process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=nowhere, **more)
        except OSError as error:  # no descriptors, no memory
            raise WorkerGone(f"{type(error).__name__}: {error.strerror}") from None
        worker = cls(process)
        try:
            answer = await asyncio.wait_for(worker._message(), START)
            if answer == READY:
                return worker
            reason = answer[1:].decode("utf-8", "replace")
        except asyncio.TimeoutError:
            reason = f"not ready after {START:g} seconds"
        except WorkerGone as gone:
            reason = str(gone)
        except BaseException:
            worker.kill()
            await worker.ended()
            raise
        worker.kill()
        await worker.ended()
        raise WorkerGone(reason)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process.returncode is None

    async def ask(self, message: bytes) -> bytes:
        """The answer to ``message``. Raises WorkerGone when there will be none."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(LENGTH.pack(len(message)) + message)
            await self.process.stdin.drain()
            return await self._message()
        except ConnectionError:
            raise WorkerGone("it ended before it was asked") from None

    async def _message(self) -> bytes:
        assert self.process.stdout is not None
        try:
            head = await self.process.stdout.readexactly(LENGTH.size)
            return await self.process.stdout.readexactly(LENGTH.unpack(head)[0])
        except (asyncio.IncompleteReadError, ConnectionError):
            raise WorkerGone("it ended before it had answered") from None

    def kill(self) -> None:
        """End the process at once."""
        with suppress(ProcessLookupError):
            self.process.kill()

    async def ended(self) -> None:
        """Wait until the process is gone, and let go of its pipes: their end is told by events a closing loop misses."""
        await self.process.wait()
        self.process._transport.close()  # type: ignore[attr-defined]


class Workers:
    """Up to ``limits.workers`` workers, started when there is work for them and kept. ``close`` at the end.

    ``lost(reason)`` is called for every one that had to be replaced: ``deadline``, ``cancelled``, ``crashed``.
    """

    def __init__(self, roots: Roots, limits: Limits, lost: Callable[[str], object]) -> None:
        self.size = limits.workers
        self._handles = roots.handles
        self._setup = json.dumps(
            {
                "folders": roots.folders,
                "handles": roots.handles,
                "max_file_bytes": limits.file_bytes,
                "memory_mb": limits.memory_mb,
                "store": limits.store,
                "collection": limits.collection,
            }
        )
        self._lost = lost
        self._slots = asyncio.Semaphore(self.size)
        self._free: list[Worker] = []
        self._all: set[Worker] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def alive(self) -> int:
        """Processes that run."""
        return sum(worker.alive for worker in self._all)

    async def start(self) -> None:
        """Start the first worker, so that the first call does not wait for it. Raises WorkerGone when it cannot be."""
        async with self._slots:
            self._free.append(await self._worker())

    async def call(self, method: str, params: dict[str, Any], seconds: float) -> bytes:
        """The result of a method, as JSON. The worker is killed after ``seconds``, and when this is cancelled.

        Raises CallFailed for what the method raised, a deadline, and a worker that crashed.
        """
        message = json.dumps({"method": method, "params": params, "seconds": seconds}).encode()
        async with self._slots:
            try:
                worker = await self._worker()
            except WorkerGone as gone:
                told = "No worker can be started; the service cannot answer now."
                raise CallFailed(FAILED, told, "workers", str(gone)) from None
            answer = await self._answer(worker, message, seconds)
        if answer[:1].upper() == RESULT:
            return answer[1:]
        raise CallFailed(**json.loads(answer[1:]))

    async def _worker(self) -> Worker:
        while self._free:
            worker = self._free.pop()
            if worker.alive:
                return worker
            self._end(worker)
        if self._closed:
            raise WorkerGone("the service is shutting down")
        worker = await Worker.started(self._setup, self._handles)
        self._all.add(worker)
        return worker

    async def _answer(self, worker: Worker, message: bytes, seconds: float) -> bytes:
        asking = asyncio.ensure_future(worker.ask(message))
        reason = "cancelled"
        try:
            await asyncio.wait({asking}, timeout=seconds)
            reason = "deadline"
            if asking.done():
                reason = "crashed"
                answer = asking.result()
                reason = ""
                if answer[:1].islower():  # it has ended by itself
                    self._end(worker)
                else:
                    self._free.append(worker)
                return answer
            raise CallFailed(FAILED, f"It took longer than {seconds:g} seconds and was stopped.", "deadline")
        except WorkerGone:
            raise CallFailed(FAILED, "The process that worked on it crashed, and was replaced.", "crashed") from None
        finally:
            if reason:
                self._end(worker)
                asking.cancel()
                with suppress(asyncio.CancelledError, WorkerGone):
                    await asyncio.shield(asyncio.gather(asking, return_exceptions=True))
                self._lost(reason)

    def _end(self, worker: Worker) -> None:
        """Kill a worker, and see that the system can forget it."""
        worker.kill()
        self._all.discard(worker)
        waiting = asyncio.ensure_future(worker.ended())
        self._ending.add(waiting)
        waiting.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """End all workers."""
        self._closed = True
        self._free.clear()
        for worker in [*self._all]:
            self._end(worker)
        await asyncio.gather(*self._ending)
