"""Symbols that a document names by their place in a symbol font (``w:sym``), as the characters a reader sees."""

from __future__ import annotations

from omnichunk.loaders.docx_names import Element, W

# The Symbol font from 0x21 and from 0xA1 on; a blank has no character of its own.
_LOW = "!∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
_HIGH = "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ 〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
_SYMBOL = {**{0x21 + i: c for i, c in enumerate(_LOW)}, **{0xA1 + i: c for i, c in enumerate(_HIGH)}}
_WINGDINGS = {
    0x4A: "☺", 0x4C: "☹", 0x6C: "●", 0x6E: "■", 0x6F: "☐", 0x71: "❑", 0x76: "❖", 0x9F: "•", 0xA7: "▪", 0xA8: "☐",
    0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒",
    0xFE: "☑",
}  # fmt: skip
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}


def symbol(element: Element) -> str:
    """The character of a ``w:sym``; what its font alone knows becomes U+FFFD, so that words do not grow together."""
    try:
        code = int(element.get(f"{W}char") or "", 16)
    except ValueError:
        return "\ufffd"
    private = 0xF000 <= code <= 0xF0FF
    found = _FONTS.get((element.get(f"{W}font") or "").lower(), {}).get(code - 0xF000 if private else code)
    if found:
        return found
    return "\ufffd" if private or not 0x20 <= code < 0x110000 or 0xD800 <= code < 0xE000 else chr(code)
