"""The service from outside: what is let in, in which order, and what clients cannot do to it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from dataclasses import replace
from unittest.mock import Mock

import pytest

from omnichunk import Chunker, chunk_from_dict
from serving import Running, error_of, received

pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")

SLOW = """
import time
from omnichunk import LoadedDocument, Loader, hookimpl

def load(source):
    time.sleep(float(source.data))
    return LoadedDocument(text=source.data.decode(), segments=())

@hookimpl
def omnichunk_loaders():
    return [Loader(name="slow", suffixes=(".slow",), load=load)]
"""
"""A plugin whose loader takes the seconds that the file says."""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    base = tmp_path_factory.mktemp("service")
    (base / "outside.txt").write_text("TOP SECRET", encoding="utf-8")
    allowed = base / "project"
    (allowed / "sub").mkdir(parents=True)
    (allowed / "m.py").write_text(
        "import os\n\n\ndef f(a):\n    return a\n\n\nclass C:\n    def g(self):\n        return 1\n"
    )
    (allowed / "notes.md").write_text("# Notes\n\nWords.\n\n## More\n\nWords again.\n")
    (allowed / "sub" / "a.txt").write_text("Some words.\n")
    (allowed / "slow").mkdir()
    (allowed / "slow" / "hang.slow").write_text("60")
    (allowed / "slow" / "soon.slow").write_text("0.5")
    (allowed / "slow" / "zero.slow").write_text("0")
    (allowed / "bin.dat").write_bytes(b"\0\1\2\3" * 100)
    (allowed / "link.txt").symlink_to(base / "outside.txt")
    (allowed / ".gitignore").write_text("/slow/\n")
    return allowed


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """A folder with a distribution of the plugin, as PYTHONPATH."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "slow_loader.py").write_text(SLOW)
    info = folder / "slow_loader-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow-loader\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[omnichunk]\nslow = slow_loader\n")
    return {"PYTHONPATH": str(folder)}


@pytest.fixture(scope="module")
def service(root, plugin):
    flags = ("--file-timeout", "2", "--workers", "2", "--request-timeout", "1.5", "--max-body-bytes", "5000")
    with Running(root, *flags, env=plugin) as running:
        yield running


@pytest.fixture(scope="module")
def guarded(root):
    with Running(root, "--token-env", "T", "--max-body-bytes", "5000", env={"T": "s3cret ü"}) as running:
        yield running


def test_chunk_file_is_what_the_library_gives(service, root):
    status, answer = service.call("chunk_file", path="m.py", max_chunk_size=60)
    assert status == 200
    expected = Chunker().chunk_bytes("m.py", (root / "m.py").read_bytes(), max_chunk_size=60)
    chunks = [chunk_from_dict(row) for row in answer["result"]]
    same = chunks[0].config_fingerprint  # of other plugins than there are here
    assert chunks == [replace(chunk, config_fingerprint=same) for chunk in expected]
    for path in (str(root / "m.py"), "./sub/../m.py", "sub/../m.py", f"../{root.name}/m.py"):
        assert service.call("chunk_file", path=path, max_chunk_size=60)[1]["result"] == answer["result"], path


def test_chunk_directory(service):
    _, answer = service.call("chunk_directory", path=".", concurrency=4, max_chunk_size=400)
    rows = {row["filepath"]: row for row in answer["result"]}
    assert list(rows) == ["bin.dat", "link.txt", "m.py", "notes.md", "sub/a.txt"]
    assert (rows["link.txt"]["outcome"], rows["link.txt"]["error"]) == ("skipped", "link")
    assert rows["bin.dat"]["outcome"] == "skipped"
    assert rows["bin.dat"]["error"] == "binary"
    assert [chunk_from_dict(c).context.filepath for c in rows["sub/a.txt"]["chunks"]] == ["sub/a.txt"]
    _, answer = service.call("chunk_directory", path=".", glob="bin.dat", encoding="latin-1")
    assert [(row["outcome"], row["error"]) for row in answer["result"]] == [("skipped", "binary")]
    _, answer = service.call("chunk_directory", path="sub", glob="*.txt", detail="brief")
    (row,) = answer["result"]
    assert row["filepath"] == "sub/a.txt"
    assert "text" not in row["chunks"][0]
    for wrong in (
        {"glob": "   "},
        {"path": "../"},
        {"path": "m.py"},
        {"no_such": 1},
        {"max_chunk_size": 0},
        {"glob": 3},
    ):
        assert service.call("chunk_directory", **wrong)[1]["error"], wrong


