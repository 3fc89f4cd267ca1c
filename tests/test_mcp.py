"""The MCP server, spoken to by the official client: over standard input and output, over HTTP, of both eras."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager

import pytest

from omnichunk import Chunker
from serving import Running

pytest.importorskip("mcp")

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

TOKEN = {"Authorization": "Bearer secret"}
NOISY = """
import os, sys
from omnichunk import LoadedDocument, Loader, hookimpl
print("noise of a plugin that is imported")

def load(source):
    print("noise of a plugin that is called")
    os.system("echo noise of a child")
    os.write(1, b"noise on the descriptor")
    if source.data == b"hang":
        import time
        time.sleep(60)
    return LoadedDocument(text=source.data.decode(), segments=())

@hookimpl
def omnichunk_loaders():
    return [Loader(name="noisy", suffixes=(".noisy",), load=load)]
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    base = tmp_path_factory.mktemp("mcp")
    (base / "outside.txt").write_text("TOP SECRET")
    allowed = base / "project"
    (allowed / "docs").mkdir(parents=True)
    (allowed / "m.py").write_text(
        "import os\n\n\ndef f(a):\n    return a\n\n\nclass C:\n    def g(self):\n        return 1\n"
    )
    (allowed / "docs" / "guide.md").write_text("# Guide\n\nWörds.\n\n## More\n\nWords again.\n")
    (allowed / "n.noisy").write_text("Noisy words.")
    (allowed / "hang.noisy").write_text("hang")
    (allowed / "docs" / os.fsdecode(b"\xff.txt")).write_text("Its name is no UTF-8.")
    (allowed / "link.txt").symlink_to(base / "outside.txt")
    return allowed


@pytest.fixture(scope="module")
def env(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "noisy_loader.py").write_text(NOISY)
    info = folder / "noisy_loader-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: noisy-loader\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[omnichunk]\nnoisy = noisy_loader\n")
    return {"PYTHONPATH": str(folder)}


@pytest.fixture(scope="module")
def over_http(root, env):
    flags = ("--token-env", "T")
    with Running(root, *flags, protocol=("--rpc", "--mcp"), env={**env, "T": "secret"}) as running:
        yield running


@pytest.fixture(params=["stdio", "http"])
def connect(request, root, env):
    """A client of the server over one of the transports."""
    if request.param == "http":
        running = request.getfixturevalue("over_http")

        @asynccontextmanager
        async def transport():
            async with (
                httpx2.AsyncClient(headers=TOKEN) as http,
                streamable_http_client(f"http://127.0.0.1:{running.port}/mcp", http_client=http) as streams,
            ):
                yield streams
    else:
        command = ["-m", "omnichunk", "serve", "--mcp", "--allowed-root", str(root), "--log-level", "error"]

        def transport():
            return stdio_client(StdioServerParameters(command=sys.executable, args=command, env=env))

    @asynccontextmanager
    async def connected(mode="auto", **more):
        async with Client(transport(), mode=mode, **more) as client:
            yield client

    return connected


def run(work):
    return asyncio.run(asyncio.wait_for(work, 60))


async def cancelled(client):
    """A call that hangs is cancelled: its worker is ended, and the next call is answered."""
    call = asyncio.ensure_future(client.call_tool("chunk_file", {"path": "hang.noisy"}))
    await asyncio.sleep(0.5)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    result = await client.call_tool("chunk_file", {"path": "m.py"})
    assert not result.is_error


