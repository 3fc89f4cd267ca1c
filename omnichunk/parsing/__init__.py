"""Grammars: which languages there are, their parsers, their syntax trees as spans."""