def test_outline(service):
    entries = service.call("outline", path="m.py")[1]["result"]["entries"]
    assert [(e["name"], e["depth"], e["start_line"]) for e in entries] == [("f", 0, 4), ("C", 0, 8), ("g", 1, 9)]


def test_read_around(service):
    whole = service.call("chunk_file", path="notes.md", max_chunk_size=20, detail="text")[1]["result"]
    assert len(whole) > 2
    middle = service.call("read_around", uri=whole[1]["uri"])[1]["result"]
    assert [c["index"] for c in middle["chunks"]] == [0, 1, 2]
    assert middle["chunks"][1] == whole[1]
    by_line = service.call(
        "read_around", path="notes.md", line=whole[1]["start_line"], before=0, after=0, max_chunk_size=20
    )
    assert by_line[1]["result"]["chunks"] == [whole[1]]
    (shown,) = service.call("chunk_file", path="m.py", encoding="437", detail="text")[1]["result"]
    assert service.call("read_around", uri=shown["uri"])[1]["result"]["chunks"] == [shown]
    for wrong in ({}, {"path": "notes.md"}, {"uri": "chunk:///notes.md", "path": "notes.md"}, {"uri": "file:///etc/passwd"},
                  {"path": "notes.md", "index": 99}, {"uri": "chunk:///notes.md?index=0&revision=0000000000000000"},
                  {"uri": "chunk:///notes.md?index=0&tokenizer=%2Fetc%2Fx.json"},
                  {"uri": "chunk:///../outside.txt?index=0"}):  # fmt: skip
        answer = service.call("read_around", **wrong)[1]
        assert answer["error"]["code"] in (-32602, -32000), wrong


def test_capabilities_health_and_metrics(service):
    rows = service.call("capabilities")[1]["result"]["languages"]
    assert {"python", "go"} <= {row["language"] for row in rows}
    for path in ("/health", "/healthz"):
        status, _, text = service.request("GET", path)
        assert (status, json.loads(text)["status"]) == (200, "ok")
    service.call("no_such_method")
    status, headers, text = service.request("GET", "/metrics")
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(len(line.rsplit(" ", 1)) == 2 and float(line.rsplit(" ", 1)[1]) >= 0 for line in samples)
    assert any(line.startswith('omnichunk_calls_total{method="capabilities",outcome="ok"}') for line in samples)
    assert any(line.startswith('omnichunk_calls_total{method="unknown",outcome="method"}') for line in samples)
    assert 'le="+Inf"' in text


def test_the_description_is_served_and_true(service):
    _, _, text = service.request("GET", "/openrpc.json")
    described = json.loads(text)
    assert service.call("rpc.discover")[1]["result"] == described
    assert described["openrpc"].startswith("1.")
    methods = {method["name"]: method for method in described["methods"]}
    assert set(methods) == {"chunk_file", "chunk_directory", "outline", "read_around", "capabilities"}
    for method in methods.values():
        required = [p["required"] for p in method["params"]]
        assert required == sorted(required, reverse=True)
    jsonschema = pytest.importorskip("jsonschema")
    given = {"chunk_file": {"path": "m.py"}, "chunk_directory": {}, "outline": {"path": "m.py"}, "capabilities": {},
             "read_around": {"path": "m.py", "index": 0}}  # fmt: skip
    for name, params in given.items():
        for param in methods[name]["params"]:
            jsonschema.Draft202012Validator.check_schema(param["schema"])
        jsonschema.validate(service.call(name, **params)[1]["result"], methods[name]["result"]["schema"])


@pytest.mark.parametrize(
    "path",
    ["../outside.txt", "link.txt", "/etc/passwd", "./x/../../outside.txt", "../no-such.txt", "/no/such", "//etc/passwd",
     "sub/../../outside.txt", "..\\outside.txt", "C:\\Windows\\win.ini", "c:/x", "\\\\server\\share\\x", "\\\\?\\C:\\x",
     "//server/share/x", "m.py\0.txt", "\ud800", "a" * 4097, "..", "/", "link.txt/x", "/proc/self/environ"],
)  # fmt: skip
def test_every_way_out_gets_the_same_answer(service, path):
    answers = [service.call(method, path=path)[1]["error"] for method in ("chunk_file", "outline", "chunk_directory")]
    known = {"path: not below an allowed root. Name it relative to the root, without leaving it."}
    assert {a["message"] for a in answers} <= known or len(path) > 4096, answers
    assert "SECRET" not in json.dumps(answers)


