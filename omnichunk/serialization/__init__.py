"""Values <-> versioned JSON: dicts, JSON Lines and the schema that describes them."""

from omnichunk.identity import chunk_embedding_fingerprint as chunk_embedding_fingerprint
from omnichunk.serialization.codec import SCHEMA_VERSION as SCHEMA_VERSION
from omnichunk.serialization.codec import chunk_from_dict as chunk_from_dict
from omnichunk.serialization.codec import chunk_to_dict as chunk_to_dict
from omnichunk.serialization.codec import from_dict as from_dict
from omnichunk.serialization.codec import to_dict as to_dict
from omnichunk.serialization.jsonl import dumps as dumps
from omnichunk.serialization.jsonl import read_jsonl as read_jsonl
from omnichunk.serialization.jsonl import write_jsonl as write_jsonl
from omnichunk.serialization.published import json_schema as json_schema
