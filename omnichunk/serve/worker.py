"""What a worker process does: one call after the other, until its standard input ends or it is killed.

A call is JSON: ``{"method": …, "params": …, "seconds": …}``. The answer is ``R`` and the result as JSON, or ``E`` and the
error, ``{"code", "message", "reason", "log"}``; a small letter says that it is the last one, since the process has grown
and another should take its place. Both are preceded by their length in 8 bytes. Whatever else the process prints goes
nowhere.
"""

from __future__ import annotations

import json
import math
import os
import struct
import sys
from typing import Any, BinaryIO

LENGTH = struct.Struct(">Q")
READY, RESULT, ERROR = b"Y", b"R", b"E"
GRACE = 3.0
"""Seconds after its deadline when a worker ends itself, should nobody be left to end it."""
GROWTH = 64
"""Megabytes that a worker may keep between calls. py-tree-sitter 0.26 never frees the bytes it read of a source."""


def main(setup: str) -> None:
    """Serve standard input with what ``setup`` says, as JSON: see ``Workers``."""
    calls = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    try:
        desk, table = _furnished(json.loads(setup))
    except BaseException as error:  # noqa: BLE001  the other side has to know, whatever it is
        send(answers, ERROR + f"{place(error)}: {error}"[:500].encode("utf-8", "replace"))
        return
    send(answers, READY)
    _serve(calls, answers, desk, table)


def _furnished(given: dict[str, Any]) -> tuple[Any, Any]:
    """A desk and the table of methods, and the process ready for its first call."""
    from omnichunk.serve.methods import Desk, Table
    from omnichunk.serve.roots import Roots

    desk = Desk(Roots(given["folders"], given["handles"]), given["max_file_bytes"], given["store"], given["collection"])
    table = Table(bool(given["store"]))
    desk.chunker.chunk("a.md", "# a\n\nb\n")  # what every call needs is imported before the first
    limit_memory(given["memory_mb"])
    return desk, table


def _serve(calls: BinaryIO, answers: BinaryIO, desk: Any, table: Any) -> None:
    import faulthandler
    import gc

    gc.collect()
    gc.freeze()
    most = resident() + (GROWTH << 20)
    with open(os.devnull, "w") as nowhere:
        while (message := receive(calls)) is not None:
            call = json.loads(message)
            faulthandler.dump_traceback_later(call["seconds"] + GRACE, exit=True, file=nowhere)
            answer = _answer(desk, table, call)
            faulthandler.cancel_dump_traceback_later()
            if resident() > most:
                send(answers, answer[:1].lower() + answer[1:])
                return
            send(answers, answer)


def _answer(desk: Any, table: Any, call: dict[str, Any]) -> bytes:
    from omnichunk.serve.methods import failure

    try:
        return RESULT + encoded(table[call["method"]].work(desk, call["params"]))
    except BaseException as error:  # noqa: BLE001  the client has to get an answer, whatever it is
        code, message, reason = failure(error, desk.roots)
        log = str(error)[:500] if reason == "store" else place(error)
        told = {"code": code, "message": message[:2000], "reason": reason, "log": log}
    return ERROR + json.dumps(told).encode()


def place(error: BaseException) -> str:
    """What was raised and where, without its message, which may quote a document."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    return type(error).__name__ + where


def encoded(value: Any) -> bytes:
    """``value`` as JSON in ASCII. What JSON has no number for becomes null, what it has no form for a string."""
    try:
        return json.dumps(value, default=str, allow_nan=False, separators=(",", ":")).encode()
    except ValueError:
        return json.dumps(_finite(value), default=str, allow_nan=False, separators=(",", ":")).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def send(file: BinaryIO, message: bytes) -> None:
    """Write one message."""
    file.write(LENGTH.pack(len(message)) + message)
    file.flush()


def receive(file: BinaryIO) -> bytes | None:
    """The next message, or ``None`` at the end."""
    head = file.read(LENGTH.size)
    return file.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else None


def resident() -> int:
    """Bytes of memory that this process holds, 0 where that cannot be told."""
    if sys.platform != "linux":
        return 0
    with open("/proc/self/statm", encoding="ascii") as status:
        return int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def limit_memory(megabytes: int) -> None:
    """Let this process grow by ``megabytes`` at most, where the system enforces such a limit (Linux does)."""
    if sys.platform != "linux":
        return
    import resource

    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        used = next((int(line.split()[1]) << 10 for line in status if line.startswith("VmData:")), 0)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = used + (megabytes << 20)
    if most == resource.RLIM_INFINITY or wanted < most:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))
