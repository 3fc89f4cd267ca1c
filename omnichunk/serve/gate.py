"""What is asked of a request before anything of it is done, in this order: where it comes from, who sends it, where it
goes, how it is framed, how large it is. A function of the head alone, so that it can be applied to heads that no parser
accepts, too.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

LOOPBACK = ("127.0.0.1", "localhost", "::1")
INVALID_REQUEST, REFUSED = -32600, -32000
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:@/?#\s]+))(?::(\d{1,5}))?")
_ORIGIN = re.compile(r"http(s?)://(.+)", re.IGNORECASE)
_ORIGIN_REFUSED = "Origin: pages from there may not use this service. Allow their host with --allowed-host."
_LENGTH = re.compile(rb"[0-9]+")

Headers = Sequence[tuple[bytes, bytes]]
"""Names, in lower case, and values."""


@dataclass(frozen=True)
class Refusal:
    """The answer to a request that is not let in: an HTTP status and what is said."""

    status: int
    message: str
    headers: tuple[tuple[str, str], ...] = ()
    code: int = REFUSED

    @property
    def body(self) -> bytes:
        """As a JSON-RPC error."""
        return error_body(self.code, self.message)


def error_body(code: int, message: str, identity: object = None, reason: str = "") -> bytes:
    """A JSON-RPC error."""
    error = {"code": code, "message": message, **({"data": {"reason": reason}} if reason else {})}
    return json.dumps({"jsonrpc": "2.0", "id": identity, "error": error}, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Gate:
    """``own``: names it has anyhow, with ``port``, its own. ``hosts``: more names, each perhaps with a port, else with any.

    ``anywhere``: it listens on all addresses, so the one a connection came in on is a name of it, too. ``token``: what a
    client has to show, or ``None``. ``endpoints``: the methods of each path. ``max_body``: bytes.
    """

    port: int
    endpoints: Mapping[str, tuple[str, ...]]
    max_body: int
    token: bytes | None = None
    hosts: tuple[str, ...] = ()
    own: tuple[str, ...] = LOOPBACK
    anywhere: bool = False
    tls: bool = False
    _allowed: frozenset[tuple[str, int | None]] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        allowed = (authority(host) for host in self.hosts)
        object.__setattr__(self, "_allowed", frozenset(pair for pair in allowed if pair is not None))

    def refusal(
        self, method: str, target: str, headers: Headers, local: str = "", broken: bool = False
    ) -> Refusal | None:
        """Why a request is not let in, if so. ``local``: the address it came in on. ``broken``: no parser reads it."""
        return (
            self._foreign(headers, local)
            or self._unknown(headers)
            or self._nowhere(method, target)
            or self._unframed(method, headers)
            or self._large(headers)
            or (Refusal(400, "This is no HTTP/1.1 request.", code=INVALID_REQUEST) if broken else None)
        )

    def _foreign(self, headers: Headers, local: str) -> Refusal | None:
        hosts = [value for name, value in headers if name == b"host"]
        named = authority(hosts[0].decode("latin-1")) if len(hosts) == 1 else None
        if named is None or not self._known(*named, local, (None, self.port)):
            return Refusal(403, "Host: this service does not go by that name. Allow it with --allowed-host.")
        usual = 443 if self.tls else 80
        for value in (value for name, value in headers if name == b"origin"):
            match = _ORIGIN.fullmatch(value.decode("latin-1"))
            origin = authority(match[2]) if match else None
            if match is None or origin is None:
                return Refusal(403, _ORIGIN_REFUSED)
            port = origin[1] or (443 if match[1] else 80)
            if not self._known(origin[0], port, local, (self.port, named[1] or usual)):
                return Refusal(403, _ORIGIN_REFUSED)
        return None

    def _known(self, name: str, port: int | None, local: str, ports: tuple[int | None, ...]) -> bool:
        if (name, None) in self._allowed or (name, port) in self._allowed:
            return True
        return (name in self.own or (self.anywhere and name == local != "")) and port in ports

    def _unknown(self, headers: Headers) -> Refusal | None:
        if self.token is None:
            return None
        given = [value for name, value in headers if name == b"authorization"]
        scheme, _, shown = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        if scheme.lower() == b"bearer" and hmac.compare_digest(shown.strip(), self.token):
            return None
        return Refusal(401, "A bearer token is needed.", (("www-authenticate", "Bearer"),))

    def _nowhere(self, method: str, target: str) -> Refusal | None:
        methods = self.endpoints.get(target.partition("?")[0])
        if methods is None:
            return Refusal(404, f"There is nothing here; there are {', '.join(self.endpoints)}.")
        if method not in methods:
            return Refusal(405, f"Use {' or '.join(methods)} here.", (("allow", ", ".join(methods)),))
        return None

    def _unframed(self, method: str, headers: Headers) -> Refusal | None:
        lengths = [value for name, value in headers if name == b"content-length"]
        if any(name == b"transfer-encoding" for name, _ in headers):
            return Refusal(400, "Transfer-Encoding is not taken. Send Content-Length.", code=INVALID_REQUEST)
        if len(lengths) > 1 or (lengths and not _LENGTH.fullmatch(lengths[0])) or (method == "POST" and not lengths):
            return Refusal(400, "Exactly one Content-Length, a number, is needed.", code=INVALID_REQUEST)
        return None

    def _large(self, headers: Headers) -> Refusal | None:
        lengths = [value.lstrip(b"0") for name, value in headers if name == b"content-length"]
        if lengths and (len(lengths[0]) > 18 or int(lengths[0] or b"0") > self.max_body):
            return Refusal(413, f"The body is larger than {self.max_body:,} bytes.")
        return None


def authority(text: str) -> tuple[str, int | None] | None:
    """Name and port of ``name``, ``name:port`` or ``[address]:port``; ``None`` for anything else."""
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        return None
    return (match[1] or match[2]).lower(), int(match[3]) if match[3] else None
