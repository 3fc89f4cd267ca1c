"""What asks embedding functions and remembers their answers; embedders by name; late chunking."""

from __future__ import annotations

import asyncio
import json
import operator
import os
import pickle
import signal
import sqlite3
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest

from omnichunk import (
    Chunker,
    Embedder,
    EmbeddingError,
    MissingDependencyError,
    OptionError,
    PluginError,
    PluginRegistry,
    StoreError,
    hookimpl,
    late_embeddings,
    open_embedder,
)
from omnichunk.embedding import cache
from omnichunk.embedding.cache import VectorCache
from omnichunk.embedding.vectors import unit_rows
from omnichunk.model.options import ChunkOptions
from test_semantic import CATS, MONEY, RAIN, by_topic

np = pytest.importorskip("numpy")


class Provider:
    """Counts its calls and the texts it was given."""

    def __init__(self, fingerprint=""):
        self.calls = 0
        self.texts = []
        if fingerprint:
            self.fingerprint = fingerprint

    def __call__(self, texts):
        self.calls += 1
        self.texts += texts
        return by_topic(texts)

    def method(self, texts):
        return self(texts)


def options(embed, **more):
    return ChunkOptions(semantic=True, semantic_embed_fn=embed, **more)


# -- answers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "no table of numbers"),
        ("ab", "no table of numbers"),
        ([["a"], ["b"]], "no table of numbers"),
        ([[1], [1, 2]], "no table of numbers"),
        ([[True], [False]], "no table of numbers"),
        ([[1j], [2]], "no table of numbers"),
        ([1.0, 2.0], "array of 1 dimensions"),
        (np.ones((2, 2, 2)), "array of 3 dimensions"),
        (np.ones((3, 2)), "3 vectors came for 2 texts"),
        ([], "one row|0 vectors"),
        (np.ones((2, 0)), "vectors of 0 numbers"),
        ([[1, 2], [float("nan"), 1]], "vector 1 of 2 holds a number that is not finite"),
        ([[float("inf"), 2], [1, 1]], "vector 0 of 2"),
    ],
)
def test_what_is_no_vector_for_each_text_is_refused(answer, told):
    with pytest.raises(EmbeddingError, match=told):
        unit_rows(answer, 2)


def test_rows_have_unit_length_whatever_their_size():
    rows = unit_rows([[3, 4], [0, 0], [1e300, 1e300], [1e-300, 0], [-2, 0]], 5)
    expected = [[0.6, 0.8], [0, 0], [0.5**0.5, 0.5**0.5], [1, 0], [-1, 0]]
    assert rows.dtype == np.float32
    assert np.allclose(rows, expected)
    assert np.array_equal(unit_rows(np.float16([[3, 4]]), 1), unit_rows(([3.0, 4.0],), 1))
    assert np.array_equal(unit_rows([np.array([3, 4])], 1), unit_rows(((3, 4),), 1))


def test_the_dimension_may_not_change():
    widths = iter([3, 3, 4])
    keep = VectorCache()
    how = options(lambda texts: np.ones((len(texts), next(widths))))
    keep.rows(["a"], how)
    keep.rows(["b"], how)
    with pytest.raises(EmbeddingError, match="vectors of 4 numbers came; 3, as before, are needed"):
        keep.rows(["c"], how)


# -- the cache ---------------------------------------------------------------------------------------------------------


def test_only_what_is_new_is_embedded():
    provider = Provider()
    chunker = Chunker(semantic=True, semantic_embed_fn=provider)
    chunker.chunk("a.txt", CATS + MONEY)
    assert len(provider.texts) == 6
    chunker.chunk("a.txt", CATS + "One more cat. " + MONEY)
    assert provider.texts[6:] == ["One more cat."]
    chunker.with_options(max_chunk_size=90).chunk("b.txt", MONEY + CATS)
    assert len(provider.texts) == 7


