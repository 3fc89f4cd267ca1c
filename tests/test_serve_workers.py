"""Workers: what becomes of calls when a process has grown, has ended, or cannot be started."""

from __future__ import annotations

import asyncio
import json
import os
import signal

import pytest

from omnichunk.serve import service, worker, workers
from omnichunk.serve.metrics import Log
from omnichunk.serve.roots import Roots
from omnichunk.serve.workers import CallFailed, Limits, Workers


@pytest.fixture
def roots(tmp_path):
    (tmp_path / "a.md").write_text("# A\n\nWords.\n")
    opened = Roots([str(tmp_path)])
    yield opened
    opened.close()


def run(roots, work, lost=None, **limits):
    async def inside():
        pool = Workers(roots, Limits(workers=1, **limits), (lost if lost is not None else []).append)
        try:
            return await work(pool)
        finally:
            await pool.close()

    return asyncio.run(inside())


async def outline(pool):
    return json.loads(await pool.call("outline", {"path": "a.md"}, 20))["entries"][0]["name"]


def test_a_worker_that_has_grown_is_replaced(roots, monkeypatch):
    """Every call is answered, by a process of its own here, and none counts as lost."""
    monkeypatch.setattr(workers, "_CODE", workers._CODE.replace("main({setup!r})", "import omnichunk.serve.worker as w; "
                                                                "w.GROWTH = -1000; main({setup!r})"))  # fmt: skip
    lost = []

    async def work(pool):
        names, processes = [], set()
        for _ in range(3):
            await pool.start()
            processes |= {process.process.pid for process in pool._all}
            names.append(await outline(pool))
        return names, processes

    names, processes = run(roots, work, lost)
    assert names == ["A"] * 3
    assert len(processes) == 3
    assert lost == []
    assert worker.resident() > 1 << 20


def test_a_worker_that_ended_meanwhile_costs_no_call(roots):
    async def work(pool):
        await pool.start()
        (first,) = pool._all
        os.kill(first.process.pid, signal.SIGKILL)
        await first.process.wait()
        assert pool.alive == 0
        return await outline(pool)

    assert run(roots, work) == "A"


def test_a_worker_that_cannot_start_says_why(roots, monkeypatch):
    monkeypatch.setattr(workers, "_CODE", "import omnichunk.serve.worker as w; w._furnished = None; w.main({setup!r})")
    with pytest.raises(CallFailed) as failed:
        run(roots, outline)
    assert failed.value.reason == "workers"
    assert "TypeError" in failed.value.log
    assert "TypeError" not in failed.value.message


def test_no_descriptor_for_a_worker_is_told(roots, monkeypatch):
    async def none_left(*_, **__):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", none_left)
    with pytest.raises(CallFailed) as failed:
        run(roots, outline)
    assert failed.value.reason == "workers"


def test_no_text_of_an_exception_reaches_a_client(roots, monkeypatch):
    def broken(*_):
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(service, "check", broken)
    serving = service.Service(roots, Limits(workers=1), Log("error"))
    for work in (serving.call("outline", {"path": "a.md"}), serving.internal("list_files", {})):
        with pytest.raises(CallFailed) as failed:
            asyncio.run(work)
        assert (failed.value.code, failed.value.reason) == (-32603, "internal")
        assert "secret" not in failed.value.message + failed.value.log


def test_memory_is_limited(roots, tmp_path):
    """What does not fit ends as an error of that call."""
    (tmp_path / "big.json").write_text("[" + "[1,2,3]," * 1_000_000 + "1]")

    async def work(pool):
        with pytest.raises(CallFailed) as failed:
            await pool.call("chunk_file", {"path": "big.json"}, 20)
        return failed.value.reason, await outline(pool)

    reason, name = run(roots, work, memory_mb=32)
    assert reason in ("memory", "crashed")
    assert name == "A"
