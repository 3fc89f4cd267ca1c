"""Extended grapheme clusters (UAX #29) from the standard library and three small tables.

General categories come from `unicodedata`, so the answer is as new as the interpreter; the tables hold only what no
category tells (pictographs, consonants and the exceptions), as of Unicode 17. ASCII text needs none of it: there only
CR LF belongs together.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from unicodedata import category

_ANY, _CONTROL, _EXTEND, _ZWJ, _SPACING, _PREPEND, _FLAG, _PICTOGRAPH, _CONSONANT, _L, _V, _T, _LV, _LVT = range(14)
_MARKS = (_EXTEND, _ZWJ, _SPACING)
_HANGUL = {(_L, _L), (_L, _V), (_L, _LV), (_L, _LVT), (_LV, _V), (_LV, _T), (_V, _V), (_V, _T), (_LVT, _T), (_T, _T)}


def _ranges(listed: str) -> tuple[int, ...]:
    """``"A9 2194-2199"`` as sorted edges: a code point is listed if ``bisect_right`` gives an odd number."""
    edges: list[int] = []
    for item in listed.split():
        first, _, last = item.partition("-")
        edges += int(first, 16), int(last or first, 16) + 1
    return tuple(edges)


_PREPENDED = _ranges(
    "600-605 6DD 70F 890-891 8E2 D4E 110BD 110CD 111C2-111C3 113D1 1193F 11941 11A84-11A89 11D46 11F02"
)
# Mc that extend (Other_Grapheme_Extend), and Mc after which, or before which, nothing is joined.
_EXTENDING_MC = _ranges(
    "9BE 9D7 B3E B57 BBE BD7 CC0 CC2 CC7-CC8 CCA-CCB CD5-CD6 D3E D57 DCF DDF 1715 1734 1B35 1B3B 1B3D 1B43-1B44 1BAA "
    "1BF2-1BF3 302E-302F A953 A9C0 111C0 11235 1133E 1134D 11357 113B8 113C2 113C5 113C7-113C9 113CF 114B0 114BD "
    "115AF 116B6 11930 1193D 16FF0-16FF1 1D165-1D166 1D16D-1D172"
)
_FREE_MC = _ranges(
    "102B-102C 1038 1062-1064 1067-106D 1083 1087-108C 108F 109A-109C 1A61 1A63-1A64 AA7B AA7D 11720-11721"
)
_LINKERS = frozenset(
    "\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d\u1039\u17d2\u1a60\u1b44\u1bab\ua9c0\uaaf6"
    "\U00010a3f\U00011133\U000113d0\U0001193e\U00011a47\U00011a99\U00011f42"
)
_CONSONANTS = _ranges(
    "915-939 958-95F 978-97F 995-9A8 9AA-9B0 9B2 9B6-9B9 9DC-9DD 9DF 9F0-9F1 A95-AA8 AAA-AB0 AB2-AB3 AB5-AB9 AF9 "
    "B15-B28 B2A-B30 B32-B33 B35-B39 B5C-B5D B5F B71 C15-C28 C2A-C39 C58-C5A D15-D3A 1000-102A 103F 1050-1055 "
    "105A-105D 1061 1065-1066 106E-1070 1075-1081 108E 1780-17B3 1A20-1A54 1B0B-1B0C 1B13-1B33 1B45-1B4C 1B83-1BA0 "
    "1BAE-1BAF 1BBB-1BBD A989-A98B A98F-A9B2 A9E0-A9E4 A9E7-A9EF A9FA-A9FE AA60-AA6F AA71-AA73 AA7A AA7E-AA7F "
    "AAE0-AAEA ABC0-ABDA 10A00 10A10-10A13 10A15-10A17 10A19-10A35 11103-11126 11144 11147 11380-11389 1138B 1138E "
    "11390-113B5 11900-11906 11909 1190C-11913 11915-11916 11918-1192F 11A00 11A0B-11A32 11A50 11A5C-11A83 11B0A "
    "11DF1 11F04-11F10 11F12-11F33"
)
_PICTOGRAPHS = _ranges(
    "A9 AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 23CF 23E9-23F3 23F8-23FA 24C2 25AA-25AB 25B6 25C0 "
    "25FB-25FE 2600-2604 260E 2611 2614-2615 2618 261D 2620 2622-2623 2626 262A 262E-262F 2638-263A 2640 2642 "
    "2648-2653 265F-2660 2663 2665-2666 2668 267B 267E-267F 2692-2697 2699 269B-269C 26A0-26A1 26A7 26AA-26AB "
    "26B0-26B1 26BD-26BE 26C4-26C5 26C8 26CE-26CF 26D1 26D3-26D4 26E9-26EA 26F0-26F5 26F7-26FA 26FD 2702 2705 "
    "2708-270D 270F 2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 274C 274E 2753-2755 2757 2763-2764 2795-2797 "
    "27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D 3297 3299 1F004 1F02C-1F02F 1F094-1F09F "
    "1F0AF-1F0B0 1F0C0 1F0CF-1F0D0 1F0F6-1F0FF 1F170-1F171 1F17E-1F17F 1F18E 1F191-1F19A 1F1AF-1F1E5 1F201-1F20F "
    "1F21A 1F22F 1F232-1F23A 1F23C-1F23F 1F249-1F25F 1F266-1F321 1F324-1F393 1F396-1F397 1F399-1F39B 1F39E-1F3F0 "
    "1F3F3-1F3F5 1F3F7-1F3FA 1F400-1F4FD 1F4FF-1F53D 1F549-1F54E 1F550-1F567 1F56F-1F570 1F573-1F57A 1F587 "
    "1F58A-1F58D 1F590 1F595-1F596 1F5A4-1F5A5 1F5A8 1F5B1-1F5B2 1F5BC 1F5C2-1F5C4 1F5D1-1F5D3 1F5DC-1F5DE 1F5E1 "
    "1F5E3 1F5E8 1F5EF 1F5F3 1F5FA-1F64F 1F680-1F6C5 1F6CB-1F6D2 1F6D5-1F6E5 1F6E9 1F6EB-1F6F0 1F6F3-1F6FF "
    "1F7DC-1F7F0 1F80C-1F80F 1F848-1F84F 1F85A-1F85F 1F888-1F88F 1F8AE-1F8AF 1F8BC-1F8BF 1F8C2-1F8CF 1F8D9-1F8FF "
    "1F90C-1F93A 1F93C-1F945 1F947-1F9FF 1FA58-1FA5F 1FA6E-1FAFF 1FC00-1FFFD"
)
_HANGUL_JAMO = {
    _L: _ranges("1100-115F A960-A97C"),
    _V: _ranges("1160-11A7 D7B0-D7C6 16D63 16D67-16D6A"),
    _T: _ranges("11A8-11FF D7CB-D7FB"),
}


@lru_cache(maxsize=4096)
def _kind(char: str) -> int:
    """The one class of ``char`` that decides about its neighbours."""
    code, general = ord(char), category(char)
    if bisect_right(_PREPENDED, code) & 1:
        return _PREPEND
    if general in ("Mn", "Me") or code == 0x200C or 0xE0020 <= code <= 0xE007F:
        return _EXTEND
    if general == "Mc":
        if bisect_right(_EXTENDING_MC, code) & 1:
            return _EXTEND
        return _ANY if bisect_right(_FREE_MC, code) & 1 else _SPACING
    if code == 0x200D:
        return _ZWJ
    if general in ("Cc", "Cf", "Zl", "Zp", "Cs") or (
        general == "Cn" and (code == 0x2065 or 0xFFF0 <= code <= 0xFFF8 or 0xE0000 <= code <= 0xE0FFF)
    ):
        return _CONTROL
    if code in (0x0E33, 0x0EB3):
        return _SPACING
    if code in (0xFF9E, 0xFF9F) or 0x1F3FB <= code <= 0x1F3FF:
        return _EXTEND
    if 0x1F1E6 <= code <= 0x1F1FF:
        return _FLAG
    if 0xAC00 <= code <= 0xD7A3:
        return _LVT if (code - 0xAC00) % 28 else _LV
    if bisect_right(_CONSONANTS, code) & 1:
        return _CONSONANT
    if bisect_right(_PICTOGRAPHS, code) & 1:
        return _PICTOGRAPH
    return next((kind for kind, jamo in _HANGUL_JAMO.items() if bisect_right(jamo, code) & 1), _ANY)


def joined(text: str, position: int, lower: int) -> bool:
    """Whether no cluster boundary lies at ``position`` (``lower < position < len(text)``; ``lower`` is a boundary).

    Looks at two code points; for a flag, a pictograph after ZWJ or a consonant also back over the flags or marks before
    it, never beyond ``lower``.
    """
    left, right = text[position - 1], text[position]
    if left < "\u0300" and right < "\u0300":
        return left == "\r" and right == "\n"
    before, after = _kind(left), _kind(right)
    if before == _CONTROL or after == _CONTROL:
        return False
    if after in _MARKS or before == _PREPEND or (after >= _L and (before, after) in _HANGUL):
        return True
    i = position - 1
    if after == _FLAG:
        while i >= lower and _kind(text[i]) == _FLAG:
            i -= 1
        return (position - 1 - i) % 2 == 1
    if after == _PICTOGRAPH and before == _ZWJ:
        i -= 1
        while i >= lower and _kind(text[i]) == _EXTEND:
            i -= 1
        return i >= lower and _kind(text[i]) == _PICTOGRAPH
    if after == _CONSONANT:
        linked = False
        while i >= lower and _kind(text[i]) in (_EXTEND, _ZWJ) and text[i] != "\u200c":
            linked = linked or text[i] in _LINKERS
            i -= 1
        return linked and i >= lower and _kind(text[i]) == _CONSONANT
    return False


def cluster_start(text: str, position: int, lower: int) -> int:
    """The largest boundary of extended grapheme clusters at or before ``position``, in code points of ``text``.

    ``lower``: a known boundary; the answer is never below it and nothing before it is looked at, so a caller that
    passes the start of its piece pays at most the width of the piece, flags and marks by the million included.
    """
    if position <= lower or position >= len(text):
        return max(lower, min(position, len(text)))
    if text.isascii():
        return position - (text[position] == "\n" and text[position - 1] == "\r")
    while position > lower and joined(text, position, lower):
        position -= 1
    return position


def cluster_end(text: str, position: int, lower: int, stop: int) -> int:
    """The smallest boundary at or after ``position``, at most ``stop``; ``lower`` as in `cluster_start`."""
    while position < stop and joined(text, position, lower):
        position += 1
    return min(position, stop)
