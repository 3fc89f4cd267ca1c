"""`omnichunk.streaming`: strategies, the same pieces however a text is divided, places, plugins, cost."""

from __future__ import annotations

import asyncio
import copy
import pickle
import subprocess
import sys
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnichunk import PluginRegistry, Strategy, hookimpl
from omnichunk.errors import ChunkingError, OptionError, PluginError, UnknownOptionError
from omnichunk.streaming import (
    BudgetChunker,
    ChunkingStrategy,
    IncrementalChunker,
    JSONLinesChunker,
    LineChunker,
    MarkdownBlockChunker,
    ParagraphChunker,
    SentenceChunker,
    StreamChunk,
    WordChunker,
    achunk_stream,
    chunk_stream,
    strategy,
)
from omnichunk.streaming.protocol import Scanner


class Foreign(ChunkingStrategy):
    """Knows whole texts only; drops what separates."""

    def split(self, accumulated_text):
        return [part for part in accumulated_text.split("a")[:-1] if part]

    def flush(self, accumulated_text):
        return [part for part in accumulated_text.split("a")[-1:] if part]


class Headless(Foreign):
    """Not local: the first piece of any text is missing."""

    def split(self, accumulated_text):
        return super().split(accumulated_text)[1:]


class Shouting(SentenceChunker):
    """Inherits a scanner that does not know what it does."""

    def split(self, accumulated_text):
        return [piece for piece in super().split(accumulated_text) if piece.endswith("!")]


STRATEGIES = [
    SentenceChunker(),
    WordChunker(),
    ParagraphChunker(),
    ParagraphChunker(crlf=True),
    LineChunker(),
    LineChunker(keep_ends=True),
    JSONLinesChunker(),
    MarkdownBlockChunker(),
    BudgetChunker(1),
    BudgetChunker(7),
    BudgetChunker(40),
    BudgetChunker(5, "nws"),
    BudgetChunker(6, "tokens"),
    BudgetChunker(9, "tokens", tokenizer=lambda text: 2 * len(text.split()) + text.count("x")),
    Foreign(),
    Headless(),
    Shouting(),
]
NAMES = [f"{type(s).__name__}-{i}" for i, s in enumerate(STRATEGIES)]
PIECES = [
    *[".", "!", "?", '"', "'", "”", "’", ")", "a", "b", "x", "é", "中", "\t", "\n", "\r"],
    *[
        " ",
        "  ",
        "\n\n",
        "\n\n\n",
        "\r\n",
        "\r\n\r\n",
        "\xa0",
        "\x1c",
        "\u3000",
        "...",
        "👩‍👩‍👧",
        "e\u0301",
        "🇹🇷",
        "\ufeff",
    ],
    *[
        "# h\n",
        "- i\n",
        "1. j\n",
        "   in\n",
        "```\n",
        "~~~",
        "| c | d |\n|---|---|\n",
        "> q\n",
        "---\n",
        "<!-- ",
        "-->\n",
    ],
    *['{"k": 1}\n', "word word word "],
]
TEXT = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)


def divided(text: str, cuts: list[int]) -> list[str]:
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


def streamed(kind: ChunkingStrategy, deltas: list[str]) -> tuple[list[str], list[str]]:
    chunker = IncrementalChunker(kind)
    pieces = [piece for delta in deltas for piece in chunker.feed(delta)]
    return pieces, chunker.flush()


@pytest.mark.parametrize("kind", STRATEGIES, ids=NAMES)
@given(text=TEXT, cuts=st.lists(st.integers(0, 500), max_size=8))
@example(text="One.” Two!\r\n\r\nThree 👩‍👩‍👧 e\u0301 x. \r\n", cuts=[])
@example(text="a\n\n\r\n\rb\n\r\nc\r\n\r\r\n", cuts=[])
def test_any_division_gives_the_same(kind, text, cuts):
    """One delta, one code point a delta, and anything between give what split() and flush() give of the whole."""
    whole = kind.split(text), kind.flush(text)
    assert streamed(kind, [text]) == whole
    assert streamed(kind, list(text)) == whole
    assert streamed(kind, divided(text, cuts)) == whole
    assert all(piece for piece in whole[0] + whole[1])