@pytest.mark.parametrize("path", ["no.py", "sub", "m.py/x", "", "sub/no/../../m.py/x", "bin.dat/../m.py"])
def test_what_is_not_there_is_told_without_the_root(service, root, path):
    error = service.call("chunk_file", path=path)[1]["error"]
    assert error["code"] == -32000
    assert str(root) not in json.dumps(error)


@pytest.mark.parametrize(
    ("params", "said"),
    [({}, "missing"), ({"path": 3}, "string"), ({"path": "m.py", "max_chunk_sise": 3}, "max_chunk_size"),
     ({"path": "m.py", "max_chunk_size": 10**30}, "number"), ({"path": "m.py", "max_chunk_size": 10**4000}, "number"),
     ({"path": "m.py", "tokenizer": "gpt2\n"}, "name"), ({"path": "m.py", "max_chunk_size": True}, "whole"),
     ({"path": "m.py", "max_chunk_size": "9"}, "whole"), ({"path": "m.py", "size_unit": "lines"}, "chars"),
     ({"path": "m.py", "tokenizer": "/etc/tokenizer.json"}, "name"), ({"path": "m.py", "tokenizer": "t.json"}, "name"),
     ({"path": "m.py", "encoding": "no-such"}, "encoding"), ({"path": "m.py", "encoding": "zlib"}, "text"),
     ({"path": "m.py", "loader": "nope"}, "loader"), ({"path": "m.py", "loader_options": {}}, "unknown"),
     ({"path": "m.py", "size_unit": "tokens"}, "tokenizer"), ({"path": "m.py", "overlap": 1500}, "overlap"),
     ({"path": "m.py", "target_fill": 0}, "target_fill"), ({"path": "m.py", "detail": None}, "string")],
)  # fmt: skip
def test_wrong_parameters(service, params, said):
    status, answer = service.call("chunk_file", **params)
    assert status == 200
    assert answer["error"]["code"] == -32602
    assert said in answer["error"]["message"]


@pytest.mark.parametrize(
    ("body", "status", "code", "identity"),
    [(b"", 400, -32700, None), (b"{nope", 400, -32700, None), (b"\xff", 400, -32700, None), (b"NaN", 400, -32700, None),
     (b'{"id": Infinity}', 400, -32700, None), (b"[" * 2000, 400, -32700, None), (b"1" * 4900, 400, -32700, None),
     ("{}".encode("utf-16"), 400, -32700, None), (b"[]", 400, -32600, None), (b"[1]", 400, -32600, None),
     (b"null", 400, -32600, None), (b'"x"', 400, -32600, None), (b"{}", 400, -32600, None),
     (b'{"jsonrpc":"2.0","method":"outline","id":1,"id":2}', 400, -32600, None),
     (b'{"jsonrpc":"2.0","method":"outline","id":1,"params":{"path":"x","path":"m.py"}}', 400, -32600, None),
     (b'{"jsonrpc":"1.0","method":"outline","id":1}', 400, -32600, 1),
     (b'{"jsonrpc":"2.0","method":5,"id":"a"}', 400, -32600, "a"), (b'{"jsonrpc":"2.0","id":7}', 400, -32600, 7),
     (b'{"jsonrpc":"2.0","method":"outline","id":true}', 400, -32600, None),
     (b'{"jsonrpc":"2.0","method":"outline","id":[1]}', 400, -32600, None),
     (b'{"jsonrpc":"2.0","method":"outline","id":1e999}', 400, -32600, None),
     (b'{"jsonrpc":"2.0","method":"nope","params":3,"id":1}', 200, -32602, 1),
     (b'{"jsonrpc":"2.0","method":"nope","params":["m.py"],"id":1}', 200, -32602, 1),
     (b'{"jsonrpc":"2.0","method":"outline","params":null,"id":1}', 200, -32602, 1),
     (b'{"jsonrpc":"2.0","method":"nope","id":"\\ud800"}', 200, -32601, "\ud800"),
     (b'{"jsonrpc":"2.0","method":"list_files","id":null}', 200, -32601, None),
     (b'{"jsonrpc":"2.0","method":"file_of_folder","id":1.5}', 200, -32601, 1.5)],
)  # fmt: skip
def test_envelopes(service, body, status, code, identity):
    got, answer = service.post(body)
    assert (got, answer["error"]["code"], answer["id"]) == (status, code, identity)
    assert answer["error"]["message"].startswith("There is no such method; there are chunk_file, ") is (code == -32601)
    assert service.call("outline", path="m.py")[0] == 200