def test_a_text_that_is_repeated_is_asked_for_once_and_texts_come_in_batches(monkeypatch):
    monkeypatch.setattr(cache, "BATCH", 2)
    provider = Provider()
    rows = VectorCache().rows(["a cat", "a bond", "a cat", "rain", "a cat"], options(provider))
    assert provider.texts == ["a cat", "a bond", "rain"]
    assert provider.calls == 2
    assert np.array_equal(rows[0], rows[4])
    assert np.array_equal(rows, unit_rows(by_topic(["a cat", "a bond", "a cat", "rain", "a cat"]), 5))


def test_the_least_recently_used_go_first():
    provider, keep = Provider(), VectorCache()
    how = options(provider, semantic_embed_cache_size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        keep.rows([text], how)
    assert provider.texts == ["a", "b", "c", "b"]


def test_without_a_cache_each_call_asks():
    provider, keep = Provider(), VectorCache()
    for _ in range(2):
        keep.rows(["a", "a"], options(provider, semantic_embed_cache_size=0))
    assert provider.texts == ["a", "a"]


@pytest.mark.parametrize("name", ["semantic_cache_namespace", "semantic_model_revision", "semantic_preprocessing"])
def test_identities_tell_vectors_apart(name):
    provider, keep = Provider(), VectorCache()
    for value in ("1", "2", None, "1"):
        keep.rows(["a"], options(provider, **{name: value}))
    assert provider.calls == 3


def test_functions_are_told_apart_as_objects():
    one, two, keep = Provider("same"), Provider("same"), VectorCache()
    for embed in (one, two, one, one.method, one.method):
        keep.rows(["a"], options(embed))
    assert (one.calls, two.calls) == (2, 1)  # one.method is a function of its own, however often it is read
    assert keep._space(options(operator.neg)) is not keep._space(options(operator.pos))  # both say they are of a module
    one.fingerprint = "another model"
    keep.rows(["a"], options(one))
    assert one.calls == 3
    for _ in range(200):
        keep.rows(["a"], options(lambda texts: by_topic(texts)))  # none may get what another left at its address
    assert len(keep._spaces) <= cache.SPACES


def test_misses_wait_for_each_other():
    """Eight threads with the same document: the function is never in two of them, and is asked once for each text."""
    inside, most = [], []

    def embed(texts):
        inside.append(texts)
        most.append(len(inside))
        threading.Event().wait(0.01)
        inside.remove(texts)
        return by_topic(texts)

    chunker = Chunker(semantic=True, semantic_embed_fn=embed, semantic_window=1)
    found = []
    work = [
        threading.Thread(target=lambda: found.append([c.text for c in chunker.chunk("a", CATS + MONEY)]))
        for _ in range(8)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert found == [[CATS, MONEY]] * 8
    assert most == [1]


def test_what_was_embedded_before_a_failure_is_kept(monkeypatch):
    monkeypatch.setattr(cache, "BATCH", 1)
    asked = []

    def embed(texts):
        asked.extend(texts)
        if asked == ["a", "b"]:
            raise ConnectionError
        return by_topic(texts)

    keep = VectorCache()
    with pytest.raises(ConnectionError):
        keep.rows(["a", "b"], options(embed))
    keep.rows(["a", "b"], options(embed))
    assert asked == ["a", "b", "b"]


# -- async functions ---------------------------------------------------------------------------------------------------


async def later(texts):
    await asyncio.sleep(0)
    return by_topic(texts)


def texts_of(embed, text=CATS + MONEY):
    return [c.text for c in Chunker(semantic=True, semantic_embed_fn=embed, semantic_window=1).chunk("a.txt", text)]


def test_an_async_function_may_chunk_by_an_async_function():
    async def here(texts):
        texts_of(later, MONEY + RAIN)
        return by_topic(texts)

    async def in_a_thread(texts):
        await asyncio.to_thread(texts_of, later, MONEY + RAIN)
        return by_topic(texts)

    for embed in (here, in_a_thread):
        found = []
        thread = threading.Thread(target=lambda embed=embed, found=found: found.extend(texts_of(embed)), daemon=True)
        thread.start()
        thread.join(20)
        assert found == [CATS, MONEY]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
def test_a_call_that_is_interrupted_does_not_go_on():
    class Interrupted(BaseException):
        pass

    def interrupt(number, frame):
        raise Interrupted

    ended = []

    async def embed(texts):
        try:
            await asyncio.sleep(20)
        finally:
            ended.append(True)

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Interrupted):
            texts_of(embed)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert ended == [True]
    assert texts_of(later) == [CATS, MONEY]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_a_loop_of_its_own():
    assert texts_of(later) == [CATS, MONEY]
    child = os.fork()
    if not child:
        os._exit(7 if texts_of(later) == [CATS, MONEY] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert texts_of(later, MONEY + RAIN) == [MONEY, RAIN]


# -- the cache in a file -----------------------------------------------------------------------------------------------


def test_a_file_serves_the_next_process(tmp_path):
    path = tmp_path / "vectors.db"
    first, second = Provider("topics"), Provider("topics")
    one = VectorCache().rows(["a cat", "rain"], options(first, semantic_cache_path=path))
    two = VectorCache().rows(["rain", "a cat", "new"], options(second, semantic_cache_path=str(path)))
    assert second.texts == ["new"]
    assert np.array_equal(one, two[[1, 0]])
    third = Provider("other")
    VectorCache().rows(["rain"], options(third, semantic_cache_path=path))
    assert third.texts == ["rain"]


def test_a_file_needs_an_identity(tmp_path):
    declared = {"semantic_cache_namespace": "n", "semantic_model_revision": "1"}
    with pytest.raises(OptionError, match="fingerprint"):
        options(Provider(), semantic_cache_path=tmp_path / "v")
    asked = []
    for revision in ("1", "1", "2"):
        provider = Provider()
        how = {**declared, "semantic_model_revision": revision, "semantic_cache_path": tmp_path / "v"}
        VectorCache().rows(["a"], options(provider, **how))
        asked.append(provider.calls)
    assert asked == [1, 0, 1]


def test_a_file_that_is_no_cache_is_refused(tmp_path):
    (tmp_path / "text").write_text("no database, and long enough to be read as one" * 20)
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE other (x)")
    connection.close()
    for name, told in (("text", "not a database"), ("other.db", "another program"), ("no/folder", "cannot be used")):
        with pytest.raises(StoreError, match=told):
            VectorCache().rows(["a"], options(Provider("x"), semantic_cache_path=tmp_path / name))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (bytes(4), "different dimensions"),
        (bytes(5), "no vectors"),
        ("a text", "no vectors"),
        (np.float32([np.nan, 0, 0]).tobytes(), "not as long as all are"),
        (np.float32([0.5, 0, 0]).tobytes(), "not as long as all are"),
    ],
    ids=str,
)
def test_damaged_vectors_are_told(tmp_path, row, told):
    how = options(Provider("x"), semantic_cache_path=tmp_path / "v")
    VectorCache().rows(["a", "b"], how)
    connection = sqlite3.connect(tmp_path / "v")
    connection.execute("UPDATE vector SET row = ? WHERE text = (SELECT min(text) FROM vector)", (row,))
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match=told):
        VectorCache().rows(["a", "b"], how)


