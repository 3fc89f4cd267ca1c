"""Counting: sizers by unit and tokenizers by name."""

from omnichunk.sizing.sizer import Sizer, make_sizer, nws
from omnichunk.sizing.tokenizers import estimate

__all__ = ["Sizer", "estimate", "make_sizer", "nws"]
