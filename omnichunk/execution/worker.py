"""The other side of ``pool``: what a worker process does. It never sees the program it works for.

A message is its length in 8 bytes and that many more. First comes the setup, then jobs; every job gets one answer, whose
first byte says what it is.
"""

from __future__ import annotations

import os
import pickle
import socket
import struct
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnichunk.execution.engine import Engine, Job
    from omnichunk.model.chunk import FileResult

LENGTH = struct.Struct(">Q")
READY, UNABLE, DONE, RAISED, BROKEN = b"R", b"U", b"D", b"X", b"B"
GRACE = 1.0
"""Seconds after its deadline when a worker ends itself, should nobody be left to end it."""

Setup = tuple[list[str], float, int, bytes]
"""``sys.path``, seconds a job may take, megabytes it may add, and the pickled engine with its conversion."""


def main(handle: int | None = None) -> None:
    """Serve the socket with the descriptor ``handle`` (else the one shared through standard input) until it closes."""
    if sys.platform == "win32":
        channel = socket.fromshare(sys.stdin.buffer.read())
    else:
        channel = socket.socket(fileno=handle)
    with channel:
        message = receive(channel)
        if message is None:
            return
        path, seconds, megabytes, packed = pickle.loads(message)
        sys.path[:] = path
        try:
            engine, convert = pickle.loads(packed)
            engine.disposable = True
            _limit_memory(megabytes)
        except BaseException as error:  # noqa: BLE001  whatever it is, the other side has to know
            send(channel, UNABLE + f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
            return
        send(channel, READY)
        _serve(channel, engine, convert, seconds)


def _serve(channel: socket.socket, engine: Engine, convert: Any, seconds: float) -> None:
    import faulthandler
    import gc

    gc.collect()
    gc.freeze()
    with open(os.devnull, "w") as nowhere:
        while True:
            try:
                message = receive(channel)
                if message is None:
                    return
                job = pickle.loads(message)
            except MemoryError:
                send(channel, BROKEN)
                return
            if seconds < 1e9:
                faulthandler.dump_traceback_later(seconds + GRACE, exit=True, file=nowhere)
            answer = _answer(engine, convert, job)
            faulthandler.cancel_dump_traceback_later()
            send(channel, answer)
            if answer == BROKEN:
                return  # what memory is left is in pieces


def _answer(engine: Engine, convert: Any, job: Job) -> bytes:
    from omnichunk.execution.record import PROTOCOL

    try:
        result = engine.attempt(job)
        return DONE + (_packed(result) if convert is None else pickle.dumps(convert(result), PROTOCOL))
    except MemoryError:
        return BROKEN
    except BaseException as error:  # noqa: BLE001  it belongs to the consumer
        return RAISED + _pickled(error)


def _packed(result: FileResult) -> bytes:
    """``result`` for the other side; one that cannot be sent, since a plugin put in what stays here, has failed."""
    from omnichunk.execution.record import PROTOCOL, pack

    name, known = result.filepath, (result.diagnostics, result.seconds, result.size)
    try:
        return pickle.dumps(((name, result.error, result.outcome, *known), pack(result.chunks)), PROTOCOL)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  pickling calls methods of foreign values
        reason = (
            f"{name}: its chunks cannot be sent from the worker: {type(error).__name__}: {error}. "
            "The metadata of a loader should be plain values."
        )
        return pickle.dumps(((name, reason, "failed", *known), ()), PROTOCOL)


def _pickled(error: BaseException) -> bytes:
    """The exception with its traceback as text; one that cannot be pickled by what it says."""
    from traceback import format_exception

    trace = "".join(format_exception(error))
    try:
        packed = pickle.dumps((error, trace))
        pickle.loads(packed)
    except Exception:  # noqa: BLE001  pickling calls methods of foreign exceptions
        packed = pickle.dumps((RuntimeError(f"{type(error).__name__}: {error}"), trace))
    return packed


def send(channel: socket.socket, message: bytes) -> None:
    """Send one message. Raises OSError when the other side is gone."""
    channel.sendall(LENGTH.pack(len(message)))
    channel.sendall(message)


def receive(channel: socket.socket) -> bytes | None:
    """The next message, or ``None`` when the other side is gone."""
    head = _exactly(channel, LENGTH.size)
    return None if head is None else _exactly(channel, LENGTH.unpack(head)[0])


def _exactly(channel: socket.socket, size: int) -> bytes | None:
    parts = []
    while size:
        try:
            part = channel.recv(min(size, 1 << 20))
        except OSError:
            return None
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _limit_memory(megabytes: int) -> None:
    """Let this process grow by ``megabytes`` at most, where the system enforces such a limit (Linux does)."""
    try:
        import resource
    except ImportError:
        return
    used = 0
    kind = resource.RLIMIT_AS
    if sys.platform == "linux":
        kind = resource.RLIMIT_DATA
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            used = next((int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:")), 0)
    _, most = resource.getrlimit(kind)
    wanted = min(used + megabytes * (1 << 20), sys.maxsize)
    if most == resource.RLIM_INFINITY or wanted < most:
        resource.setrlimit(kind, (wanted, most))