def test_a_file_may_be_deleted_and_the_working_directory_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keep, provider = VectorCache(), Provider("x")
    how = options(provider, semantic_cache_path="v", semantic_embed_cache_size=0)
    keep.rows(["a"], how)
    (tmp_path / "v").unlink()
    keep.rows(["b"], how)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    keep.rows(["b"], how)
    assert provider.texts == ["a", "b"]
    assert not list((tmp_path / "other").iterdir())


# -- embedders by name -------------------------------------------------------------------------------------------------


def test_embedders_are_declared_by_plugins():
    class Plugin:
        @hookimpl
        def omnichunk_embedders(self):
            return [Embedder("topics", lambda model, weight=1: by_topic)]

    registry = PluginRegistry(plugins=[Plugin()])
    assert open_embedder("topics", "any", registry=registry, weight=2) is by_topic
    assert set(registry.embedders()) == {"sentence-transformers", "model2vec", "openai", "topics"}
    with pytest.raises(OptionError, match='no embedder "topic"; did you mean "topics"'):
        open_embedder("topic", "any", registry=registry)
    with pytest.raises(OptionError, match=r"topics: got an unexpected keyword argument 'wait'"):
        open_embedder("topics", "any", registry=registry, wait=2)


def test_an_embedder_that_cannot_be_made_is_the_fault_of_its_plugin():
    class Plugin:
        @hookimpl
        def omnichunk_embedders(self):
            return [Embedder("broken", lambda model: 1 / 0), Embedder("number", len)]

    registry = PluginRegistry()
    registry.register(Plugin(), "odd")
    for name, told in (("broken", "raised ZeroDivisionError"), ("number", "made 3, which cannot be called")):
        with pytest.raises(PluginError, match=f"plugin odd: the embedder {name} {told}"):
            open_embedder(name, "abc", registry=registry)


