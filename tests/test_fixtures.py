"""Cases as data: ``fixtures/<case>/{case.toml, input.*, expected.json}``; ``--update`` rewrites what is expected.

``case.toml``: ``about`` (what the case is about), optional ``name`` (label of the source), ``[options]``, and either
``error`` (a part of the message of the ChunkingError it must end in) or ``expected.json`` beside it. ``input`` may be
given as a Python expression instead of a file where a file would be unreadable (``input = "'x' * 1_000_000"``). An
expectation that is too long to read holds the SHA-256 of the texts instead of the texts.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from omnichunk import Chunker, ChunkingError, PluginRegistry, Source
from omnichunk.testing import check_loader
from support import check_invariants

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FIXTURES = Path(__file__).parent.parent / "fixtures"
CASES = sorted(p.parent.name for p in FIXTURES.glob("*/case.toml"))
LONG = 20_000


def read(case: str):
    folder = FIXTURES / case
    described = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    files = sorted(folder.glob("input.*"))
    if files:
        data = files[0].read_bytes()
        name = described.get("name", files[0].name)
    else:
        data = eval(described["input"], {"__builtins__": {"bytes": bytes, "range": range, "chr": chr}})
        name = described["name"]
    return described, name, data


def chunks_of(name, data, options):
    """Chunks of text as text, of bytes as what a file of that name holds."""
    chunker = Chunker(**options)
    return chunker.chunk(name, data) if isinstance(data, str) else chunker.chunk_bytes(name, data)


def summary(chunks):
    """What a fixture records of its chunks: enough to see a change, little enough to read."""
    if sum(len(c.text) for c in chunks) > LONG:
        digest = sha256("\0".join(c.contextualized_text for c in chunks).encode()).hexdigest()
        return {"chunks": len(chunks), "sha256": digest, "errors": list(chunks[0].context.parse_errors)}
    rows = []
    for c in chunks:
        row = {"lines": [c.line_range.start, c.line_range.end], "payload": c.contextualized_text}
        if c.contextualized_text != c.text:
            row["text"] = c.text
        x = c.context
        row["context"] = {
            "language": x.language,
            "content": x.content_type,
            "section": x.section_type,
            "headings": list(x.heading_hierarchy),
            "scope": [e.name for e in x.scope],
            "entities": [f"{e.type} {e.name}" + (" (partial)" if e.is_partial else "") for e in x.entities],
            "errors": list(x.parse_errors),
        }
        row["context"] = {k: v for k, v in row["context"].items() if v}
        for key in ("context_omitted", "context_shortened"):
            if key in c.metadata:
                row[key] = c.metadata[key]
        rows.append(row)
    return rows


@pytest.mark.parametrize("case", CASES)
def test_fixture(case, request):
    described, name, data = read(case)
    options = described.get("options", {})
    if "error" in described:
        with pytest.raises(ChunkingError) as caught:
            chunks_of(name, data, options)
        assert described["error"] in str(caught.value)
        return
    chunks = chunks_of(name, data, options)
    found = json.loads(json.dumps(summary(chunks)))
    expected = FIXTURES / case / "expected.json"
    if request.config.getoption("--update"):
        expected.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    assert found == json.loads(expected.read_text(encoding="utf-8"))
    assert chunks == chunks_of(name, data, options)
    loader = PluginRegistry().loader_for(Source(name, data))
    if loader.binary:
        check_loader(loader, [(name, data)], **{k: v for k, v in options.items() if k in loader.options})
        return
    text = data if isinstance(data, str) else "".join(c.text for c in chunks)
    if isinstance(data, bytes) and data.decode("utf-8", "replace").encode() == data:
        text = data.decode()
    check_invariants(name, text, **options)
    check_invariants(name, text, **{**options, "coverage_policy": "lossless"})
