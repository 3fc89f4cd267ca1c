"""Bytes to text: right, or refused with a place and a remedy."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnichunk.errors import ChunkingError, LoadError, OptionError
from omnichunk.source.decode import Decoded, decode, looks_binary
from omnichunk.source.detect import detect

SAMPLES = {
    "cp1252": "Le garçon a déjà mangé à la fenêtre où l’été s’achève; la forêt, très âgée, paraît frêle. Ça, c’était "
    "l’œuvre d’un maître évêque, né à Orléans près de la Loire.",
    "iso8859_2": "Když jsem přišel domů, matka už vařila večeři a otec četl noviny. Řekl mi, že zítra pojedeme "
    "k babičce, která žije v malé vesnici u řeky.",
    "cp1250": "W zeszłym roku pojechaliśmy nad morze, gdzie dzieci bawiły się na plaży, a my piliśmy herbatę "
    "i rozmawialiśmy z sąsiadami o pogodzie.",
    "cp1251": "Съешь же ещё этих мягких французских булок, да выпей чаю. Вчера мы ходили в лес и видели там лося.",
    "koi8_r": "Съешь же ещё этих мягких французских булок, да выпей чаю. Вчера мы ходили в лес и видели там лося.",
    "cp866": "Съешь же ещё этих мягких французских булок, да выпей чаю. Вчера мы ходили в лес и видели там лося.",
    "iso8859_5": "Съешь же ещё этих мягких французских булок, да выпей чаю. Вчера мы ходили в лес и видели там лося.",
    "cp1253": "Η γρήγορη αλεπού πηδάει πάνω από το νωθρό σκυλί και μετά πηγαίνει στο δάσος για να κοιμηθεί ήσυχα.",
    "cp1255": "בוקר טוב לכולם, היום נלך לים ונשחה במים הקרים, ואחר כך נחזור הביתה ונאכל ארוחת ערב עם המשפחה.",
    "cp1256": "ذهب الولد إلى المدرسة في الصباح ثم عاد إلى البيت مع أخيه وأكلوا الطعام مع العائلة في المساء.",
    "cp1254": "Pijamalı hasta yağız şoföre çabucak güvendi ve akşam üzeri gökyüzü ışıl ışıl parlarken eve döndüler.",
    "cp932": "今日は天気がいいので、家族と一緒に公園へ行きました。子供たちは楽しそうに遊んでいました。",
    "euc_jp": "今日は天気がいいので、家族と一緒に公園へ行きました。子供たちは楽しそうに遊んでいました。",
    "gb18030": "今天的天气很好，我和家里的人一起去了公园。孩子们在那里玩得很高兴，大家都不想回家。",
    "big5": "今天的天氣很好，我和家裡的人一起去了公園。孩子們在那裡玩得很高興，大家都不想回家。",
    "cp949": "오늘은 날씨가 좋아서 가족과 함께 공원에 갔습니다. 아이들은 그곳에서 즐겁게 놀고 있었습니다.",
}
OTHERS = (
    "cp1252 cp1250 cp1251 cp1253 cp1254 cp1257 iso8859_15 koi8_r mac_roman mac_cyrillic cp850 cp437 gb18030 cp932 big5"
)


def refused(data: bytes, encoding: str | None = None, kind: str = "prose") -> str:
    with pytest.raises(LoadError) as caught:
        decode(data, "x.txt", encoding, kind)
    return str(caught.value)


def outcome(data: bytes, kind: str) -> Decoded | str:
    try:
        return decode(data, "some.file", None, kind)
    except ChunkingError as error:
        return str(error)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0\x1b\ufeff"), max_size=200))
def test_utf8_is_taken_as_it_is(text: str) -> None:
    for kind in ("prose", "code", "data"):
        if not looks_binary(text.encode()):
            assert decode(text.encode(), "x", None, kind) == Decoded(text, "utf-8", "none", False)


def test_line_ends_and_emptiness() -> None:
    assert decode(b"", "x").text == ""
    assert decode(b"a\r\nb\rc\n", "x").text == "a\r\nb\rc\n"


def test_mark_of_utf8_stays() -> None:
    data = b"\xef\xbb\xbf# T\n"
    for encoding in (None, "utf-8", "UTF8", "utf-8-sig"):
        assert decode(data, "x", encoding) == Decoded("\ufeff# T\n", encoding or "utf-8", "none", True)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_encodings(codec: str) -> None:
    for text in ("Euro Symbol: €\nplain text", "Привет, мир. Как дела сегодня?", "x = 1\r\n"):
        plain, marked = text.encode(codec), ("\ufeff" + text).encode(codec)
        assert decode(marked, "x", None, "code") == Decoded(text, codec[:6], f"decoded:{codec[:6]}", False)
        assert decode(plain, "x") == Decoded(text, codec, f"decoded:{codec}", False)
        assert decode(marked, "x", codec).text == decode(marked, "x", codec[:6]).text == text
        assert looks_binary(plain) == looks_binary(marked) == ""
    assert "offset" in refused(("\ufeff" + "text").encode(codec)[:-1])


def test_mark_that_contradicts_the_bytes() -> None:
    assert "UTF-16-BE" in refused(b"\xfe\xff" + "Euro Symbol:\nGreek:\n".encode("utf-16-le"))


@pytest.mark.parametrize("data", [b"a\0bc", b"hello\0world", b"one\0two" + b" and so on" * 20 + b"\0"])
def test_a_few_nuls_are_text(data: bytes) -> None:
    assert decode(data, "x").text == data.decode()
    assert looks_binary(data) == ""


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"%PDF-1.7\n1 0 obj", "PDF"),
        (b"PK\x03\x04" + b"x" * 50, "ZIP"),
        (b"\x7fELF\x02\x01\x01" + b"\0" * 9, "ELF"),
        (b"\x89PNG\r\n\x1a\n\0\0", "PNG"),
        (b"\0" * 100, "NUL"),
        (b"abc\0\0\0" * 30, "NUL"),
        (b"a" * 9000 + b"\0" * 9000, "NUL"),
        (random.Random(7).randbytes(1024), "binary"),
    ],
)
def test_binaries_are_named(data: bytes, what: str) -> None:
    for kind in ("prose", "code"):
        message = refused(data, kind=kind)
        assert message.startswith("x.txt: this is ")
        assert what in message
        assert "loader=" in message


def test_iso_2022() -> None:
    japanese, korean = "コンピュータは、本質的には\n", "컴퓨터는 숫자만\n"
    assert decode(japanese.encode("iso2022_jp"), "x").text == japanese
    assert decode(korean.encode("iso2022_kr"), "x") == Decoded(korean, "iso2022_kr", "decoded:iso2022_kr", False)
    assert decode(b"\x1b[31mred\x1b(B\n", "x") == Decoded("\x1b[31mred\x1b(B\n", "utf-8", "none", False)
    assert decode(b"a\x1b$Bz\n", "x").warnings
    assert decode(b"\x1b$)A\x0eab\x0f\n", "x").warnings


@pytest.mark.parametrize(
    ("head", "codec", "kind"),
    [
        ("# -*- coding: latin-1 -*-\nx = 'é'\n", "cp1252", "code"),
        ("#!/usr/bin/python\n# vim: set fileencoding=koi8-r :\nx = 'привет'\n", "koi8-r", "code"),
        ('@charset "shift_jis";\np { content: "日本" }\n', "shift_jis", "code"),
        ('<?xml version="1.0" encoding="ISO-8859-15"?>\n<a>10 €</a>\n', "iso8859-15", "markup"),
        ('<?xml version="1.0" encoding="windows-1251"?>\n<a>да</a>\n', "cp1251", "data"),
        ('<!DOCTYPE html><html><head><META CHARSET="iso-8859-1">“naïve”', "cp1252", "markup"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=gb2312">今天镕', "gb18030", "markup"),
    ],
)
def test_declarations(head: str, codec: str, kind: str) -> None:
    assert decode(head.encode(codec), "x", None, kind) == Decoded(head, codec, f"decoded:{codec}", False)
    truth = decode(head.encode(), "x", None, kind)
    if codec != "shift_jis" and codec != "gb18030":
        assert (truth.text, truth.encoding) == (head, "utf-8")
        assert "ignored" in truth.warnings[0]


def test_declarations_that_do_not_hold() -> None:
    page = '<meta charset="utf-16"><p>é'
    assert decode(page.encode(), "x", None, "markup") == Decoded(page, "utf-8", "none", False)
    commented = '<!-- <meta charset="cp1251"> --><p>é'
    assert decode(commented.encode(), "x", None, "markup") == Decoded(commented, "utf-8", "none", False)
    unknown = decode(b"# coding: nonsense\nx", "x", None, "code")
    assert "nonsense" in unknown.warnings[0]
    assert unknown.text == "# coding: nonsense\nx"
    assert "x.txt:2: byte 0x81" in refused(b"# coding: cp1252\nx = '\x81'\n", kind="code")


def test_named_encodings_are_strict() -> None:
    assert decode(b"caf\xe9", "x", "latin-1") == Decoded("café", "latin-1", "decoded:latin-1", False)
    message = refused(b"ok\nbad \xff", "utf-8")
    assert message.startswith("x.txt:2: byte 0xFF at offset 7")
    assert "encoding" in message
    with pytest.raises(OptionError, match=r'did you mean "[^"]+"\?\Z'):
        decode(b"x", "x", "utf-9")
    with pytest.raises(OptionError, match=r"no text encoding Python knows\.\Z"):
        decode(b"x", "x", "base64")
    for name in ("hex", "rot13", "no\0ne", "undefined"):
        with pytest.raises(OptionError):
            decode(b"x", "x", name)


def test_code_is_never_guessed_at() -> None:
    data = SAMPLES["cp1252"].encode("cp1252")
    assert decode(data, "x").text == SAMPLES["cp1252"]
    message = refused(b"# fine\n" + data, kind="code")
    assert message.startswith("x.txt:2: byte 0xE7 at offset 13")
    assert "encoding=" in message


def test_damaged_utf8_stays_utf8() -> None:
    data = ("日本語 log line é\n" * 30).encode() + b"\x93 bad\n" + "日本語 end\n".encode()
    decoded = decode(data, "x")
    assert decoded.encoding == "utf-8"
    assert decoded.text.count("\ufffd") == 1
    assert decoded.normalization == "decoded:utf-8"
    assert "offset 660 (line 31)" in decoded.warnings[0]
    refused(data, kind="code")
    refused(b'["\xff"]', kind="data")
    refused(b"plain English text, and one \x93 in it. " + b"More of it. " * 20)


def test_a_windows_file() -> None:
    text = "© 2020 Société Générale™ — “naïve” façade… résumé, déjà vu, coût. " * 5
    assert decode(text.encode("cp1252"), "x").text == text


@pytest.mark.parametrize("codec", SAMPLES)
def test_known_languages_are_read(codec: str) -> None:
    text = SAMPLES[codec] * 3
    decoded = decode(text.encode(codec), "x")
    assert decoded.text == text
    assert decoded.normalization == f"decoded:{decoded.encoding}"
    assert decoded.encoding in decoded.warnings[0]


@pytest.mark.parametrize("codec", [*SAMPLES, *OTHERS.split()])
def test_pieces_of_any_length_are_right_or_refused(codec: str) -> None:
    for text in set(SAMPLES.values()):
        for start, end in ((5, 30), (20, 60)):
            try:
                data = text[start:end].encode(codec)
            except UnicodeEncodeError:
                continue
            found = None if data.isascii() else detect(data)
            assert found is None or found[1] == text[start:end]


@pytest.mark.parametrize(
    "text",
    [
        "Hemû mirov azad û di weqar û mafan de wekhev tên dinyayê. Ew xwedî hiş û şuûr in. ",
        "Taka ma ñayi nguiakoi ñayivi ñatu na ja'a tnu'u ja kusa'a ndeva'ña-i, su'uva kajito. ",
        "Spetsanal ja swinkil ja lu’um k’inali junxta wax jul schonjel, sok ja sijpanub’ali. ",
        "Tuti iatsâli umineshtsâ s-fac liberi shi egali la nâmuzea shi-ndrepturli. ",
    ],
)
def test_languages_not_in_the_table_are_right_or_refused(text: str) -> None:
    for codec in ("cp1252", "cp1254", "iso8859_9", "mac_roman", "cp850", "iso8859_15", "mac_turkish", "cp1258"):
        for times in (1, 2):
            data = (text * times).encode(codec, "ignore")
            found = detect(data)
            assert found is None or found[1] == data.decode(codec)


@settings(max_examples=60)
@given(st.binary(max_size=300), st.sampled_from(["code", "prose", "markup", "data"]))
def test_any_bytes_give_text_or_an_error_that_names_the_file(data: bytes, kind: str) -> None:
    looks_binary(data)
    result = outcome(data, kind)
    if isinstance(result, str):
        assert result.startswith("some.file")
    else:
        assert result.text.encode() == data or result.warnings or result.normalization.startswith("decoded:utf-")
        assert result.text.encode() == data or result.normalization != "none"


@settings(max_examples=40)
@given(st.sampled_from(["<meta charset=", "# coding: ", '<?xml version="1.0" encoding="']), st.text(max_size=20))
def test_any_declaration_is_survived(start: str, label: str) -> None:
    for kind in ("code", "markup"):
        result = outcome((start + label + '"?>\n').encode("utf-8", "ignore") + b"\xe9t\xe9", kind)
        assert not isinstance(result, str) or "some.file" in result


def test_the_cost_of_large_legacy_files_is_bounded() -> None:
    data = ("x" * 100_000 + " " + SAMPLES["gb18030"] * 3000).encode("gb18030")
    assert detect(data) is not None
    assert detect(b"\xff" * 200_000) is None
