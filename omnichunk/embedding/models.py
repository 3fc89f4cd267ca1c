"""Models on this machine: found without the network, loaded when first called, known by their contents."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from hashlib import sha256
from importlib import import_module
from threading import Lock
from typing import Any

from omnichunk.collect import told
from omnichunk.errors import EmbeddingError, OptionError, missing

_PASSED_OVER = (".md", ".txt.gz", ".png", ".gitattributes")
"""Files of a model that say nothing of what it computes."""


class LocalModel(ABC):
    """A model in a folder. Pickled as what it was made with; each process loads it once.

    ``model``: the folder, or a name on the Hugging Face hub, of ``revision`` if one is given, that has been downloaded
    before. ``download``: fetch it if it has not; nothing else reaches the network.
    """

    package = ""
    extra = ""

    def __init__(self, model: str, *, revision: str | None = None, download: bool = False) -> None:
        if not isinstance(model, (str, os.PathLike)) or not os.fspath(model):
            raise OptionError(f"{self.extra}: model={model!r}; a folder or the name of a model is needed.")
        if not isinstance(download, bool):
            raise OptionError(f"{self.extra}: download={download!r:.60}; True or False is needed.")
        self._model = os.fsdecode(model)
        self._revision = revision
        self._download = download
        self._folder = ""
        self._identity = ""
        self._loaded: Any = None
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"{self.extra}: {self._model}"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=Lock())

    def __call__(self, texts: list[str]) -> Any:
        """A row of numbers for each text."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self._read()
        return self.encode(self._loaded, texts)

    @property
    def folder(self) -> str:
        """Where the model is. Raises EmbeddingError when it is not on this machine and may not be fetched."""
        if not self._folder:
            self._folder = self._model if os.path.isdir(self._model) else self._found()
        return self._folder

    @property
    def fingerprint(self) -> str:
        """SHA-256, hexadecimal, of the files of the model."""
        if not self._identity:
            digest = sha256(f"{self.extra}\0{self.settings()}".encode())
            for path, name in sorted(_files(self.folder)):
                with open(path, "rb") as file:
                    content = sha256()
                    while block := file.read(1 << 20):
                        content.update(block)
                digest.update(f"\0{name}\0{content.hexdigest()}".encode("utf-8", "surrogateescape"))
            self._identity = digest.hexdigest()
        return self._identity

    @abstractmethod
    def load(self, package: Any, folder: str) -> Any:
        """The model, read from its folder."""

    @abstractmethod
    def encode(self, model: Any, texts: list[str]) -> Any:
        """A row of numbers for each text."""

    def settings(self) -> str:
        """What else, beside the files, changes the numbers."""
        return ""

    def _read(self) -> Any:
        package, folder = self._need(self.package), self.folder
        try:
            return self.load(package, folder)
        except Exception as error:
            why = " ".join(told(error).split())[:300].rstrip(".")
            raise EmbeddingError(f"{self.extra}: {folder} holds no model that can be loaded: {why}.") from error

    def _found(self) -> str:
        hub = self._need("huggingface_hub")
        try:
            return str(hub.snapshot_download(self._model, revision=self._revision, local_files_only=not self._download))
        except (OSError, ValueError) as error:
            remedy = "Check the name and the connection." if self._download else "Pass download=True to fetch it."
            raise EmbeddingError(
                f"{self.extra}: {self._model} is neither a folder nor a model that was downloaded before. {remedy}"
            ) from error

    def _need(self, package: str) -> Any:
        try:
            return import_module(package)
        except ImportError:
            raise missing(f"the embedder {self.extra}", package.replace("_", "-"), self.extra) from None


class SentenceTransformer(LocalModel):
    """A model of the package sentence-transformers. ``device``: where it runs. ``batch_size``: texts at once.

    ``prompt``: what the model is to be told before each text.
    """

    package = "sentence_transformers"
    extra = "sentence-transformers"

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        download: bool = False,
        device: str | None = None,
        batch_size: int = 32,
        prompt: str | None = None,
    ) -> None:
        super().__init__(model, revision=revision, download=download)
        if type(batch_size) is not int or batch_size < 1:
            raise OptionError(f"{self.extra}: batch_size={batch_size!r:.60}; a whole number of at least 1 is needed.")
        if not isinstance(prompt, (str, type(None))):
            raise OptionError(f"{self.extra}: prompt={prompt!r:.60}; a str is needed.")
        self._device = device
        self._batch = batch_size
        self._prompt = prompt

    def load(self, package: Any, folder: str) -> Any:
        """The model."""
        return package.SentenceTransformer(folder, device=self._device, local_files_only=True)

    def encode(self, model: Any, texts: list[str]) -> Any:
        """An array of rows."""
        return model.encode(
            texts, batch_size=self._batch, prompt=self._prompt, convert_to_numpy=True, show_progress_bar=False
        )

    def settings(self) -> str:
        """The prompt."""
        return self._prompt or ""


class StaticModel(LocalModel):
    """A static model of the package model2vec: a table of word vectors, hundreds of times faster than a transformer."""

    package = "model2vec"
    extra = "model2vec"

    def load(self, package: Any, folder: str) -> Any:
        """The model."""
        return package.StaticModel.from_pretrained(folder)

    def encode(self, model: Any, texts: list[str]) -> Any:
        """An array of rows."""
        return model.encode(texts, show_progress_bar=False, use_multiprocessing=False)


def _files(folder: str) -> list[tuple[str, str]]:
    """The files below ``folder`` that tell what a model computes: their paths, and their names in it."""
    found = []
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.endswith(_PASSED_OVER) and not name.startswith("."):
                path = os.path.join(where, name)
                found.append((path, os.path.relpath(path, folder).replace(os.sep, "/")))
    return found
