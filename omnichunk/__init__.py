"""omnichunk: exact, structured, budgeted chunks of repositories and document collections.

The public names below resolve when first used, so importing the package loads no room of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_NAMES = {
    "Block": "model.document",
    "BudgetError": "errors",
    "ByteRange": "model.chunk",
    "Chunk": "model.chunk",
    "ChunkContext": "model.chunk",
    "ChunkDiff": "identity",
    "ChunkOptions": "model.options",
    "ChunkNode": "hierarchy",
    "ChunkResult": "model.chunk",
    "ChunkStore": "store.store",
    "ChunkTree": "hierarchy",
    "Chunker": "chunker",
    "ChunkingError": "errors",
    "Configuration": "evaluation.run",
    "Corpus": "evaluation.corpus",
    "DocumentBuilder": "builder.document",
    "DuplicateGroup": "duplicates",
    "Embedder": "model.declarations",
    "EmbeddingError": "errors",
    "EntityInfo": "model.chunk",
    "Entry": "walk",
    "EvaluationReport": "evaluation.run",
    "FileResult": "model.chunk",
    "FormatSegment": "model.document",
    "Formatter": "model.declarations",
    "ImportInfo": "model.chunk",
    "Language": "model.declarations",
    "LineRange": "model.chunk",
    "LoadError": "errors",
    "LoadedDocument": "model.document",
    "Loader": "model.declarations",
    "Location": "model.chunk",
    "MissingDependencyError": "errors",
    "OptionError": "errors",
    "Parser": "model.declarations",
    "Passage": "selection",
    "PluginError": "errors",
    "PluginInfo": "registry",
    "PluginRegistry": "registry",
    "Point": "sinks.point",
    "Question": "evaluation.corpus",
    "Renderer": "model.declarations",
    "Retriever": "model.declarations",
    "SchemaError": "errors",
    "SegmentInfo": "model.chunk",
    "Selection": "selection",
    "SiblingInfo": "model.chunk",
    "Sink": "model.declarations",
    "Source": "model.document",
    "SourceDescriptor": "model.document",
    "Span": "model.span",
    "StoreError": "errors",
    "Strategy": "model.declarations",
    "Strength": "model.span",
    "Structure": "model.span",
    "StructureProvider": "model.declarations",
    "StructureRequest": "model.declarations",
    "Tokenizer": "model.declarations",
    "TuneReport": "evaluation.tune",
    "UnknownOptionError": "errors",
    "UnsupportedFormatError": "errors",
    "chunk": "chunker",
    "chunk_diff": "identity",
    "chunk_directory": "chunker",
    "chunk_embedding_fingerprint": "identity",
    "chunk_file": "chunker",
    "chunk_from_dict": "serialization",
    "chunk_loaded_document": "chunker",
    "chunk_to_dict": "serialization",
    "embedded": "sinks.point",
    "embedding_retriever": "evaluation.retrievers",
    "evaluate": "evaluation.run",
    "find_duplicates": "duplicates",
    "find_files": "walk",
    "from_arrow": "arrow",
    "from_dict": "serialization",
    "hookimpl": "hookspecs",
    "json_schema": "serialization",
    "language_capabilities": "parsing.capabilities",
    "load_document": "registry",
    "late_embeddings": "embedding.late",
    "open_embedder": "embedding.opening",
    "open_sink": "sinks.opening",
    "read_jsonl": "serialization",
    "read_parquet": "arrow",
    "read_questions": "evaluation.corpus",
    "register_formatter": "registry",
    "register_parser": "registry",
    "select_within_budget": "selection",
    "stable_chunk_id": "identity",
    "to_arrow": "arrow",
    "to_dict": "serialization",
    "tune": "evaluation.tune",
    "without_duplicates": "duplicates",
    "write_jsonl": "serialization",
    "write_parquet": "arrow",
}

if TYPE_CHECKING:
    from omnichunk.arrow import from_arrow as from_arrow
    from omnichunk.arrow import read_parquet as read_parquet
    from omnichunk.arrow import to_arrow as to_arrow
    from omnichunk.arrow import write_parquet as write_parquet
    from omnichunk.builder.document import DocumentBuilder as DocumentBuilder
    from omnichunk.chunker import Chunker as Chunker
    from omnichunk.chunker import chunk as chunk
    from omnichunk.chunker import chunk_directory as chunk_directory
    from omnichunk.chunker import chunk_file as chunk_file
    from omnichunk.chunker import chunk_loaded_document as chunk_loaded_document
    from omnichunk.duplicates import DuplicateGroup as DuplicateGroup
    from omnichunk.duplicates import find_duplicates as find_duplicates
    from omnichunk.duplicates import without_duplicates as without_duplicates
    from omnichunk.embedding.late import late_embeddings as late_embeddings
    from omnichunk.embedding.opening import open_embedder as open_embedder
    from omnichunk.errors import BudgetError as BudgetError
    from omnichunk.errors import ChunkingError as ChunkingError
    from omnichunk.errors import EmbeddingError as EmbeddingError
    from omnichunk.errors import LoadError as LoadError
    from omnichunk.errors import MissingDependencyError as MissingDependencyError
    from omnichunk.errors import OptionError as OptionError
    from omnichunk.errors import PluginError as PluginError
    from omnichunk.errors import SchemaError as SchemaError
    from omnichunk.errors import StoreError as StoreError
    from omnichunk.errors import UnknownOptionError as UnknownOptionError
    from omnichunk.errors import UnsupportedFormatError as UnsupportedFormatError
    from omnichunk.evaluation.corpus import Corpus as Corpus
    from omnichunk.evaluation.corpus import Question as Question
    from omnichunk.evaluation.corpus import read_questions as read_questions
    from omnichunk.evaluation.retrievers import embedding_retriever as embedding_retriever
    from omnichunk.evaluation.run import Configuration as Configuration
    from omnichunk.evaluation.run import EvaluationReport as EvaluationReport
    from omnichunk.evaluation.run import evaluate as evaluate
    from omnichunk.evaluation.tune import TuneReport as TuneReport
    from omnichunk.evaluation.tune import tune as tune
    from omnichunk.hierarchy import ChunkNode as ChunkNode
    from omnichunk.hierarchy import ChunkTree as ChunkTree
    from omnichunk.hookspecs import hookimpl as hookimpl
    from omnichunk.identity import ChunkDiff as ChunkDiff
    from omnichunk.identity import chunk_diff as chunk_diff
    from omnichunk.identity import chunk_embedding_fingerprint as chunk_embedding_fingerprint
    from omnichunk.identity import stable_chunk_id as stable_chunk_id
    from omnichunk.model.chunk import ByteRange as ByteRange
    from omnichunk.model.chunk import Chunk as Chunk
    from omnichunk.model.chunk import ChunkContext as ChunkContext
    from omnichunk.model.chunk import ChunkResult as ChunkResult
    from omnichunk.model.chunk import EntityInfo as EntityInfo
    from omnichunk.model.chunk import FileResult as FileResult
    from omnichunk.model.chunk import ImportInfo as ImportInfo
    from omnichunk.model.chunk import LineRange as LineRange
    from omnichunk.model.chunk import Location as Location
    from omnichunk.model.chunk import SegmentInfo as SegmentInfo
    from omnichunk.model.chunk import SiblingInfo as SiblingInfo
    from omnichunk.model.declarations import Embedder as Embedder
    from omnichunk.model.declarations import Formatter as Formatter
    from omnichunk.model.declarations import Language as Language
    from omnichunk.model.declarations import Loader as Loader
    from omnichunk.model.declarations import Parser as Parser
    from omnichunk.model.declarations import Renderer as Renderer
    from omnichunk.model.declarations import Retriever as Retriever
    from omnichunk.model.declarations import Sink as Sink
    from omnichunk.model.declarations import Strategy as Strategy
    from omnichunk.model.declarations import StructureProvider as StructureProvider
    from omnichunk.model.declarations import StructureRequest as StructureRequest
    from omnichunk.model.declarations import Tokenizer as Tokenizer
    from omnichunk.model.document import Block as Block
    from omnichunk.model.document import FormatSegment as FormatSegment
    from omnichunk.model.document import LoadedDocument as LoadedDocument
    from omnichunk.model.document import Source as Source
    from omnichunk.model.document import SourceDescriptor as SourceDescriptor
    from omnichunk.model.options import ChunkOptions as ChunkOptions
    from omnichunk.model.span import Span as Span
    from omnichunk.model.span import Strength as Strength
    from omnichunk.model.span import Structure as Structure
    from omnichunk.parsing.capabilities import language_capabilities as language_capabilities
    from omnichunk.registry import PluginInfo as PluginInfo
    from omnichunk.registry import PluginRegistry as PluginRegistry
    from omnichunk.registry import load_document as load_document
    from omnichunk.registry import register_formatter as register_formatter
    from omnichunk.registry import register_parser as register_parser
    from omnichunk.selection import Passage as Passage
    from omnichunk.selection import Selection as Selection
    from omnichunk.selection import select_within_budget as select_within_budget
    from omnichunk.serialization import chunk_from_dict as chunk_from_dict
    from omnichunk.serialization import chunk_to_dict as chunk_to_dict
    from omnichunk.serialization import from_dict as from_dict
    from omnichunk.serialization import json_schema as json_schema
    from omnichunk.serialization import read_jsonl as read_jsonl
    from omnichunk.serialization import to_dict as to_dict
    from omnichunk.serialization import write_jsonl as write_jsonl
    from omnichunk.sinks.opening import open_sink as open_sink
    from omnichunk.sinks.point import Point as Point
    from omnichunk.sinks.point import embedded as embedded
    from omnichunk.store.store import ChunkStore as ChunkStore
    from omnichunk.walk import Entry as Entry
    from omnichunk.walk import find_files as find_files

__all__ = ["__version__", *sorted(_NAMES)]


def __getattr__(name: str) -> Any:
    module = _NAMES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
