"""Many jobs under one engine: here, one after the other, or in worker processes, or in threads if need be."""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, replace
from itertools import islice
from threading import Event
from time import monotonic
from types import BuiltinFunctionType, FunctionType
from typing import Any

from omnichunk.errors import OptionError
from omnichunk.execution.engine import Engine, Job, calls_back, described, failure
from omnichunk.execution.pool import Pool, Reply, Unable
from omnichunk.execution.record import PROTOCOL, unpack
from omnichunk.execution.worker import DONE
from omnichunk.model.chunk import FileResult

TIMEOUT, MEMORY = 120.0, 2048
"""Seconds and megabytes of a job in a worker when the caller names none."""
HELD, HELD_BYTES = 4096, 1 << 26
"""Results, and bytes of them, that may wait for an earlier one before no further job is begun."""

Convert = Callable[[FileResult], Any]
Jobs = Iterable["Job | FileResult"]
"""What is to be done, and what is known without doing anything."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to run. ``concurrency``: jobs at once. ``timeout_s``, ``memory_mb``: most one may take, in a worker.

    ``as_completed``: results come when they are there instead of in the order of the jobs. ``convert``: called with each
    result where it was made; what it returns comes instead. Raises OptionError for a value that cannot work.
    """

    where: str
    concurrency: int = 1
    timeout_s: float | None = None
    memory_mb: int | None = None
    as_completed: bool = False
    convert: Convert | None = None

    def __post_init__(self) -> None:
        whole, number = (int,), (int, float)
        self._check("concurrency", whole, 1, "a whole number of at least 1")
        self._check("timeout_s", number, 1e-9, "a number of seconds above 0, or None,")
        self._check("memory_mb", whole, 1, "a whole number of at least 1, or None,")
        self._check("as_completed", (bool,), 0, "True or False")
        if self.convert is not None and not callable(self.convert):
            raise OptionError(f"{self.where}: convert={self.convert!r}; a callable, or None, is needed.")

    def _check(self, name: str, types: tuple[type, ...], least: float, needed: str) -> None:
        value = getattr(self, name)
        if not (value is None and needed.endswith("or None,")) and (type(value) not in types or not value >= least):
            raise OptionError(f"{self.where}: {name}={value!r}; {needed} is needed.")

    @property
    def isolated(self) -> bool:
        """Whether jobs run in workers: several at once do, and what has a limit does, since only a process has one."""
        return self.concurrency > 1 or self.timeout_s is not None or self.memory_mb is not None


def run(engine: Engine, jobs: Jobs, plan: Plan) -> Iterator[Any]:
    """A FileResult for each job, or what ``plan.convert`` makes of it, made when it is asked for.

    Closing the iterator ends all that runs. Without a way to hand the engine to another process jobs run in threads of
    this one, and each result says so. Raises OptionError for what would be wrong for every job; exceptions of the
    caller's own callables propagate, with the traceback of the worker as a note or cause.
    """
    if not plan.isolated:
        return _here(engine, jobs, plan)
    packed, reason = portable((engine, plan.convert))
    return _threads(engine, jobs, plan, reason) if reason else _workers(engine, jobs, plan, packed)


def _here(engine: Engine, jobs: Jobs, plan: Plan) -> Iterator[Any]:
    for job in jobs:
        yield _converted(engine.attempt(job) if isinstance(job, Job) else job, plan)


def _converted(result: FileResult, plan: Plan) -> Any:
    return result if plan.convert is None else plan.convert(result)


