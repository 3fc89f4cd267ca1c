"""HTTP/1.1 as uvicorn speaks it, and what it leaves open: clients that are slow, and requests that are none.

A request has to arrive within its time as a whole, not read by read; an answer has to be taken as it is sent. What is no
HTTP gets an answer in JSON like everything else. A client that is refused before its body was read is heard out for a
moment, since closing at once would destroy the answer on its way.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from omnichunk.serve.gate import Gate, Refusal

HEAD = 16 << 10
"""Bytes of a request line with its headers."""
LINGER, LINGER_BYTES = 2.0, 8 << 20
"""Seconds, and bytes, that are still read of a request that was answered."""
UNREAD = 256 << 20
"""Bytes of answers that wait for clients to take them, beyond which no request is taken."""
_BUSY = Refusal(503, "The service is busy. Try again in a second.", (("retry-after", "1"),))


class Protocol(H11Protocol):
    """One connection. What is declared here is set on a subclass, see ``configured``; ``slow``: those that have not taken
    their answers yet.
    """

    gate: Gate
    request_timeout: float
    max_connections: int
    slow: set[Protocol]

    @classmethod
    def configured(cls, gate: Gate, request_timeout: float, max_connections: int) -> type[Protocol]:
        """A class of connections with these settings; uvicorn makes one object each."""
        settings = {"gate": gate, "request_timeout": request_timeout, "max_connections": max_connections}
        return type("ConfiguredProtocol", (cls,), {**settings, "slow": set()})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._head = bytearray()
        self._slow: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        self._left: int | None = None
        super().connection_made(_Patient(transport, self))  # type: ignore[arg-type]
        if len(self.connections) > self.max_connections:
            self._refuse(_BUSY)
        else:
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self.slow.discard(self)
        for timer in (self._slow, self._stuck):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._left is not None:
            self._left -= len(data)
            if self._left < 0:
                self.transport.abort()
            return
        if self.conn.their_state is h11.IDLE:
            if not self._head:
                self._expect_request()
                if sum(one.transport.get_write_buffer_size() for one in self.slow) > UNREAD:
                    self._refuse(_BUSY)
                    return
            self._head += data[: HEAD - len(self._head) + 1]
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._head.clear()
            if self._slow is not None:
                self._slow.cancel()  # what reads the body minds its time
                self._slow = None

    def _begin(self) -> None:
        self.app_state = {**self.app_state, "until": self.loop.time() + self.request_timeout}

    def _expect_request(self) -> None:
        """Begin to count the time of a request; what reads its body asks how much is left."""
        self._begin()
        if self._slow is not None:
            self._slow.cancel()
        self._slow = self.loop.call_later(self.request_timeout, self._too_slow)

    def _too_slow(self) -> None:
        self._slow = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            if self._head:
                self._refuse(Refusal(408, f"The request did not arrive within {self.request_timeout:g} seconds."))
            else:
                self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer what h11 could not read: with the first reason there is, as for a request that it could."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # nothing that it still has to say is sent
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.abort()
                return
        method, target, headers = _read(bytes(self._head))
        local = self.server[0] if self.server else ""
        refusal = self.gate.refusal(method, target, headers, local, broken=True)
        self._refuse(refusal or Refusal(400, "This is no HTTP/1.1 request."))

    def _refuse(self, refusal: Refusal) -> None:
        """Answer on the connection itself, and end it."""
        body = refusal.body
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), *refusal.headers,
                   ("connection", "close")]  # fmt: skip
        lines = [f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}", *(f"{n}: {v}" for n, v in headers)]
        self.transport.write("\r\n".join([*lines, "", ""]).encode("ascii") + body)
        self.conn.send_failed()
        self._linger()

    def _linger(self) -> None:
        """Hear the client out for a moment, and close."""
        if self._left is None:
            self._left = LINGER_BYTES
            if self.transport.can_write_eof():
                self.transport.write_eof()
            self.loop.call_later(LINGER, self.transport.abort)

    def on_response_complete(self) -> None:
        self._begin()  # for a request that was sent behind this one
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY and self._left is None and not self.transport.is_closing():
            self._unset_keepalive_if_required()
            self._linger()

    def shutdown(self) -> None:
        if self._left is None:
            super().shutdown()

    def timeout_keep_alive_handler(self) -> None:
        if self._left is None:
            super().timeout_keep_alive_handler()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.slow.add(self)
        self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self.slow.discard(self)
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def _watch(self, waiting: int) -> None:
        """Abort when nothing of what waits to be sent is taken for as long as a request may last."""

        def look() -> None:
            left = self.transport.get_write_buffer_size()
            if left >= waiting:
                self.transport.abort()
            else:
                self._watch(left)

        self._stuck = self.loop.call_later(self.request_timeout, look)


class _Patient:
    """A transport whose ``close`` waits for the rest of a request that is still being sent."""

    def __init__(self, transport: asyncio.Transport, protocol: Protocol) -> None:
        self._transport = transport
        self._protocol = protocol

    def close(self) -> None:
        if self._protocol.conn.their_state in (h11.SEND_BODY, h11.ERROR) and not self._transport.is_closing():
            self._protocol._linger()
        else:
            self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def _read(head: bytes) -> tuple[str, str, list[tuple[bytes, bytes]]]:
    """Method, target and headers of a head, as far as they can be made out."""
    first, *lines = head.partition(b"\r\n\r\n")[0].replace(b"\r\n", b"\n").split(b"\n")
    method, target, *_ = [*first.decode("latin-1").split(" "), "", ""]
    pairs = (line.partition(b":") for line in lines)
    return method, target, [(name.strip().lower(), value.strip()) for name, _, value in pairs]