@pytest.mark.parametrize("name", ["semantic_cache_path", "semantic_embed_fn", "loader_options", "semantic"])
def test_options_of_the_host_are_not_for_clients(service, root, name):
    """What names files or runs code cannot be chosen from afar, in an address neither."""
    target = root.parent / "written.db"
    _, answer = service.call("chunk_file", path="m.py", **{name: str(target)})
    assert answer["error"]["code"] == -32602
    _, answer = service.call("read_around", uri=f"chunk:///m.py?index=0&{name}={target}")
    assert answer["error"]["code"] == -32602
    assert not target.exists()


def test_notifications_have_no_answer(service):
    for method in ("outline", "nope"):
        assert service.post({"jsonrpc": "2.0", "method": method, "params": {"path": "m.py"}}) == (204, None)


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Host": "localhost:{port}"}, 200), ({"Host": "LOCALHOST:{port}"}, 200), ({"Host": "127.0.0.1"}, 200),
     ({"Host": "[::1]:{port}"}, 200), ({"Host": "evil.example:{port}"}, 403), ({"Host": "localhost.evil.example"}, 403),
     ({"Host": "localhost:1"}, 403), ({"Host": "localhost:{port}@evil.example"}, 403), ({"Host": ""}, 403),
     ({"Host": "127.0.0.1:{port}/"}, 403), ({"Host": "127.0.0.2:{port}"}, 403),
     ({"Origin": "http://127.0.0.1:{port}"}, 200), ({"Origin": "http://localhost:{port}"}, 200),
     ({"Origin": "null"}, 403), ({"Origin": "http://evil.example"}, 403), ({"Origin": "http://localhost:1"}, 403),
     ({"Origin": "http://localhost"}, 403), ({"Origin": "file://"}, 403), ({"Origin": ""}, 403),
     ({"Origin": "http://127.0.0.1:{port}.evil.example"}, 403), ({"Origin": "http://127.0.0.1:{port}/x"}, 403)],
)  # fmt: skip
def test_host_and_origin(service, headers, status):
    got, answer = service.call("capabilities", {n: v.format(port=service.port) for n, v in headers.items()})
    assert got == status
    assert ("result" in answer) is (status == 200)


def ask(service, *, method="POST", target="/", host="127.0.0.1", length=b"Content-Length: 2\r\n", more="", body=b"{}"):
    head = f"{method} {target} HTTP/1.1\r\nHost: {host}:{service.port}\r\n{more}".encode()
    return error_of(service.raw(head + length + b"\r\n" + body))[0]