def test_a_session(connect, root):
    """Lifecycle, discovery, every tool, resources, progress and errors, in one session."""

    async def session():
        async with connect() as client:
            assert client.server_info.name == "omnichunk"
            assert client.server_capabilities.tools is not None
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == {"chunk_file", "chunk_directory", "outline", "read_around", "capabilities"}
            assert tools["chunk_file"].input_schema["required"] == ["path"]
            assert tools["chunk_file"].annotations.read_only_hint

            result = await client.call_tool("chunk_file", {"path": "m.py", "max_chunk_size": 60})
            rows = result.structured_content["result"]
            expected = Chunker().chunk_file(root / "m.py", max_chunk_size=60)
            assert [row["text"].rpartition("\n\n")[2] or row["text"] for row in rows]
            assert len(rows) == len(expected)
            assert json.loads(result.content[0].text) == result.structured_content
            full = await client.call_tool("chunk_file", {"path": "m.py", "detail": "full"})
            assert full.structured_content["result"][0]["schema_version"] == 1

            told = []

            async def progress(done, total, message):
                told.append((done, total, message))

            result = await client.call_tool("chunk_directory", {"glob": ["*.py", "*.md"]}, progress_callback=progress)
            assert [row["filepath"] for row in result.structured_content["result"]] == ["docs/guide.md", "m.py"]
            assert told == [(1, 2, "docs/guide.md"), (2, 2, "m.py")]

            entries = (await client.call_tool("outline", {"path": "m.py"})).structured_content["entries"]
            assert [entry["name"] for entry in entries] == ["f", "C", "g"]
            around = (await client.call_tool("read_around", {"uri": rows[0]["uri"]})).structured_content
            assert around["chunks"][0] == rows[0]
            languages = (await client.call_tool("capabilities", {})).structured_content["languages"]
            assert "python" in {row["language"] for row in languages}
            noisy = await client.call_tool("chunk_file", {"path": "n.noisy"})
            assert noisy.structured_content["result"][0]["text"].endswith("Noisy words.")

            for arguments in (
                {"path": "../outside.txt"},
                {"path": "link.txt"},
                {"path": "m.py", "nope": 1},
                {"path": "no"},
            ):
                result = await client.call_tool("chunk_file", arguments)
                assert result.is_error
                assert "SECRET" not in result.content[0].text
            for name in ("nope", "list_files"):
                with pytest.raises(MCPError):
                    await client.call_tool(name, {})

            listed = (await client.list_resources()).resources
            names = ("docs/guide.md", "docs/%FF.txt", "hang.noisy", "m.py", "n.noisy")
            assert [resource.uri for resource in listed] == [f"chunk:///{name}" for name in names]
            templates = (await client.list_resource_templates()).resource_templates
            assert templates[0].uri_template.startswith("chunk:///{+path}")
            one = (await client.read_resource(rows[1]["uri"])).contents
            assert [content.text for content in one] == [rows[1]["text"]]
            (odd,) = (await client.call_tool("chunk_directory", {"path": "docs", "glob": "*.txt"})).structured_content[
                "result"
            ]
            assert odd["filepath"] == "docs/?.txt"
            assert (await client.read_resource(odd["chunks"][0]["uri"])).contents[0].text.endswith("no UTF-8.")
            all_of_it = (await client.read_resource("chunk:///docs/guide.md")).contents
            assert "Wörds." in all_of_it[0].text
            for uri in ("chunk:///../outside.txt", "chunk:///link.txt", "file:///etc/passwd", "chunk:///m.py?index=99",
                        "chunk:///m.py?tokenizer=/etc/x.json", "chunk://host/m.py"):  # fmt: skip
                with pytest.raises(MCPError):
                    await client.read_resource(uri)
            await cancelled(client)

    run(session())


def test_the_handshake_of_earlier_clients(connect, request):
    async def session():
        async with connect(mode="legacy") as client:
            assert client.protocol_version < "2026"
            told = []

            async def progress(done, total, message):
                told.append(done)

            result = await client.call_tool("chunk_directory", {"glob": "guide.md"}, progress_callback=progress)
            assert not result.is_error
            assert told == [1]
            await cancelled(client)

    run(session())
    if request.node.callspec.params["connect"] == "http":
        numbers = request.getfixturevalue("over_http").request("GET", "/metrics", headers=TOKEN)[2]
        assert 'omnichunk_workers_lost_total{reason="cancelled"}' in numbers


def test_standard_output_holds_messages_only(root, env):
    """Whatever plugins print, at import and when called, and whatever the client sends."""
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "chunk_file", "arguments": {"path": "n.noisy"}}},
        {"jsonrpc": "2.0", "id": 3, "method": "nope"},
    ]  # fmt: skip
    command = [sys.executable, "-m", "omnichunk", "serve", "--mcp", "--allowed-root", str(root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env={**os.environ, **env}) as process:  # fmt: skip
        process.stdin.write("no message\n" + "".join(json.dumps(message) + "\n" for message in messages))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.stdout.close()  # a client that leaves is no failure
        process.stdin.write('{"jsonrpc": "2.0", "id": 4, "method": "ping"}\n')
        process.stdin.close()
        errors = process.stderr.read()
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert {answer.get("id") for answer in answers} >= {1, 2, 3}
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    events = [json.loads(line) for line in errors.splitlines() if line.startswith("{")]
    assert any(event["event"] == "call" for event in events)
    assert "Noisy words" not in errors


def test_http_is_guarded_as_rpc_is(over_http):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    for headers, status in (({"Host": "evil.example"}, 403), ({"Origin": "http://evil.example"}, 403)):
        assert over_http.request("POST", "/mcp", body, {**TOKEN, **headers})[0] == status
    assert over_http.request("POST", "/mcp", body)[0] == 401
    assert over_http.request("POST", "/mcp", "x" * 2_000_000, TOKEN)[0] == 413
    assert over_http.request("POST", "/nope", body, TOKEN)[0] == 404
    assert over_http.call("outline", TOKEN, path="m.py")[0] == 200
