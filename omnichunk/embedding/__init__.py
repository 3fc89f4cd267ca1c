"""Embeddings: what asks the caller's function, checks its answer and remembers it.

calling.py    one call, sync or async
vectors.py    an answer -> checked rows of unit length
cache.py      texts -> rows, asking for those nobody has asked for before
disk.py       rows for other processes, in a file
models.py     models on this machine, and what identifies them
builtin.py    embedders by name: sentence-transformers, model2vec, an endpoint
endpoint.py   the endpoint
late.py       token embeddings of a document -> embeddings of its chunks
"""
