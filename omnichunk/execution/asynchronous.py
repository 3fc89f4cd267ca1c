"""Work in a thread beside an event loop, that ends with its consumer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from contextvars import copy_context
from threading import Event, Semaphore, Thread
from typing import Any, TypeVar

from omnichunk.embedding.calling import LOOP
from omnichunk.errors import OptionError

T = TypeVar("T")
Make = Callable[[Callable[[], bool]], Iterator[T]]
"""Makes an iterator; what it is given tells whether the consumer has gone."""


def check_buffer(where: str, size: int) -> None:
    """Raise OptionError unless ``size`` is a whole number of at least 1."""
    if type(size) is not int or size < 1:
        raise OptionError(f"{where}: buffer_size={size!r}; a whole number of at least 1 is needed.")


async def produce(make: Make[T], buffer_size: int = 1) -> AsyncGenerator[T, None]:
    """What ``make(stopped)`` yields, from a thread that is at most ``buffer_size`` items ahead.

    When the consumer leaves, by ``aclose()`` or cancellation, the thread ends at the next item, and is waited for: a
    call that is running must return first. What is raised in the thread is raised here, with its traceback.
    """
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[tuple[bool, Any]] = asyncio.Queue()
    ended = asyncio.Event()
    room, gone = Semaphore(buffer_size), Event()

    def tell(call: Callable[..., object], *args: object) -> None:
        with suppress(RuntimeError):  # the loop was closed over its generators' heads; nobody is left to tell
            loop.call_soon_threadsafe(call, *args)

    def work() -> None:
        LOOP.set(loop)
        try:
            made = make(gone.is_set)
            try:
                while not gone.is_set():
                    room.acquire()
                    if gone.is_set():
                        break
                    item = next(made, arrived)
                    if item is arrived:
                        break
                    tell(arrived.put_nowait, (True, item))
            finally:
                if hasattr(made, "close"):
                    made.close()
        except BaseException as error:  # noqa: BLE001  the consumer's to handle
            tell(arrived.put_nowait, (False, error))
        else:
            tell(arrived.put_nowait, (False, None))
        finally:
            tell(ended.set)

    thread = Thread(target=copy_context().run, args=(work,), name="omnichunk", daemon=True)
    thread.start()
    try:
        while True:
            more, item = await arrived.get()
            if more:
                room.release()
                yield item
            elif item is None:
                return
            else:
                raise item
    finally:
        gone.set()
        room.release()
        try:
            await _until(ended)
        finally:
            thread.join()  # telling that it has ended was the last it did


async def _until(ended: asyncio.Event) -> None:
    """Wait for ``ended``, through cancellations, which take effect afterwards."""
    cancelled: asyncio.CancelledError | None = None
    while not ended.is_set():
        try:
            await ended.wait()
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


async def call(work: Callable[[Callable[[], bool]], T]) -> T:
    """What ``work(stopped)`` returns, in a thread that ends with the caller."""
    produced = produce(lambda stopped: iter([work(stopped)]))
    try:
        return await produced.__anext__()
    finally:
        await produced.aclose()
