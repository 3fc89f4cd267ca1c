"""Chunking beside an event loop: equal results, back-pressure, and nothing that survives its consumer."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import time
import traceback
from contextlib import aclosing
from contextvars import ContextVar

import pytest

import hostile
from omnichunk import Chunker, OptionError, PluginRegistry

TEXT = "# Title\n\n" + "".join(f"## Part {i}\n\nSome words of it.\n\n" for i in range(200))


class Counting:
    """A tokenizer that tells how often it was called, and can be slow."""

    def __init__(self, pause=0.0):
        self.calls, self.pause = 0, pause

    def __call__(self, text):
        self.calls += 1
        time.sleep(self.pause)
        return len(text.split())


def run(awaitable):
    return asyncio.run(asyncio.wait_for(awaitable, 20))


async def all_of(stream):
    return [chunk async for chunk in stream]


def test_results_equal_those_of_the_plain_methods():
    chunker = Chunker(max_chunk_size=60)
    items = [{"filepath": f"{i}.md", "code": TEXT[: 100 * i]} for i in range(1, 6)]

    async def everything():
        streams = asyncio.gather(*(all_of(chunker.astream("a.md", TEXT, buffer_size=n)) for n in (1, 3, 1000)))
        return await streams, await chunker.achunk("a.md", TEXT), await chunker.abatch(items, concurrency=2)

    streams, listed, results = run(everything())
    assert streams == [list(chunker.stream("a.md", TEXT))] * 3
    assert listed == chunker.chunk("a.md", TEXT)
    assert [r.chunks for r in results] == [r.chunks for r in chunker.batch(items)]
    assert threading.active_count() == 1


def test_the_producer_is_never_far_ahead():
    counting = Counting()
    made = Chunker(size_unit="tokens", tokenizer=counting, max_chunk_size=12, context_mode="none")

    async def slow():
        async for chunk in made.astream("a.txt", "word " * 20_000, buffer_size=4):
            if chunk.index in (3, 30):
                before = counting.calls
                await asyncio.sleep(0.05)
                ahead.append(counting.calls - before)
            if chunk.index == 30:
                break

    ahead: list[int] = []
    run(slow())
    total = counting.calls
    made.chunk("a.txt", "word " * 20_000)
    assert total < (counting.calls - total) / 10


def test_leaving_early_ends_the_thread_at_the_next_chunk():
    async def leave():
        stream = Chunker(max_chunk_size=20).astream("a.txt", "word " * 200_000, buffer_size=1)
        async for chunk in stream:
            await stream.aclose()
            return chunk.index, threading.active_count()
        return None

    assert run(leave()) == (0, 1)


def test_errors_arrive_with_their_traceback():
    made = Chunker(size_unit="tokens", tokenizer=hostile.raise_error)

    async def each():
        for work in (
            lambda: all_of(made.astream("a.txt", "a bad word")),
            lambda: made.achunk("a.txt", "a bad word"),
            lambda: made.abatch([{"filepath": "a.txt", "code": "a bad word"}]),
        ):
            with pytest.raises(KeyError, match="the counter broke") as raised:
                await work()
            assert "raise_error" in "".join(traceback.format_tb(raised.value.__traceback__))

    run(each())
    assert threading.active_count() == 1


def test_wrong_calls_are_refused_at_once():
    chunker = Chunker()
    with pytest.raises(OptionError, match="buffer_size=0"):
        chunker.astream("a.txt", "text", buffer_size=0)
    with pytest.raises(OptionError, match="buffer_size=True"):
        chunker.astream("a.txt", "text", buffer_size=True)
    with pytest.raises(OptionError, match='did you mean "overlap"'):
        chunker.astream("a.txt", "text", overlpa=1)
    with pytest.raises(TypeError, match="content must be a str"):
        chunker.astream("a.txt", b"text")
    with pytest.raises(OptionError, match='item 0: unknown option "concurency"'):
        run(chunker.abatch([{"filepath": "a", "code": "b", "concurency": 2}]))


def test_what_runs_beside_the_loop_sees_the_variables_of_its_caller():
    who = ContextVar("who", default="nobody")
    seen = set()

    def count(text):
        seen.add(who.get())
        return len(text.split())

    async def all_three():
        who.set("caller")
        made = Chunker(size_unit="tokens", tokenizer=count)
        await made.achunk("a.txt", "some words")
        await all_of(made.astream("a.txt", "some words"))
        await made.abatch([{"filepath": "a.txt", "code": "some words"}])

    run(all_three())
    assert seen == {"caller"}


def open_files():
    return len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0


@pytest.mark.parametrize("how", ["achunk", "closed", "dropped"])
def test_a_hundred_cancellations_leave_nothing(how):
    """A generator that a cancelled task was only iterating over is closed by the loop, a moment later."""
    made = Chunker(size_unit="tokens", tokenizer=Counting(0.0002), max_chunk_size=10)

    async def consume():
        if how == "achunk":
            return await made.achunk("a.txt", TEXT)
        stream = made.astream("a.txt", TEXT, buffer_size=2)
        if how == "dropped":
            return [await asyncio.sleep(0, chunk) async for chunk in stream]
        async with aclosing(stream):
            return [await asyncio.sleep(0, chunk) async for chunk in stream]

    async def cancel(times):
        tasks = len(asyncio.all_tasks())
        for i in range(times):
            task = asyncio.create_task(consume())
            await asyncio.sleep(0.0005 * (i % 9))
            task.cancel()
            if i % 2:
                await asyncio.sleep(0)
                task.cancel()  # impatience does not help
            with pytest.raises(asyncio.CancelledError):
                await task
            while how == "dropped" and threading.active_count() > 1:
                await asyncio.sleep(0.001)
            assert threading.active_count() == 1
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == tasks

    run(cancel(5))
    gc.collect()
    files, objects = open_files(), len(gc.get_objects())
    run(cancel(100))
    gc.collect()
    assert open_files() == files
    assert len(gc.get_objects()) - objects < 500
    assert threading.active_count() == 1


def test_a_stream_that_is_dropped_ends_with_its_loop():
    async def drop():
        stream = Chunker(max_chunk_size=20).astream("a.txt", "word " * 50_000, buffer_size=1)
        return (await stream.__anext__()).index

    assert run(drop()) == 0
    assert threading.active_count() == 1


def test_cancelling_a_batch_ends_its_workers():
    made = Chunker(PluginRegistry(plugins=[hostile]))
    items = [{"filepath": "a.txt", "code": "text"}, {"filepath": "b.hostile", "code": "hang"}]

    async def cancel():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(made.abatch(items, concurrency=2, timeout_s=1.0), 0.3)

    run(cancel())
    assert threading.active_count() == 1
    if sys.platform == "linux":
        with open(f"/proc/self/task/{os.getpid()}/children") as children:
            assert children.read() == ""
