"""The service as a process of its own, and raw requests to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time


class Running:
    """`omnichunk serve` on a free port; ``events`` are the lines of its log."""

    def __init__(self, root, *flags, protocol=("--rpc",), env=None):
        command = [
            sys.executable,
            "-m",
            "omnichunk",
            "serve",
            *protocol,
            "--allowed-root",
            str(root),
            "--port",
            "0",
            *flags,
        ]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, **(env or {})})
        self.events = []
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._ready.wait(30) or self.process.poll() is not None:
            self.stop()
            raise RuntimeError(f"the service did not start: {self.events}")

    def _read(self):
        for line in self.process.stderr:
            try:
                event = json.loads(line)
            except ValueError:
                event = {"event": "noise", "line": line}
            self.events.append(event)
            if event["event"] == "listening":
                self.port = int(event["url"].rpartition(":")[2])
                self._ready.set()
        self._ready.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, how=signal.SIGTERM):
        """End it, if it has not ended; the status it left with."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            status = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self._reader.join(5)
        self.process.stderr.close()
        return status

    def workers(self):
        """Process ids of its workers."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            return [int(child) for child in file.read().split()]

    def memory(self):
        """Kilobytes that it and its workers hold."""
        total = 0
        for pid in (self.process.pid, *self.workers()):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
                total += next((int(line.split()[1]) for line in file if line.startswith("VmRSS:")), 0)
        return total

    def request(self, method, path, body=None, headers=None):
        """Status, headers and text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read().decode()
        finally:
            connection.close()

    def post(self, body, headers=None, path="/"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, _, text = self.request("POST", path, data, {"Content-Type": "application/json", **(headers or {})})
        return status, json.loads(text) if text else None

    def call(self, method, headers=None, **params):
        return self.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def raw(self, *parts, wait=0.0):
        """What comes back for these bytes, sent with pauses between them."""
        with self.connect() as s, contextlib.suppress(ConnectionError):
            for part in parts:
                s.sendall(part)
                time.sleep(wait)
            return received(s)
        return b""


def received(s):
    """All that a connection has to say until it ends, or one answer of a known length."""
    data = b""
    while part := s.recv(1 << 16):
        data += part
        head, found, body = data.partition(b"\r\n\r\n")
        length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if found and length and len(body) >= int(length[0].split(b":")[1]):
            break
    return data


def error_of(answer):
    """Status and error of a raw answer, which must be well-formed."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head.split(b" ")[1])
    told = json.loads(body)
    assert told["jsonrpc"] == "2.0"
    assert set(told) == {"jsonrpc", "id", "error"}
    assert isinstance(told["error"]["code"], int)
    assert told["error"]["message"]
    return status, told["error"]
