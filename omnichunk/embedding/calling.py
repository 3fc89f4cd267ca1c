"""One call of an embedding function, which may be async although chunking is not."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from threading import Lock, Thread
from typing import Any, TypeVar

T = TypeVar("T")

LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("omnichunk_loop", default=None)
"""The caller's event loop, in threads that work beside it; what is async runs there, where its clients belong."""

_own: asyncio.AbstractEventLoop | None = None
_making = Lock()


def call(embed: Callable[[T], Any], given: T) -> Any:
    """What ``embed(given)`` returns, awaited if need be. Its exceptions propagate.

    Without a loop of the caller's, an async function runs on one that lives in a thread as long as the process, so that
    connections it keeps stay good between calls.
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
    async def waiting() -> Any:
        return await answer

    loop = LOOP.get()
    if loop is None or loop.is_closed() or beside_a_loop():
        loop = _background()
    return asyncio.run_coroutine_threadsafe(waiting(), loop).result()


def _background() -> asyncio.AbstractEventLoop:
    global _own
    with _making:
        if _own is None:
            _own = asyncio.new_event_loop()
            Thread(target=_own.run_forever, name="omnichunk-embedding", daemon=True).start()
        return _own
