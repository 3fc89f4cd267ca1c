"""Embeddings from an HTTP endpoint that speaks as that of OpenAI does; many servers for local models do."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPException
from itertools import count
from time import sleep
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from omnichunk.errors import EmbeddingError, OptionError

_PASSING = (408, 409, 425, 429, 500, 502, 503, 504)
"""Answers after which it may be tried again."""
_WAIT, _LONGEST = 0.5, 30.0
"""Seconds before it is tried again for the first time, doubled each time; and the longest that a server may ask for."""


class Endpoint:
    """``POST url/embeddings``. Nothing else is contacted, and nothing before the first call.

    ``url``: as ``http://localhost:11434/v1``; there is no default. ``key_env``: name of the environment variable with the
    key; it is read with each call, and goes to ``url`` alone. ``dimensions``: asked for, if the model can be asked.
    ``revision``: your name for the state of a model that may change behind its name; it enters ``fingerprint``.
    ``batch_size``: texts a request. ``timeout``: seconds. ``retries``: further tries when the server is busy or down.
    """

    def __init__(
        self,
        model: str,
        *,
        url: str,
        key_env: str | None = None,
        dimensions: int | None = None,
        revision: str = "",
        batch_size: int = 128,
        timeout: float = 60.0,
        retries: int = 3,
    ) -> None:
        if not isinstance(model, str) or not model:
            raise OptionError(f"openai: model={model!r}; the name of a model is needed.")
        if key_env is not None and not isinstance(key_env, str):
            raise OptionError(f"openai: key_env={key_env!r:.60}; the name of an environment variable is needed.")
        if not isinstance(revision, str):
            raise OptionError(f"openai: revision={revision!r:.60}; a str is needed.")
        wanted = 1 if dimensions is None else dimensions
        for name, value, least in (("batch_size", batch_size, 1), ("retries", retries, 0), ("dimensions", wanted, 1)):
            if type(value) is not int or value < least:
                raise OptionError(f"openai: {name}={value!r}; a whole number of at least {least} is needed.")
        if type(timeout) not in (int, float) or not timeout > 0:
            raise OptionError(f"openai: timeout={timeout!r}; a number of seconds above 0 is needed.")
        self._url = _address(url)
        self._body: dict[str, Any] = {"model": model, "encoding_format": "float"}
        if dimensions is not None:
            self._body["dimensions"] = dimensions
        self._key_env = key_env
        self._batch = batch_size
        self._timeout = timeout
        self._retries = retries
        self.fingerprint = json.dumps(["openai", self._url, model, dimensions, revision])

    def __repr__(self) -> str:
        return f"openai: {self._body['model']}"

    def __call__(self, texts: list[str]) -> list[Any]:
        """A list of numbers for each text. Raises EmbeddingError when the endpoint does not give them."""
        rows: list[Any] = []
        for start in range(0, len(texts), self._batch):
            rows += self._rows(texts[start : start + self._batch])
        return rows

    def _rows(self, texts: Sequence[str]) -> list[Any]:
        answer = self._posted(json.dumps({**self._body, "input": list(texts)}).encode())
        try:
            found = sorted(json.loads(answer)["data"], key=lambda item: item["index"])
            rows = [item["embedding"] for item in found]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self._failed("the answer is not that of an endpoint for embeddings. Check url") from None
        if len(rows) != len(texts):
            raise self._failed(f"{len(rows)} vectors came for {len(texts)} texts")
        return rows

    def _posted(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key_env is not None:
            key = os.environ.get(self._key_env, "")
            if not key.strip():
                raise self._failed(f"the environment variable {self._key_env} with the key is not set")
            headers["Authorization"] = f"Bearer {key.strip()}"
        request = Request(self._url, body, headers, method="POST")
        opener = build_opener(_NoRedirect)
        for tried in count():
            wait = min(_WAIT * 2**tried, _LONGEST)
            try:
                with opener.open(request, timeout=self._timeout) as answer:
                    read: bytes = answer.read()
                    return read
            except HTTPError as error:
                with error:
                    told = _told(error)
                if error.code not in _PASSING or tried >= self._retries:
                    raise self._failed(f"status {error.code}{told}") from None
                wait = _asked(error.headers.get("Retry-After"), wait)
            except (URLError, HTTPException, OSError) as error:
                if tried >= self._retries:
                    reason = getattr(error, "reason", None) or error
                    raise self._failed(f"cannot be reached: {reason}") from None
            sleep(wait)
        raise AssertionError("unreachable")

    def _failed(self, what: str) -> EmbeddingError:
        return EmbeddingError(f"{self._url}: {what}.")


def _address(url: object) -> str:
    """Where to post to. Raises OptionError for what is no address, or has a password, which errors would repeat."""
    with suppress(ValueError):  # brackets or a port that are none
        parts = urlsplit(url if isinstance(url, str) else "")
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if usable and parts.username is None:
            return parts._replace(path=parts.path.rstrip("/") + "/embeddings", fragment="").geturl()
    shown = f"…@{url.rpartition('@')[2]}" if isinstance(url, str) and "@" in url else url
    raise OptionError(
        f"openai: url={shown!r:.80}; an address such as http://localhost:11434/v1 is needed. A key belongs into the "
        "environment variable that key_env names."
    )


class _NoRedirect(HTTPRedirectHandler):
    """What redirects, an answer as any other: the key is for the address that was named."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _told(error: HTTPError) -> str:
    """What the server says is wrong, shortened to a line."""
    said = " ".join(error.read(2000).decode("utf-8", "replace").split())
    return f": {said[:300]}" if said else ""


def _asked(header: str | None, usual: float) -> float:
    """Seconds that ``Retry-After`` asks to wait, or the usual ones."""
    return min(float(header), _LONGEST) if header and header.strip().isdecimal() else usual
