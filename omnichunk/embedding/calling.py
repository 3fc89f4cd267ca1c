"""One call of an embedding function, which may be async although chunking is not."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")

LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("omnichunk_loop", default=None)
"""The caller's event loop, in threads that work beside it; what is async runs there, where its clients belong."""


def call(embed: Callable[[T], Any], given: T) -> Any:
    """What ``embed(given)`` returns, awaited if need be. Its exceptions propagate.

    Without a loop of the caller's, an async function runs on one that lives as long as the process, so that connections
    it keeps stay good between calls. A call that is interrupted is cancelled.
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
        # A function that chunks by an async function of its own blocks our loop; only another one gets on then.
        run = _run if asyncio.get_running_loop() is not loop else _run_once
        with ThreadPoolExecutor(1) as apart:
            return apart.submit(run, answer).result()
    if loop is not None and loop.is_running():
        return asyncio.run_coroutine_threadsafe(_waiting(answer), loop).result()
    return _run(answer)


async def _waiting(answer: Awaitable[Any]) -> Any:
    return await answer


def _run_once(answer: Awaitable[Any]) -> Any:
    return asyncio.run(_waiting(answer))


def _run(answer: Awaitable[Any]) -> Any:
    loop, free = _own(os.getpid())
    with free:
        known = LOOP.set(loop)  # in the context of the task, for threads that it starts and waits for
        task = loop.create_task(_waiting(answer))
        LOOP.reset(known)
        try:
            return loop.run_until_complete(task)
        except BaseException:
            if task.cancel():  # interrupted; otherwise it would go on with the next call
                loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
            raise


@cache
def _own(process: int) -> tuple[asyncio.AbstractEventLoop, Lock]:
    """The loop of a process, and what is held while it runs; a forked one has its own."""
    loop = asyncio.new_event_loop()
    atexit.register(lambda: loop.close() if os.getpid() == process else None)
    return loop, Lock()