def test_the_order_of_checks(guarded):
    """Each request is wrong in all later ways, too."""
    token = "Authorization: Bearer s3cret ü\r\n".encode().decode("latin-1")
    bad, huge, junk = b"Content-Length: x\r\n", b"Content-Length: 99999999999999999999999\r\n", b"{nope"
    assert ask(guarded, host="evil.example", target="/nope", length=bad, body=junk) == 403
    assert ask(guarded, more="Origin: http://evil.example\r\n", target="/nope", length=huge, body=junk) == 403
    assert ask(guarded, target="/nope", length=bad, body=junk) == 401
    assert ask(guarded, target="/nope", length=huge, body=junk) == 401

    def encoded(**more):
        head = f"POST {more.get('target', '/')} HTTP/1.1\r\nHost: localhost:{guarded.port}\r\n{token}".encode("latin-1")
        return error_of(guarded.raw(head + more["length"] + b"\r\n" + junk))

    assert encoded(target="/nope", length=bad)[0] == 404
    assert encoded(target="/nope", length=huge)[0] == 404
    for framing in (bad, b"", b"Content-Length: -1\r\n", b"Content-Length: 2\r\nContent-Length: 3\r\n", bad + huge,
                    b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: chunked\r\n" + huge):  # fmt: skip
        status, error = encoded(length=framing)
        assert (status, error["code"]) == (400, -32600), framing
    assert encoded(length=huge)[0] == 413
    assert encoded(length=b"Content-Length: 5\r\n") == (
        400,
        {"code": -32700, "message": "The body is no JSON in UTF-8."},
    )


def test_tokens(guarded):
    good = "s3cret ü".encode().decode("latin-1")
    for wrong in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic s3cret"}, {"Authorization": good},
                  {"Authorization": "Bearer "}, {"Authorization": f"Bearer {good}x"}):  # fmt: skip
        for path in ("/rpc", "/health", "/metrics"):
            status, headers, text = guarded.request("POST" if path == "/rpc" else "GET", path, headers=wrong)
            assert (status, headers["www-authenticate"]) == (401, "Bearer")
            assert json.loads(text)["error"]
    assert guarded.call("outline", {"Authorization": f"bearer {good}"}, path="m.py")[0] == 200
    assert guarded.request("GET", "/health", headers={"Authorization": f"Bearer {good}"})[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/", 405), ("PUT", "/rpc", 405), ("POST", "/health", 405), ("OPTIONS", "/", 405), ("GET", "/nope", 404),
     ("POST", "/rpc/", 404), ("POST", "/mcp", 404), ("POST", "/%2e%2e/etc", 404), ("HEAD", "/healthz", 200),
     ("GET", "/health?x=1", 200)],
)  # fmt: skip
def test_endpoints(service, method, path, status):
    got, headers, text = service.request(method, path, headers={"Content-Length": "0"})
    assert got == status
    assert status == 200 or json.loads(text)["error"]
    assert status != 405 or headers["allow"]


@pytest.mark.parametrize(
    "sent",
    [b"\r\n\r\n\r\n", b"GARBAGE\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
     b"POST / HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"POST / HTTP/1.1\nBad Header: x\n\n",
     b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"a" * 20000 + b"\r\n\r\n",
     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
     b"POST http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"],
)  # fmt: skip
def test_what_is_no_http_is_answered_in_json(service, sent):
    status, _ = error_of(service.raw(sent))
    assert status in (400, 403, 404)


def test_a_large_body_is_refused_and_the_client_hears_it(service):
    """Also when it sends everything before it reads."""
    body = b"x" * 2_000_000
    status, answer = service.post(body)
    assert status == 413
    assert "5,000" in answer["error"]["message"]


def test_slow_clients(service):
    """The time counts as a whole: a byte now and then does not help."""
    head = f"POST / HTTP/1.1\r\nHost: localhost:{service.port}\r\nContent-Length: 100\r\n".encode()
    drops = [bytes([byte]) for byte in head]
    started = time.monotonic()
    with service.connect() as slow_head, service.connect() as slow_body, service.connect() as silent:
        slow_head.sendall(head[:20])
        slow_body.sendall(head + b"\r\n")
        for drop in drops[20:31]:
            slow_head.sendall(drop)
            slow_body.sendall(b" ")
            time.sleep(0.1)
        for slow in (slow_head, slow_body):
            assert error_of(received(slow))[0] == 408
        assert silent.recv(10) == b""
    assert time.monotonic() - started < 10


