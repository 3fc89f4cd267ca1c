"""Worker processes that may crash, hang or vanish: each costs the one source it was at, and is replaced.

Every worker has a socket of its own, so nothing it does in its last moment can reach another one (with one pipe and one
lock for all, a worker killed while it sends stops the others). There are no threads: the process that reads the results
looks after deadlines while it waits for them. Workers are fresh interpreters that import nothing of the caller's
program; what they need is pickled.
"""

from __future__ import annotations

import pickle
import selectors
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from time import monotonic

from omnichunk.errors import ChunkingError
from omnichunk.execution.engine import Job
from omnichunk.execution.worker import BROKEN, LENGTH, READY, UNABLE, Setup

AHEAD, AHEAD_BYTES = 16, 1 << 18
"""Jobs, and bytes of sources, that wait at a worker for their turn."""
START = 60.0
"""Seconds a worker may take to start."""
STARTS = 3
"""Workers in a row that may die before they are ready."""
_CODE = "import sys; sys.path[:] = {path!r}; from omnichunk.execution.worker import main; main({handle})"

Reply = tuple[int, Job, "bytes | str"]
"""Number and job with the worker's answer, or with the reason why there will be none."""


class Unable(ChunkingError):
    """Workers cannot be started, or not with this configuration."""


class _Worker:
    """One process, its end of the socket, and the jobs it has not answered, the one it is at first."""

    def __init__(self, setup: bytes) -> None:
        if not sys.executable or getattr(sys, "frozen", False):
            raise Unable("this program has no Python interpreter that workers could run in")
        self.socket, theirs = socket.socketpair()
        quiet = subprocess.DEVNULL
        try:
            with theirs:
                if sys.platform == "win32":
                    command = [sys.executable, "-c", _CODE.format(path=sys.path, handle="")]
                    self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
                    assert self.process.stdin is not None
                    with self.process.stdin as pipe:
                        pipe.write(theirs.share(self.process.pid))
                else:
                    handle = theirs.fileno()
                    command = [sys.executable, "-c", _CODE.format(path=sys.path, handle=handle)]
                    # A session of its own: Ctrl-C is for the process that started it, which ends it.
                    self.process = subprocess.Popen(
                        command, stdin=quiet, stdout=quiet, stderr=quiet, pass_fds=(handle,), start_new_session=True
                    )
        except OSError as error:
            self.socket.close()
            raise Unable(f"a worker cannot be started: {error.strerror or error}") from error
        self.socket.setblocking(False)
        self.jobs: deque[tuple[int, Job]] = deque()
        self.ahead = 0
        self.unsent: deque[tuple[bytes, int]] = deque()
        """Messages, and how much of each has been sent."""
        self.buffer = bytearray()
        self.ready = False
        self.since = monotonic()
        self.send(setup)

    def send(self, message: bytes) -> None:
        """Send a message after those before it, as far as the worker takes it now; ``push`` sends the rest."""
        self.unsent.append((LENGTH.pack(len(message)) + message, 0))
        self.push()

    def push(self) -> None:
        """Send what can be sent without waiting. That a worker is gone is found out when it is read from."""
        try:
            while self.unsent:
                message, sent = self.unsent[0]
                sent += self.socket.send(memoryview(message)[sent:])
                self.unsent[0] = message, sent
                if sent == len(message):
                    self.unsent.popleft()
        except OSError:
            return

    def give(self, number: int, job: Job) -> None:
        """Send a job."""
        if not self.jobs:
            self.since = monotonic()
        self.jobs.append((number, job))
        self.ahead += job.size
        self.send(pickle.dumps(job))

    @property
    def blameless(self) -> bool:
        """Whether the worker has seen nothing of its first job."""
        behind = len(self.unsent) - len(self.jobs)
        return behind > 0 or (behind == 0 and not self.unsent[0][1])

    def receive(self) -> bool:
        """Read what has come; whether the worker is still there."""
        try:
            part = self.socket.recv(1 << 20)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.buffer += part
        return bool(part)

    def message(self) -> bytes | None:
        """The next message that has come as a whole."""
        if len(self.buffer) < LENGTH.size:
            return None
        end = LENGTH.size + LENGTH.unpack_from(self.buffer)[0]
        if len(self.buffer) < end:
            return None
        with memoryview(self.buffer) as view:
            message = bytes(view[LENGTH.size : end])
        del self.buffer[:end]
        return message

    def end(self) -> int:
        """End the process, if it has not ended; its status."""
        self.process.kill()
        self.socket.close()
        status: int = self.process.wait()
        return status


