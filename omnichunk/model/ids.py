"""What a chunk is called, and what its embedding depends on."""

from __future__ import annotations

from hashlib import sha256
from json.encoder import encode_basestring_ascii

from omnichunk.model.chunk import Chunk


def stable_chunk_id(chunk: Chunk) -> str:
    """SHA-256, hexadecimal, of the source id, the text and its occurrence among equal texts of the source.

    Neither position nor configuration enter it, so a block that moves keeps its id. Of equal blocks the occurrence
    numbers follow the order of the source: one more of them before shifts the others.
    """
    source = encode_basestring_ascii(chunk.source.source_id)
    return _sha256(f'["omnichunk-chunk", 1, {source}, "{_sha256(chunk.text)}", {chunk.occurrence}]')


def chunk_embedding_fingerprint(chunk: Chunk) -> str:
    """SHA-256, hexadecimal, of the raw text, the rendered payload and the configuration fingerprint.

    While it stays, an embedding of the payload stays good. The embedding model is not part of it: whoever stores
    embeddings keeps the version of the model beside it.
    """
    config = encode_basestring_ascii(chunk.config_fingerprint)
    text, shown = _sha256(chunk.text), chunk.contextualized_text
    rendered = text if shown == chunk.text else _sha256(shown)
    return _sha256(f'["omnichunk-embedding", 1, "{text}", "{rendered}", {config}]')


def _sha256(text: str) -> str:
    # A file name that is no UTF-8 has lone surrogates, and a payload may show it.
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