@pytest.fixture
def packages(monkeypatch):
    """Stand-ins for the packages that load models."""
    loaded = []

    class Model:
        def __init__(self, folder, **how):
            loaded.append((folder, how))

        @classmethod
        def from_pretrained(cls, folder):
            return cls(folder)

        def encode(self, texts, **how):
            return np.array(by_topic(texts))

    fake = {
        "sentence_transformers": SimpleNamespace(SentenceTransformer=Model),
        "model2vec": SimpleNamespace(StaticModel=Model),
    }
    for name, module in fake.items():
        monkeypatch.setitem(sys.modules, name, module)
    return loaded


@pytest.mark.parametrize("name", ["sentence-transformers", "model2vec"])
def test_a_model_in_a_folder(name, packages, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "README.md").write_text("a")
    embed = open_embedder(name, str(tmp_path))
    assert not packages
    chunker = Chunker(semantic=True, semantic_embed_fn=embed, semantic_window=1)
    assert [c.text for c in chunker.chunk("a.txt", CATS + MONEY + RAIN)] == [CATS, MONEY, RAIN]
    assert [folder for folder, _ in packages] == [str(tmp_path)]
    assert not chunker.config_fingerprint.startswith("unknown:")
    identity = embed.fingerprint
    again = pickle.loads(pickle.dumps(embed))
    assert again.fingerprint == identity
    assert again(["a cat"]).shape == (1, 3)
    (tmp_path / "README.md").write_text("b")
    assert open_embedder(name, str(tmp_path)).fingerprint == identity
    (tmp_path / "config.json").write_text("{ }")
    assert open_embedder(name, str(tmp_path)).fingerprint != identity


def test_nothing_is_downloaded_unless_asked(packages, monkeypatch, tmp_path):
    asked = []

    def snapshot_download(model, revision, local_files_only):
        asked.append((model, revision, local_files_only))
        if local_files_only:
            raise FileNotFoundError(model)
        return str(tmp_path)

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=snapshot_download))
    with pytest.raises(EmbeddingError, match=r"some/model is neither a folder nor .* download=True"):
        open_embedder("model2vec", "some/model")(["a"])
    open_embedder("model2vec", "some/model", revision="r", download=True)(["a"])
    assert asked == [("some/model", None, True), ("some/model", "r", False)]


@pytest.mark.parametrize("wrong", [{"download": "no"}, {"batch_size": 0}, {"prompt": 3}])
def test_wrong_options_of_a_model_are_refused_at_once(wrong):
    with pytest.raises(OptionError, match="sentence-transformers: "):
        open_embedder("sentence-transformers", "m", **wrong)


