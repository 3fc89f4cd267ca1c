"""A database of chunks that follows the files they come from: `ChunkStore`.

store.py      what a caller does: sync, query, get, neighbours, search, export, deliver
sync.py       one scan of a root, in one transaction
rows.py       chunk <-> row; made in the worker that made the chunk
delivery.py   from the store to a sink, with a journal
words.py      text -> words of the full-text index, the same for both databases
database.py   what is asked of a database; sqlite.py, postgres.py: the two there are
"""
