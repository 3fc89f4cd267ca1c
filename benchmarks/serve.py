"""Figures of the service: 50 clients for 30 seconds, and 1,000 malformed requests.

    python benchmarks/serve.py [--clients 50] [--seconds 30] [--requests 1000] [--root FOLDER] [--seed 0]

Prints a line a figure. Leaves with status 1 when an answer was no well-formed one, or something of outside was read.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from serving import Running, error_of  # noqa: E402

SECRET = "TOP-SECRET-OF-OUTSIDE"


def load(service: Running, files: list[str], clients: int, seconds: float) -> bool:
    """Clients that ask as fast as they are answered, each on a connection of its own."""
    times: list[float] = []
    wrong: Counter[str] = Counter()
    end = 0.0

    def client(number: int) -> None:
        chance = random.Random(number)
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        while time.monotonic() < end:
            method = chance.choice(["chunk_file", "chunk_file", "outline", "read_around"])
            params = {"path": chance.choice(files), **({"line": 3} if method == "read_around" else {})}
            body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            started = time.perf_counter()
            try:
                connection.request("POST", "/rpc", body)
                response = connection.getresponse()
                answer = json.loads(response.read())
            except (OSError, http.client.HTTPException, ValueError) as error:
                wrong[type(error).__name__] += 1
                connection.close()
                continue
            times.append(time.perf_counter() - started)
            if response.status != 200 or "result" not in answer or answer["id"] != number:
                wrong[str(answer.get("error", answer))[:100]] += 1
        connection.close()

    warm = [threading.Thread(target=service.call, args=("outline",), kwargs={"path": files[0]}) for _ in range(20)]
    for thread in warm:
        thread.start()
    for thread in warm:
        thread.join()
    end = time.monotonic() + seconds
    before = service.memory(), descriptors(service), processor_time(service), time.process_time()
    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    middle = 0
    while time.monotonic() < end:
        time.sleep(0.5)
        if not middle and time.monotonic() > end - seconds / 2:
            middle = service.memory()
    for thread in threads:
        thread.join()
    after = service.memory(), descriptors(service), processor_time(service), time.process_time()
    times.sort()
    shown = {name: round(times[min(len(times) - 1, int(len(times) * share))] * 1000)
             for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))}  # fmt: skip
    print(f"{clients} clients, {seconds:g} s: {len(times)} answers ({len(times) / seconds:.0f}/s), ms {shown}")
    print(f"  wrong: {dict(wrong) or 'none'}")
    used = [(a - b) / len(times) * 1000 for a, b in zip((*after[2], after[3]), (*before[2], before[3]), strict=True)]
    print(f"  processor ms an answer: service {used[0]:.1f}, workers {used[1]:.1f}, clients {used[2]:.1f}")
    print(f"  memory, service and workers: {before[0]:,} -> {middle:,} -> {after[0]:,} kB")
    print(f"  descriptors: {before[1]} -> {after[1]}")
    return not wrong


def descriptors(service: Running) -> int:
    """Open files of the service."""
    return len(list(Path(f"/proc/{service.process.pid}/fd").iterdir()))


def processor_time(service: Running) -> tuple[float, float]:
    """Seconds of processor time that the service and its workers have used."""

    def of(pid: int) -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    return of(service.process.pid), sum(map(of, service.workers()))


def malformed(service: Running, number: int, seed: int) -> bool:
    """Requests that are wrong in every way; each has to get an error, and the service has to go on."""
    chance = random.Random(seed)
    described = json.loads(service.request("GET", "/openrpc.json")[2])
    wrong: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for _ in range(20):  # what is allocated once is allocated before it is measured
        for name, params in {"outline": {"path": "inside.py"}, "capabilities": {}, "chunk_directory": {}}.items():
            service.call(name, **params)
        service.raw(b"POST / HTTP/1.1\r\nContent-Length: 3000000\r\n\r\n", b"x" * 3_000_000)
    memory = [service.memory()]
    for done in range(number):
        if done == number // 2:
            memory.append(service.memory())
        name, parts, wait, may_succeed = request(service, described, chance)
        kinds[name] += 1
        answer = service.raw(*parts, wait=wait)
        if SECRET.encode() in answer or b"root:" in answer or b"Traceback" in answer:
            wrong[f"{name}: leak"] += 1
        if may_succeed and b'"result":' in answer:
            continue
        try:
            error_of(answer)
        except (AssertionError, ValueError, IndexError, KeyError):
            wrong[f"{name}: {answer[:80]!r}"] += 1
    status = service.call("outline", path="inside.py")[0]
    print(f"{number} malformed requests: {dict(sorted(kinds.items()))}")
    print(f"  not answered by a well-formed error: {dict(wrong) or 'none'}; the next proper call: {status}")
    memory.append(service.memory())
    print(f"  memory, service and workers, before, half way, after: {' -> '.join(f'{n:,}' for n in memory)} kB")
    return not wrong and status == 200


def request(service: Running, described: dict, chance: random.Random) -> tuple[str, list[bytes], float, bool]:
    """What it is, its bytes in parts, seconds between them, and whether it may happen to be right."""
    values = [None, True, -1, 10**40, 1e308, "", "x" * 5000, "\ud800", [], [1], {}, {"a": 1}, "\0", "../..", 0.5]
    method = chance.choice(described["methods"])
    params = {
        param["name"]: chance.choice(values)
        for param in chance.sample(method["params"], k=min(3, len(method["params"])))
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method["name"], "params": params}).encode()
    kind = chance.choice(
        ["schema", "schema", "path", "path", "envelope", "bytes", "cut", "large", "head", "slow", "host"]
    )
    if kind == "path":
        steps = [
            "..",
            "/",
            "\\",
            "%2e%2e",
            "link",
            "inside.py",
            "outside.txt",
            "/etc/passwd",
            "C:",
            "//",
            "\0",
            ".",
            "~",
        ]
        way = "/".join(chance.choices(steps, k=chance.randint(1, 6)))
        told = {"path": way, **({"line": 1} if method["name"] == "read_around" else {})}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method["name"], "params": told}).encode()
    elif kind == "envelope":
        asked = {"jsonrpc": "2.0", "id": 1, "method": method["name"], "params": {}}
        asked[chance.choice(["jsonrpc", "id", "method", "params"])] = chance.choice(
            [None, 1.5, [], {"a": []}, True, [[]], "é"]
        )
        if isinstance(asked["id"], (int, float, str, type(None))) and not isinstance(asked["id"], bool):
            asked["method"] = "nope"  # what was exchanged may be right as well
        body = json.dumps(asked).encode()
    elif kind == "bytes":
        body = chance.choice(
            [chance.randbytes(200), b"[" * 50_000, b'{"a":' * 9_000, b"\xff\xfe{}", b"9" * 90_000, b""]
        )
    head = f"POST /rpc HTTP/1.1\r\nHost: localhost:{service.port}\r\nContent-Length: {len(body)}\r\n".encode()
    if kind == "large":
        return (
            kind,
            [head.replace(b"Content-Length: ", b"Content-Length: 9999999") + b"\r\n", b"x" * 3_000_000],
            0,
            False,
        )
    if kind == "host":
        head = head.replace(
            b"localhost", chance.choice([b"evil.example", b"localhost.evil", b"", b"[::2]", b"a@localhost"])
        )
    if kind == "head":
        at = chance.randrange(len(head) - 4)
        broken = head[:at] + chance.randbytes(3).replace(b"\n", b"x") + head[at + 3 :]
        return kind, [broken + b"\r\n" + body], 0, True
    if kind == "cut":
        return kind, [head.replace(b"Content-Length: ", b"Content-Length: 1") + b"\r\n" + body], 0, False
    if kind == "slow" and chance.random() < 0.3:
        return kind, [head[:30], head[30:50], head[50:]], 0.3, False
    if kind == "slow":
        return "schema", [head + b"\r\n" + body], 0, True
    return kind, [head + b"\r\n" + body], 0, kind in ("schema", "path")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--root", type=Path, default=ROOT / "omnichunk")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    good = True
    if asked.clients and asked.seconds:
        files = [
            str(path.relative_to(asked.root))
            for path in sorted(asked.root.rglob("*.py"))
            if path.stat().st_size < 20_000
        ]
        with Running(asked.root) as service:
            good = load(service, files, asked.clients, asked.seconds)
    with tempfile.TemporaryDirectory() as base:
        inside = Path(base, "project")
        inside.mkdir()
        (inside / "inside.py").write_text("def f():\n    return 1\n")
        Path(base, "outside.txt").write_text(SECRET)
        (inside / "link").symlink_to("../outside.txt")
        with Running(inside, "--request-timeout", "0.5") as service:
            good = malformed(service, asked.requests, asked.seed) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
