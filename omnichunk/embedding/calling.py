"""One call of an embedding function, which may be async although chunking is not."""

from __future__ import annotations

import asyncio
import atexit
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")

LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("omnichunk_loop", default=None)
"""The caller's event loop, in threads that work beside it; what is async runs there, where its clients belong."""

_running = Lock()


def call(embed: Callable[[T], Any], given: T) -> Any:
    """What ``embed(given)`` returns, awaited if need be. Its exceptions propagate.

    Without a loop of the caller's, an async function runs on one that lives as long as the process, so that connections
    it keeps stay good between calls.
    """
    answer = embed(given)
    return _awaited(answer) if inspect.isawaitable(answer) else answer


def beside_a_loop() -> bool:
    """Whether this very thread runs an event loop, so that waiting for another thread might wait for itself."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _awaited(answer: Awaitable[Any]) -> Any:
    loop = LOOP.get()
    if beside_a_loop():
        with ThreadPoolExecutor(1) as apart:
            return apart.submit(_run, answer).result()
    if loop is not None and loop.is_running():
        return asyncio.run_coroutine_threadsafe(_waiting(answer), loop).result()
    return _run(answer)


async def _waiting(answer: Awaitable[Any]) -> Any:
    return await answer


def _run(answer: Awaitable[Any]) -> Any:
    with _running:
        return _own().run_until_complete(_waiting(answer))


@cache
def _own() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    atexit.register(loop.close)
    return loop