def test_a_folder_without_a_model_is_told(packages, monkeypatch, tmp_path):
    def broken(folder):
        raise ValueError("no model\nfiles.")

    monkeypatch.setattr(sys.modules["model2vec"].StaticModel, "from_pretrained", broken)
    with pytest.raises(EmbeddingError, match=r"holds no model that can be loaded: ValueError: no model files\.$"):
        open_embedder("model2vec", str(tmp_path))(["a"])


def test_a_missing_package_is_named_with_its_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "model2vec", None)
    with pytest.raises(MissingDependencyError, match=r"omnichunk\[model2vec\]"):
        open_embedder("model2vec", str(tmp_path))(["a"])


class Server(HTTPServer):
    """An endpoint that gives the answers it is told to, and remembers what it was asked."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []
        self.answers = []


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers.get("Authorization"), body))
        status, headers, answer = self.server.answers.pop(0) if self.server.answers else (200, {}, None)
        if answer is None:
            data = [{"index": i, "embedding": row} for i, row in enumerate(by_topic(body["input"]))]
            answer = json.dumps({"data": data[::-1]})
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("omnichunk.embedding.endpoint.sleep", lambda seconds: None)
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def endpoint(server, **more):
    return open_embedder("openai", "small", url=f"http://127.0.0.1:{server.server_port}/v1/", **more)


def test_an_endpoint(server, monkeypatch):
    monkeypatch.setenv("SOME_KEY", "s3cret\n")
    embed = endpoint(server, key_env="SOME_KEY", dimensions=3, batch_size=2)
    assert embed(["a cat", "rain", "a bond"]) == by_topic(["a cat", "rain", "a bond"])
    assert [(path, key) for path, key, _ in server.asked] == [("/v1/embeddings", "Bearer s3cret")] * 2
    assert server.asked[0][2] == {
        "model": "small", "encoding_format": "float", "dimensions": 3, "input": ["a cat", "rain"],
    }  # fmt: skip
    assert "s3cret" not in embed.fingerprint + repr(pickle.dumps(embed))
    assert embed.fingerprint != endpoint(server, revision="2").fingerprint


def test_an_endpoint_is_tried_again_while_it_is_busy(server):
    server.answers = [(429, {"Retry-After": "1"}, "slow down"), (503, {}, "")]
    assert endpoint(server)(["rain"]) == by_topic(["rain"])
    server.answers = [(500, {}, "out of order")] * 2
    with pytest.raises(EmbeddingError, match="status 500: out of order"):
        endpoint(server, retries=1)(["rain"])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((401, {}, "who are\nyou"), "status 401: who are you"),
        ((302, {"Location": "http://127.0.0.1:1/"}, "elsewhere"), "status 302"),
        ((200, {}, "<html>"), "not that of an endpoint"),
        ((200, {}, '{"data": [{"index": 0}]}'), "not that of an endpoint"),
        ((200, {}, '{"data": []}'), "0 vectors came for 1 texts"),
    ],
)
def test_what_an_endpoint_answers_instead_is_told(server, answer, told):
    server.answers = [answer]
    with pytest.raises(EmbeddingError, match=told):
        endpoint(server)(["a"])


def test_an_endpoint_that_is_not_there(monkeypatch):
    monkeypatch.setattr("omnichunk.embedding.endpoint.sleep", lambda seconds: None)
    with pytest.raises(EmbeddingError, match=r"http://127\.0\.0\.1:9/embeddings: cannot be reached"):
        open_embedder("openai", "m", url="http://127.0.0.1:9", retries=1)(["a"])
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(EmbeddingError, match="NO_SUCH_KEY"):
        open_embedder("openai", "m", url="http://127.0.0.1:9", key_env="NO_SUCH_KEY")(["a"])


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        *({"url": url} for url in ("ftp://x", 3, None, "http://", "http://[::1", "http://x:y", "http://x:99999")),
        *({"url": "http://x", name: 0} for name in ("batch_size", "timeout", "dimensions", "key_env", "revision")),
    ],
)
def test_wrong_endpoints_are_refused_at_once(wrong):
    with pytest.raises(OptionError, match="openai"):
        open_embedder("openai", "m", **wrong)


def test_an_address_keeps_its_query_and_no_password():
    embed = open_embedder("openai", "m", url="https://host/v1/?version=1")
    assert '"https://host/v1/embeddings?version=1"' in embed.fingerprint
    with pytest.raises(OptionError, match=r"…@host/v1'.*key_env") as raised:
        open_embedder("openai", "m", url="https://me:s3cret@host/v1")
    assert "s3cret" not in str(raised.value)


# -- late chunking -----------------------------------------------------------------------------------------------------


def words_of(text):
    """Offsets and vectors of the words: how long, and where in the text that was given."""
    offsets, at = [(0, 0)], 0
    for word in text.split():
        at = text.index(word, at)
        offsets.append((at, at + len(word)))
        at += len(word)
    return np.array(offsets), np.array([[9.0, 9.0], *([b - a, 1.0] for a, b in offsets[1:])])


def test_late_embeddings_are_means_over_the_tokens_of_a_chunk():
    text = "ää bbbb. Çç dd. eee"
    chunks = Chunker(max_chunk_size=9, context_mode="none").chunk("a.txt", text)
    assert len(chunks) > 1
    rows = late_embeddings(chunks, text, words_of)
    for chunk, row in zip(chunks, rows):
        words = [len(word) for word in chunk.text.split()]
        assert np.allclose(row, unit_rows([[sum(words) / len(words), 1.0]], 1)[0])


def test_long_texts_are_embedded_in_stretches():
    text = "word another " * 200
    chunks = Chunker(max_chunk_size=100, context_mode="none").chunk("a.txt", text)
    asked = []

    async def embed(part):
        asked.append(part)
        return words_of(part)

    rows = late_embeddings(chunks, text, embed, most=600, around=100)
    assert np.allclose(rows, late_embeddings(chunks, text, words_of), atol=1e-3)
    assert len(asked) > 3
    assert max(map(len, asked)) <= 600
    asked.clear()
    late_embeddings(chunks, text, embed, most=150)  # which the usual surroundings would exceed by far
    assert max(map(len, asked)) <= 150
    huge = late_embeddings(chunks, text, lambda part: (words_of(part)[0], words_of(part)[1].astype(np.float32) * 3e37))
    assert np.allclose(huge, late_embeddings(chunks, text, words_of), atol=1e-6)
    backwards = late_embeddings(chunks, text, lambda part: [rows[::-1] for rows in words_of(part)])
    assert np.allclose(backwards, late_embeddings(chunks, text, words_of))
    assert len(late_embeddings([], text, words_of)) == 0


def test_late_embeddings_refuse_other_texts_and_other_answers():
    text = "one two. three"
    chunks = Chunker().chunk("a.txt", text)
    for other in ("", "one two, three", "one"):
        with pytest.raises(OptionError, match="no slice of this text"):
            late_embeddings(chunks, other, words_of)
    with pytest.raises(OptionError, match="order"):
        late_embeddings([*Chunker(max_chunk_size=8).chunk("a.txt", text)][::-1], text, words_of)
    for wrong in (
        None,
        ([], []),
        ([[0, 1]], np.ones((1, 0))),
        ([[0, 99]], [[1.0]]),
        ([[0, 1]], [[float("nan")]]),
        ([[0, 1]], [[1.0], [2.0]]),
    ):
        with pytest.raises(EmbeddingError, match="embed_tokens"):
            late_embeddings(chunks, text, lambda part, wrong=wrong: wrong)
