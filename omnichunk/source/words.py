"""Words of any text, for comparing and counting; where a text may be cut is the matter of ``breaks``."""

from __future__ import annotations

import re

_UNSPACED = r"\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"

WORD = re.compile(rf"[^\W{_UNSPACED}]+|[^\s]")
"""A run of letters, digits and underscores; in scripts without spaces each of them; any other sign but white space."""