class _Pickler(pickle.Pickler):
    """Refuses what pickle would take and a worker could not find: whatever the caller's program defines."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, (type, FunctionType, BuiltinFunctionType)) and obj.__module__ in ("__main__", "__mp_main__"):
            raise pickle.PicklingError(
                f"{obj.__qualname__} is defined in the program itself, which workers do not import"
            )
        return NotImplemented


def portable(value: object) -> tuple[bytes, str]:
    """``value`` pickled for a worker, and why that cannot be, if so."""
    file = io.BytesIO()
    try:
        _Pickler(file, PROTOCOL).dump(value)
        pickle.loads(file.getvalue())
    except Exception as error:  # noqa: BLE001  pickling calls methods of whatever the caller passed
        return b"", " ".join(str(error).split())
    return file.getvalue(), ""


def _workers(engine: Engine, jobs: Jobs, plan: Plan, packed: bytes) -> Iterator[Any]:
    timeout = TIMEOUT if plan.timeout_s is None else min(plan.timeout_s, 1e9)
    pool = Pool(([*sys.path], timeout, plan.memory_mb or MEMORY, packed), plan.concurrency)
    line = _Line(_sendable(engine, jobs), plan.as_completed)
    try:
        while True:
            pool.feed(line.take)
            left = monotonic()
            for reply in line.ready():
                yield _value(reply, engine, plan)
            pool.away(monotonic() - left)
            if pool.busy:
                for reply in pool.turn():
                    line.put(reply)
            elif line.over:
                return
    except Unable as error:
        reason = str(error)
        for number, job in pool.blamed():
            line.put((number, job, reason))  # what has ended a worker would end this process
    finally:
        pool.close()
    yield from _threads(engine, line.rest(), plan, reason)


def _sendable(engine: Engine, jobs: Jobs) -> Iterator[Job | FileResult]:
    """``jobs``, where one whose own options cannot be sent to a worker is done here."""
    for job in jobs:
        if isinstance(job, Job) and job.options is not None and calls_back(job.options):
            reason = portable(job.options)[1]
            if reason:
                result = engine.attempt(job)
                note = f"ran in the calling process, without limits of time and memory: {reason}"
                yield replace(result, diagnostics=(*result.diagnostics, note))
                continue
        yield job


class _Line:
    """Jobs on their way: numbered when they are taken, results put in line by number."""

    def __init__(self, jobs: Jobs, as_completed: bool) -> None:
        self._jobs = enumerate(jobs)
        self._as_completed = as_completed
        self._held: dict[int, Reply | FileResult] = {}
        self._taken: dict[int, Job] = {}
        self._bytes = 0
        self._next = 0
        self.over = False

    def take(self) -> tuple[int, Job] | None:
        """The next job; ``None`` when there is none, or when too many results wait for an earlier one."""
        if len(self._held) >= HELD or self._bytes >= HELD_BYTES:
            return None
        for number, job in self._jobs:
            if isinstance(job, Job):
                self._taken[number] = job
                return number, job
            self._held[number] = job
            if len(self._held) >= HELD:
                return None
        self.over = True
        return None

    def put(self, reply: Reply) -> None:
        """A result has come."""
        number, _, answer = reply
        del self._taken[number]
        self._held[number] = reply
        self._bytes += len(answer)

    def ready(self) -> Iterator[Reply | FileResult]:
        """The results whose turn it is."""
        while self._held and (self._as_completed or self._next in self._held):
            reply = self._held.pop(next(iter(self._held)) if self._as_completed else self._next)
            self._next += 1
            if not isinstance(reply, FileResult):
                self._bytes -= len(reply[2])
            yield reply

    def rest(self) -> Iterator[Job | FileResult | Reply]:
        """What has been taken and not been told yet, in the order of numbers, and what follows."""
        for _, item in sorted([*self._taken.items(), *self._held.items()], key=lambda pair: pair[0]):
            yield item
        for _, item in self._jobs:
            yield item


def _value(reply: Reply | FileResult, engine: Engine, plan: Plan) -> Any:
    """The result a worker's answer holds. Raises what was raised there."""
    if isinstance(reply, FileResult):
        return _converted(reply, plan)
    _, job, answer = reply
    if isinstance(answer, str):
        return _converted(failure(job, answer), plan)
    try:
        value = pickle.loads(memoryview(answer)[1:])
    except Exception as odd:
        if plan.convert is not None:
            raise
        reason = f"{job.name}: its chunks cannot be read from the worker: {described(odd)}."
        return FileResult(job.name, (), reason, "failed", size=job.size)
    if answer[:1] != DONE:
        error, trace = value
        error.__cause__ = _Elsewhere(trace)
        raise error
    if plan.convert is not None:
        return value
    (filepath, error, outcome, diagnostics, seconds, size), record = value
    chunks = tuple(unpack(record, engine.registry))
    return FileResult(filepath, chunks, error, outcome, diagnostics, seconds, size)


class _Elsewhere(Exception):
    """The traceback in the worker; never raised, shown as the cause of what was."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def _threads(engine: Engine, jobs: Iterable[Job | FileResult | Reply], plan: Plan, reason: str) -> Iterator[Any]:
    """``plan.concurrency`` jobs at once in threads, which no limit can stop; each result says why."""
    note = f"ran in a thread, without limits of time and memory: {reason}"
    stop = Event()

    def perform(item: Job | FileResult | Reply) -> Any:
        if not isinstance(item, Job):
            return _value(item, engine, plan)
        result = engine.attempt(item, stop.is_set)
        return _converted(replace(result, diagnostics=(*result.diagnostics, note)), plan)

    executor = ThreadPoolExecutor(plan.concurrency)
    left = iter(jobs)
    running: list[Future[Any]] = []
    try:
        while True:
            running += [
                executor.submit(copy_context().run, perform, job)
                for job in islice(left, 2 * plan.concurrency - len(running))
            ]
            if not running:
                return
            if plan.as_completed:
                wait(running, return_when=FIRST_COMPLETED)
                running.sort(key=lambda future: not future.done())
            yield running.pop(0).result()
    finally:
        stop.set()
        executor.shutdown(wait=True, cancel_futures=True)
