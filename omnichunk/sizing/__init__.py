"""Counting: sizers by unit and tokenizers by name."""
