"""Outlines: what is known of ``fixtures/lang-*/input.*``, beside the chunks that ``test_fixtures`` checks.

``outline.txt`` has a line for each definition, two blanks further in than the one around it: its lines, type, name,
signature and the first line of its documentation, then the imports; ``--update`` rewrites it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_language_pack")
from omnichunk import Chunker
from test_fixtures import FIXTURES, read

CASES = sorted(path.name for path in FIXTURES.glob("lang-*"))


def outline(name: str, data: bytes) -> str:
    """The entities of all chunks in document order, and the imports."""
    chunks = Chunker(max_chunk_size=100_000, min_chunk_size=1).chunk_bytes(name, data)
    found = {(e.byte_range, e.type, e.name): e for chunk in chunks for e in chunk.context.entities}
    lines: list[str] = []
    around: list[int] = []
    for entity in sorted(found.values(), key=lambda e: (e.byte_range.start, -e.byte_range.end)):
        while around and around[-1] <= entity.byte_range.start:
            around.pop()
        first, last = entity.line_range.start + 1, entity.line_range.end + 1
        line = f"{'  ' * len(around)}{first}-{last} {entity.type} {entity.name} | {entity.signature}"
        doc = entity.docstring.splitlines()
        lines.append(line + (f" | {doc[0]}" if doc else ""))
        around.append(entity.byte_range.end)
    lines += [f"import {i.name}" + (f" from {i.source}" if i.source else "") for i in chunks[0].context.imports]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("case", CASES)
def test_outline(case, request):
    """Kinds, names, nesting, signatures, documentation and imports are what a reader would say."""
    _, name, data = read(case)
    expected = Path(FIXTURES, case, "outline.txt")
    found = outline(name, data)
    if request.config.getoption("--update"):
        expected.write_text(found, encoding="utf-8")
    assert found == expected.read_text(encoding="utf-8")
    assert found == outline(name, data)