@pytest.mark.parametrize("kind", STRATEGIES, ids=NAMES)
@given(text=TEXT, cuts=st.lists(st.integers(0, 500), max_size=5))
def test_places_are_exact(kind, text, cuts):
    chunks = list(chunk_stream(divided(text, cuts), kind))
    assert [c.text for c in chunks] == kind.split(text) + kind.flush(text)
    assert all(text[c.start : c.end] == c.text and c.index == i for i, c in enumerate(chunks))
    assert all(a.end <= b.start for a, b in pairwise(chunks))


@pytest.mark.parametrize("kind", STRATEGIES, ids=NAMES)
@given(text=TEXT, end=st.integers(0, 500))
def test_what_was_complete_stays(kind, text, end):
    before = kind.split(text[: end % (len(text) + 1)])
    assert kind.split(text)[: len(before)] == before


@pytest.mark.parametrize("kind", STRATEGIES, ids=NAMES)
@given(text=TEXT, other=TEXT, cut=st.integers(0, 500))
def test_a_copy_goes_its_own_way(kind, text, other, cut):
    cut %= len(text) + 1
    chunker = IncrementalChunker(kind)
    head = [piece for char in text[:cut] for piece in chunker.feed(char)]
    twin = copy.copy(chunker) if cut % 2 else chunker.copy()
    branch = [*head, *twin.feed(other), *twin.flush()]
    rest = [*head, *chunker.feed(text[cut:]), *chunker.flush()]
    assert rest == kind.split(text) + kind.flush(text)
    assert branch == kind.split(text[:cut] + other) + kind.flush(text[:cut] + other)


# -- strategies of others ---------------------------------------------------------------------------------------------


class Answers(ChunkingStrategy):
    """Answers what it is told to."""

    def __init__(self, *pieces: object) -> None:
        self.pieces = list(pieces)

    def split(self, accumulated_text):
        return self.pieces if accumulated_text else []


@pytest.mark.parametrize("pieces", [("",), ("A",), ("b", "a"), ("ab", "ab")])
def test_pieces_that_are_empty_or_no_part_of_the_text(pieces):
    for run in (
        lambda: IncrementalChunker(Answers(*pieces)).feed("ab"),
        lambda: list(chunk_stream(["ab"], Answers(*pieces))),
    ):
        with pytest.raises(ValueError, match="Answers"):
            run()
    with pytest.raises(TypeError, match="a piece must be str, not int"):
        IncrementalChunker(Answers(1)).feed("ab")


def test_a_piece_that_changes_is_refused():
    class Growing(ChunkingStrategy):
        def split(self, accumulated_text):
            return [accumulated_text] if accumulated_text else []

    chunker = IncrementalChunker(Growing())
    assert chunker.feed("a") == ["a"]
    with pytest.raises(ValueError, match=r"piece 1 was 'a'.*local = False"):
        chunker.feed("b")


def test_the_default_flush_drops_the_rest():
    class Halves(ChunkingStrategy):
        def split(self, accumulated_text):
            return accumulated_text.split("|")[:-1]

    assert streamed(Halves(), list("a|b|c")) == (["a", "b"], [])
    assert [(c.text, c.start, c.reason) for c in chunk_stream(["a|b|c"], Halves())] == [
        ("a", 0, "boundary"),
        ("b", 2, "boundary"),
    ]


def test_a_foreign_strategy_is_asked_for_what_is_new_only():
    read = []

    class Lines(ChunkingStrategy):
        def split(self, accumulated_text):
            read.append(len(accumulated_text))
            return [line for line in accumulated_text.split("\n")[:-1] if line]

    text = "some line of text\n" * 20_000
    assert len(streamed(Lines(), [text[i : i + 100] for i in range(0, len(text), 100)])[0]) == 20_000
    assert sum(read) < 10 * len(text)
    read.clear()
    Lines.local = True
    streamed(Lines(), [text[i : i + 100] for i in range(0, len(text), 100)])
    assert max(read) < 200