def test_a_hanging_parse_is_cut_while_others_go_on(service):
    """And so is one whose client has left."""
    before = service.workers()
    with service.connect() as hanging:
        body = b'{"jsonrpc":"2.0","id":1,"method":"chunk_file","params":{"path":"slow/hang.slow"}}'
        hanging.sendall(f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        for _ in range(5):
            assert service.call("outline", path="m.py")[0] == 200
        answer = received(hanging)
    status, error = error_of(answer)
    assert (status, error["data"]["reason"]) == (200, "deadline")
    assert "2 seconds" in error["message"]
    with service.connect() as leaving:
        leaving.sendall(f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        time.sleep(0.3)
    while not any(event.get("outcome") == "cancelled" for event in service.events):
        time.sleep(0.05)
    assert service.call("outline", path="m.py")[0] == 200
    assert set(before) != set(service.workers())


def test_a_hanging_file_costs_a_folder_only_itself(service):
    _, answer = service.call("chunk_directory", path="slow", concurrency=2)
    rows = {row["filepath"].removeprefix("slow/"): row for row in answer["result"]}
    assert {name: row["outcome"] for name, row in rows.items()} == {
        "hang.slow": "failed",
        "soon.slow": "ok",
        "zero.slow": "ok",
    }
    assert "2 seconds" in rows["hang.slow"]["error"]


def test_a_busy_service_says_when_to_come_again(root, plugin):
    with Running(root, "--max-calls", "1", "--max-connections", "3", env=plugin) as running:
        body = b'{"jsonrpc":"2.0","id":1,"method":"chunk_file","params":{"path":"slow/hang.slow"}}'
        with running.connect() as hanging:
            hanging.sendall(
                f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
            )
            while json.loads(running.request("GET", "/health")[2])["running"] == 0:
                time.sleep(0.02)
            body = json.dumps({"jsonrpc": "2.0", "id": 9, "method": "outline", "params": {"path": "m.py"}})
            status, headers, text = running.request("POST", "/", body)
            assert (status, headers["retry-after"], json.loads(text)["id"]) == (503, "1", 9)
            with running.connect(), running.connect():
                answer = running.raw(b"GET /health HTTP/1.1\r\n")
                assert error_of(answer)[0] == 503
                assert b"retry-after: 1" in answer


def test_answers_that_nobody_takes_do_not_fill_the_memory():
    """While too much waits for slow clients, no request is taken."""
    from omnichunk.serve.http import Settings
    from omnichunk.serve.protocol import Protocol

    kind = Protocol.configured(Settings().gate(3333), 5, 9)
    held = [0]
    kind.slow.add(Mock(**{"transport.get_write_buffer_size": lambda: held[0]}))

    async def application(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def session():
        config = uvicorn.Config(application, lifespan="off", log_config=None)
        config.load()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: kind(config, uvicorn.server.ServerState(), {}), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        heads = []
        for held[0] in (1 << 20, 1 << 30):
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()
        server.close()
        return heads

    first, second = asyncio.run(session())
    assert b" 204 " in first
    assert b" 503 " in second
    assert b"retry-after: 1" in second


def test_the_log_holds_no_content(service):
    assert service.call("chunk_file", path="notes.md")[0] == 200
    service.call("chunk_file", path="link.txt")
    lines = json.dumps(service.events)
    assert "noise" not in {event["event"] for event in service.events}
    assert '"method": "chunk_file"' in lines
    assert "Words again" not in lines
    assert "SECRET" not in lines


def test_tls_and_a_signal_that_lets_calls_end(root, plugin, tmp_path):
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", key, "-out", cert, "-subj", "/CN=localhost"],
        capture_output=True,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("no openssl to make a certificate with")
    context = ssl.create_default_context(cafile=str(cert))
    context.check_hostname = False
    body = b'{"jsonrpc":"2.0","id":1,"method":"chunk_file","params":{"path":"slow/soon.slow"}}'
    with Running(root, "--tls-cert", str(cert), "--tls-key", str(key), env=plugin) as running:
        with running.connect() as s, context.wrap_socket(s) as secure:
            secure.sendall(f"GET /health HTTP/1.1\r\nHost: localhost:{running.port}\r\n\r\n".encode())
            assert b'"status":"ok"' in received(secure)
            secure.sendall(f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            time.sleep(0.2)
            workers = running.workers()
            running.process.send_signal(signal.SIGTERM)
            assert b'"result":' in received(secure)
        assert running.stop() == 0
        assert running.events[-1]["event"] == "ended"
    for pid in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize(
    ("flags", "said"),
    [(["--allowed-root", "."], "--rpc"), (["--rpc", "--allowed-root", "no-such"], "no such folder"),
     (["--rpc", "--allowed-root", ".", "--host", "0.0.0.0"], "--token-env"),
     (["--rpc", "--allowed-root", ".", "--token-env", "NO_SUCH_VARIABLE"], "not set"),
     (["--rpc", "--allowed-root", ".", "--token-env", "EMPTY"], "empty"),
     (["--rpc", "--allowed-root", ".", "--tls-cert", "x"], "together"), (["--rpc", "--allowed-root", ""], "empty"),
     (["--rpc", "--allowed-root", ".", "--allowed-host", "http://x"], "--allowed-host"), (["--rpc"], "root")],
)  # fmt: skip
def test_it_does_not_start_unsafely(flags, said, tmp_path):
    done = subprocess.run([sys.executable, "-m", "omnichunk", "serve", *flags], capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "EMPTY": ""}, timeout=30)  # fmt: skip
    assert done.returncode == 2
    assert said in done.stderr
    assert not done.stdout
