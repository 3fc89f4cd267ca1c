"""Cut a stream of text, such as the answer of a language model, into complete pieces as it arrives.

A `ChunkingStrategy` says of any text which pieces of it are complete: ``split`` gives those, ``flush`` what is left at
the end. `IncrementalChunker` gives the same pieces delta by delta, at the cost of the delta; `chunk_stream` and
`achunk_stream` wrap an iterator and say where each piece stands. Importing this imports nothing else of omnichunk.
"""

from omnichunk.streaming.budget import BudgetChunker
from omnichunk.streaming.incremental import IncrementalChunker, StreamChunk, achunk_stream, chunk_stream, strategy
from omnichunk.streaming.markdown import MarkdownBlockChunker
from omnichunk.streaming.protocol import ChunkingStrategy, Scanner
from omnichunk.streaming.strategies import (
    JSONLinesChunker,
    LineChunker,
    ParagraphChunker,
    SentenceChunker,
    WordChunker,
)

__all__ = [
    "BudgetChunker",
    "ChunkingStrategy",
    "IncrementalChunker",
    "JSONLinesChunker",
    "LineChunker",
    "MarkdownBlockChunker",
    "ParagraphChunker",
    "Scanner",
    "SentenceChunker",
    "StreamChunk",
    "WordChunker",
    "achunk_stream",
    "chunk_stream",
    "strategy",
]