def test_a_foreign_strategy_that_turns_out_not_to_be_local():
    """Late, when too many pieces were given: that is said. Told before: everything is split every time."""

    class Framed(ChunkingStrategy):
        local = None

        def split(self, accumulated_text):
            lines = accumulated_text.split("\n")[:-1]
            return lines[: 750 + len(lines) // 2] if len(lines) > 1500 else lines

    class Whole(Framed):
        local = False

    text = "".join(f"{i}\n" for i in range(3000))
    expected = Framed().split(text)
    assert streamed(Whole(), [text[i : i + 50] for i in range(0, len(text), 50)])[0] == expected
    with pytest.raises(ValueError, match="local = False"):
        streamed(Framed(), [text[i : i + 50] for i in range(0, len(text), 50)])


def test_pieces_may_overlap():
    class Windows(ChunkingStrategy):
        def split(self, accumulated_text):
            words = accumulated_text.split(" ")[:-1]
            return [" ".join(words[i : i + 3]) for i in range(len(words) - 2)]

    text = "a bb c dd ee f gg "
    assert streamed(Windows(), list(text))[0] == Windows().split(text)
    assert [(c.start, c.end) for c in chunk_stream(text, Windows())] == [(0, 6), (2, 9), (5, 12), (7, 14), (10, 17)]


def test_a_scanner_of_ones_own():
    class Pairs(ChunkingStrategy):
        boundary = "pair"

        def split(self, accumulated_text):
            return [accumulated_text[i : i + 2] for i in range(0, len(accumulated_text) - 1, 2)]

        def scanner(self):
            return PairScanner()

    class PairScanner(Scanner):
        __slots__ = ()

        def feed(self, delta):
            text = "".join([*self.parts, delta])
            self.parts = [text[len(text) // 2 * 2 :]]
            return Pairs().split(text)

        def flush(self):
            return []

    assert [c.reason for c in chunk_stream(["abc", "de"], Pairs())] == ["pair", "pair"]
    assert streamed(Pairs(), list("abcde")) == (["ab", "cd"], [])


def test_a_copy_of_a_scanner_has_all_of_its_state():
    class Counting(Scanner):
        def __init__(self):
            super().__init__()
            self.seen = {}

        def feed(self, delta):
            self.seen[delta] = True
            return []

        def flush(self):
            return sorted(self.seen)

    scanner = Counting()
    scanner.feed("a")
    twin = scanner.copy()
    twin.feed("b")
    assert (scanner.flush(), twin.flush()) == (["a"], ["a", "b"])


# -- streams ----------------------------------------------------------------------------------------------------------


def test_stream_chunks():
    chunks = list(chunk_stream(["It ra", "ins.  It po", "urs"], SentenceChunker()))
    assert chunks == [StreamChunk("It rains.", 0, 0, 9, "sentence"), StreamChunk("It pours", 1, 11, 19, "end")]
    with pytest.raises(AttributeError):
        chunks[0].text = "x"
    assert list(chunk_stream([], "word")) == []


def test_pieces_come_as_soon_as_they_are_complete():
    asked = []

    def tokens():
        for token in ("One. ", "Two. ", "Three. "):
            asked.append(token)
            yield token

    stream = chunk_stream(tokens(), "sentence")
    assert asked == []
    assert next(stream).text == "One."
    assert asked == ["One. "]
    stream.close()
    assert asked == ["One. "]


def test_asynchronous_streams():
    async def tokens() -> AsyncIterator[str]:
        for token in ("One. T", "wo. ", "Three"):
            await asyncio.sleep(0)
            yield token

    async def run() -> list[StreamChunk]:
        return [chunk async for chunk in achunk_stream(tokens(), "sentence")]

    assert asyncio.run(run()) == list(chunk_stream(["One. T", "wo. ", "Three"], "sentence"))


def test_what_the_iterable_raises_is_passed_on():
    def broken():
        yield "One. Tw"
        raise ConnectionError

    stream = chunk_stream(broken(), "sentence")
    assert next(stream).text == "One."
    with pytest.raises(ConnectionError):
        next(stream)


def test_wrong_arguments():
    for make in (IncrementalChunker, lambda kind: chunk_stream([], kind), lambda kind: achunk_stream([], kind)):
        with pytest.raises(TypeError, match="strategy must be"):
            make(SentenceChunker)
        with pytest.raises(OptionError, match=r'none called "sentense"; did you mean "sentence"\?'):
            make("sentense")
    for delta in (b"a", None, 5, ["a"], ["\n"], {}):
        for name in ("sentence", "word", "paragraph", "line", "markdown"):
            with pytest.raises(TypeError, match="must be str"):
                IncrementalChunker(name).feed(delta)
        with pytest.raises(TypeError, match="must be str"):
            list(chunk_stream([delta], "word"))
    for stream in (chunk_stream, achunk_stream):
        with pytest.raises(TypeError, match="iterable"):
            stream(5, "word")
    with pytest.raises(TypeError, match="crlf must be bool"):
        ParagraphChunker(crlf="yes")
    with pytest.raises(TypeError, match="keep_ends must be bool"):
        LineChunker(keep_ends=1)


def test_after_a_flush_another_stream_begins():
    chunker = IncrementalChunker(SentenceChunker())
    assert chunker.feed("One. Tw") == ["One."]
    assert chunker.flush() == ["Tw"]
    assert chunker.flush() == []
    assert chunker.feed("o. ") == ["o."]


PICKLED = [*STRATEGIES[:13], BudgetChunker(4, "tokens", "cl100k_base"), BudgetChunker(4, "tokens", len)]


@pytest.mark.parametrize("kind", PICKLED, ids=lambda s: type(s).__name__)
def test_a_chunker_in_the_middle_of_a_stream_can_be_pickled(kind):
    chunker = IncrementalChunker(kind)
    chunker.feed("- a\n- b\n\nte")
    twins = pickle.loads(pickle.dumps(chunker)), copy.deepcopy(chunker)
    rest = chunker.feed("xt. \n\nx") + chunker.flush()
    assert all(twin.feed("xt. \n\nx") + twin.flush() == rest for twin in twins)


def test_feed_can_be_overridden():
    class Logged(IncrementalChunker):
        seen = ""

        def feed(self, delta):
            self.seen += delta
            return super().feed(delta)

    chunker = Logged("line")
    assert chunker.feed("a\nb") + chunker.flush() + chunker.feed("c\n") == ["a", "b", "c"]
    assert chunker.seen == "a\nbc\n"


# -- names ------------------------------------------------------------------------------------------------------------


def test_strategies_by_name():
    for name, kind in {
        "sentence": SentenceChunker,
        "word": WordChunker,
        "paragraph": ParagraphChunker,
        "line": LineChunker,
        "jsonl": JSONLinesChunker,
        "markdown": MarkdownBlockChunker,
    }.items():
        assert type(strategy(name)) is kind
    assert strategy("budget", max_size=3, unit="nws").unit == "nws"
    assert strategy("paragraph", crlf=True).crlf
    with pytest.raises(UnknownOptionError, match=r'unknown option "max_sise"; did you mean "max_size"\?'):
        strategy("budget", max_sise=3)
    with pytest.raises(ChunkingError, match="at least 1"):
        strategy("budget", max_size=0)


def test_strategies_of_plugins():
    class Plugin:
        @hookimpl
        def omnichunk_strategies(self):
            return [Strategy("foreign", Foreign), Strategy("broken", dict)]

    registry = PluginRegistry()
    registry.register(Plugin())
    assert type(strategy("foreign", registry)) is Foreign
    assert type(strategy("word", registry)) is WordChunker
    with pytest.raises(PluginError, match="no ChunkingStrategy"):
        strategy("broken", registry)
    with pytest.raises(OptionError):
        strategy("foreign", PluginRegistry())
    rows = {row.name: row.adds for row in registry.plugins()}
    assert "strategies:budget" in rows["omnichunk.streaming.builtin"]


# -- cost -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*STRATEGIES[:8], BudgetChunker(60)], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize(
    "unit", ["a", " ", ".", "\n", "\r\n", "- a\n", "```\n\n", "| a |\n", "中。", "\u0301", "a b. "]
)
def test_deltas_cost_the_same_however_much_there_is(kind, unit):
    """If the cost were that of what has accumulated, this would take minutes."""
    text = unit * (50_000 // len(unit))
    streamed(kind, [text[i : i + 7] for i in range(0, len(text), 7)])
    streamed(kind, ["x" * 50_000, *[part for char in text[:9_000] for part in ("", char)]])


def test_importing_imports_no_other_room():
    code = "import sys, omnichunk.streaming; print([m for m in sys.modules if m.startswith('omnichunk') and 'stream' not in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['omnichunk']"