class Pool:
    """Up to ``size`` workers, started when there is work for them. ``feed`` and ``turn`` alternate; ``close`` at the end.

    ``timeout``: seconds a job may take. Raises Unable when no worker can be made to work.
    """

    def __init__(self, setup: Setup, size: int) -> None:
        self._setup = pickle.dumps(setup)
        self._size = size
        self._timeout = setup[1]
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()
        self._waiting: deque[tuple[int, Job]] = deque()
        self._again: deque[tuple[int, Job]] = deque()
        self._failed_starts = 0

    @property
    def busy(self) -> bool:
        """Whether some job has not been answered."""
        return bool(self._waiting or self._again or any(worker.jobs for worker in self._workers))

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()
        self._selector.close()

    def blamed(self) -> list[tuple[int, Job]]:
        """The jobs that have cost a worker and are not answered yet."""
        at = [job for worker in self._workers for job in worker.jobs]
        return [(number, job) for number, job in (*self._again, *at) if job.plain]

    def feed(self, take: Callable[[], tuple[int, Job] | None]) -> None:
        """Give the workers what they can do, what has to be done again first; ``take()`` gives a job, or ``None``."""
        while self._again and len(self._workers) < self._size:
            if not self._start():
                if any(worker.jobs for worker in self._workers):
                    break
                self._end(self._workers[0])  # to make room
                continue
            self._workers[-1].give(*self._again.popleft())
        most = self._size
        while True:
            free = [worker for worker in self._workers if self._takes(worker)]
            more = len(self._workers) < most
            if not free and not more:
                return
            following = self._waiting.popleft() if self._waiting else take()
            if following is None:
                return
            worker = min(free, key=lambda worker: len(worker.jobs), default=None)
            if more and (worker is None or worker.jobs):
                if self._start():
                    worker = self._workers[-1]
                else:
                    most = len(self._workers)
            if worker is None:
                self._waiting.appendleft(following)
                return
            worker.give(*following)

    def _takes(self, worker: _Worker) -> bool:
        return not worker.jobs or (len(worker.jobs) < AHEAD and worker.ahead < AHEAD_BYTES)

    def _start(self) -> bool:
        """Start one more worker; false where the system allows no more than there are."""
        try:
            worker = _Worker(self._setup)
        except Unable:
            if not self._workers:
                raise
            return False
        self._workers.append(worker)
        self._selector.register(worker.socket, selectors.EVENT_READ, worker)
        return True

    def _end(self, worker: _Worker) -> int:
        self._workers.remove(worker)
        self._selector.unregister(worker.socket)
        return worker.end()

    def turn(self) -> list[Reply]:
        """Wait until a worker has answered or has gone, or its time is over; all the answers there are."""
        replies: list[Reply] = []
        ends = [worker.since + self._limit(worker) for worker in self._workers if worker.jobs]
        wait = max(0.0, min(ends) - monotonic()) if ends else 0.0
        for worker in self._workers:
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.unsent else 0)
            if self._selector.get_key(worker.socket).events != events:
                self._selector.modify(worker.socket, events, worker)
        for key, _ in self._selector.select(min(wait, 3600.0)):
            worker = key.data
            worker.push()
            there = worker.receive()
            while (message := worker.message()) is not None:
                replies += self._told(worker, message)
            if not there:
                replies += self._gone(worker)
        now = monotonic()
        for worker in [w for w in self._workers if w.jobs and now >= w.since + self._limit(w)]:
            replies += self._gone(worker, f"it took longer than {self._limit(worker):g} seconds")
        return replies

    def away(self, seconds: float) -> None:
        """The caller was busy for so long; a worker with much to tell had to wait for it."""
        for worker in self._workers:
            worker.since += seconds

    def _limit(self, worker: _Worker) -> float:
        return self._timeout if worker.ready else START

    def _told(self, worker: _Worker, message: bytes) -> list[Reply]:
        kind = message[:1]
        worker.since = monotonic()
        if kind == READY:
            worker.ready = True
            self._failed_starts = 0
            return []
        if kind == UNABLE:
            raise Unable(message[1:].decode("utf-8", "replace"))
        number, job = worker.jobs[0]
        if kind == BROKEN:
            return self._gone(worker, "it needs more memory than it may have")
        worker.jobs.popleft()
        worker.ahead -= job.size
        return [(number, job, message)]

    def _gone(self, worker: _Worker, reason: str = "") -> list[Reply]:
        """Bury ``worker``; the job it was at is done again without structure, or given up, the others are dealt anew."""
        if worker not in self._workers:
            return []
        status = self._end(worker)
        jobs = worker.jobs
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= STARTS:
                raise Unable(f"workers do not start: {reason or _ended(status)}")
        at = jobs.popleft() if jobs and worker.ready and not worker.blameless else None
        self._waiting.extendleft(reversed(jobs))
        if at is None:
            return []
        number, job = at
        reason = reason or _ended(status)
        if job.plain:
            return [(number, job, reason)]
        self._again.append((number, replace(job, plain=reason)))
        return []


def _ended(status: int) -> str:
    if status >= 0:
        return f"its worker ended with status {status}"
    with suppress(ValueError):
        name = signal.Signals(-status).name
        return f"its worker was killed ({name})" if name in ("SIGKILL", "SIGTERM") else f"its worker crashed ({name})"
    return f"its worker was ended by signal {-status}"
