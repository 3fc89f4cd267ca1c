"""The built-in strategies, declared as a plugin would."""

from __future__ import annotations

from collections.abc import Iterable

from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import Strategy
from omnichunk.streaming.budget import BudgetChunker
from omnichunk.streaming.markdown import MarkdownBlockChunker
from omnichunk.streaming.strategies import (
    JSONLinesChunker,
    LineChunker,
    ParagraphChunker,
    SentenceChunker,
    WordChunker,
)


@hookimpl
def omnichunk_strategies() -> Iterable[Strategy]:
    return (
        Strategy("sentence", SentenceChunker),
        Strategy("word", WordChunker),
        Strategy("paragraph", ParagraphChunker),
        Strategy("line", LineChunker),
        Strategy("jsonl", JSONLinesChunker),
        Strategy("markdown", MarkdownBlockChunker),
        Strategy("budget", BudgetChunker),
    )
