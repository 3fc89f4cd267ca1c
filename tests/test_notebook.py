"""The notebook loader: cells in order and verbatim, outputs on request, damaged files refused with the cell."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import Chunker, ChunkingError, LoadError, OptionError, PluginRegistry, Source
from omnichunk.testing import check_loader
from support import odd_text

LOADER = PluginRegistry().loaders()["notebook"]
PNG = "iVBORw0KGgo" * 40
KEYS = st.sampled_from(
    ["cells", "worksheets", "cell_type", "source", "outputs", "output_type", "data", "text", "metadata"]
)
ODD_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["code", "heading", "stream", "error"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner),
    max_leaves=12,
)


def notebook(*cells, version=4, **metadata):
    return {"cells": list(cells), "metadata": metadata, "nbformat": version, "nbformat_minor": 5}


def code(source="", *outputs, **more):
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": list(outputs), **more}


def markdown(source, **more):
    return {"cell_type": "markdown", "metadata": {}, "source": source, **more}


def shown(**data):
    """A display of ``text_plain="…"`` and the like."""
    return {"output_type": "display_data", "metadata": {}, "data": {k.replace("_", "/"): v for k, v in data.items()}}


def printed(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def load(content, **options):
    data = content if isinstance(content, (str, bytes)) else json.dumps(content)
    return LOADER.load(Source("n.ipynb", data, options=options))


def texts(loaded, key="cell"):
    return [(s.metadata[key], loaded.text[s.char_start : s.char_end]) for s in loaded.segments if key in s.metadata]


def outputs(*given, **options):
    """The texts of the outputs of a cell."""
    loaded = load(notebook(code("", *given)), include_notebook_outputs=True, **options)
    return [text for _, text in texts(loaded, "output")]


class TestCells:
    def test_cells_stand_below_each_other_as_they_are_written(self):
        """A cell that ends its line is followed at once, another by a line end that belongs to no cell."""
        loaded = load(notebook(markdown(["# A\n", "\n"]), code("x = 1"), code("y = 2\r\n"), markdown("\tend ")))
        assert loaded.text == "# A\n\nx = 1\ny = 2\r\n\tend "
        assert texts(loaded) == [(0, "# A\n\n"), (1, "x = 1"), (2, "y = 2\r\n"), (3, "\tend ")]
        assert (loaded.format_name, loaded.normalization, loaded.warnings) == ("notebook", "extracted", ())

    def test_positions_reach_the_chunks(self):
        """Cell, id and type; an empty cell keeps its number; ``locate`` gives the offset in the cell."""
        content = notebook(markdown("# A\n", id="a"), code(""), code("x = 1\ny = 2", id="c"))
        (chunk,) = Chunker().chunk("n.ipynb", json.dumps(content))
        about = chunk.context.format_metadata
        assert (about["cells"], about["cell_ids"], about["cell_types"]) == ([0, 2], ["a", "c"], ["markdown", "code"])
        place = chunk.locate(chunk.text.index("y"))
        assert (place.position["cell"], place.position["cell_id"], place.offset) == (2, "c", 6)

    def test_a_section_goes_on_over_the_cells_that_follow(self):
        """The heading of a markdown cell is the heading of the code below it."""
        content = notebook(markdown("# A\n"), code("x = 1\n" * 30), markdown("## B\n"), code("y = 2\n" * 30))
        chunks = Chunker(max_chunk_size=100).chunk("n.ipynb", json.dumps(content))
        paths = {chunk.text[:5]: chunk.context.heading_hierarchy for chunk in chunks}
        assert (paths["x = 1"], paths["y = 2"]) == (("A",), ("A", "B"))

    def test_bytes_text_and_files_give_the_same(self, tmp_path):
        content = json.dumps(notebook(markdown("# Größe 🎉"), code("x = 1")), ensure_ascii=False)
        path = tmp_path / "n.ipynb"
        path.write_text(content, "utf-8")
        told = [(c.text, c.byte_range) for c in Chunker().chunk("n.ipynb", content)]
        assert told == [(c.text, c.byte_range) for c in Chunker().chunk_bytes("n.ipynb", content.encode())]
        assert told == [(c.text, c.byte_range) for c in Chunker().chunk_file(path)]
        assert load(b"\xef\xbb\xbf" + content.encode()).text == load("\ufeff" + content).text == load(content).text

    def test_raw_cells_and_unknown_types_are_kept(self):
        raw = {"cell_type": "raw", "metadata": {"raw_mimetype": "text/html"}, "source": "<p>a</p>"}
        loaded = load(notebook(raw, {**raw, "metadata": {"format": "x"}}, {"cell_type": "chart", "source": "b"}))
        assert [s.metadata["language"] for s in loaded.segments] == ["html", "text", "text"]
        assert [s.metadata["cell_type"] for s in loaded.segments] == ["raw", "raw", "chart"]
        assert loaded.warnings == ("an unknown type, read as text, in cell 2",)

    def test_attachments_are_named_and_base64_is_left_out(self):
        """The ranges that were left out make offsets in the cell computable."""
        source = f"![a](attachment:a.png) ![b](data:image/png;base64,{PNG}) c"
        loaded = load(notebook(markdown(source, attachments={"a.png": {"image/png": PNG}})))
        assert loaded.text == "![a](attachment:a.png) ![b](data:image/png;base64,…) c"
        (segment,) = loaded.segments
        ((start, end),) = segment.metadata["omitted"]
        assert (source[start:end], segment.metadata["attachments"]) == (PNG, ["a.png"])
        assert loaded.warnings == ("base64 left out of the text in cell 0",)

    def test_a_notebook_without_cells_is_empty(self):
        for content in (notebook(), {"nbformat": 3, "metadata": {}}, notebook(code(""))):
            assert (load(content).text, load(content).segments) == ("", ())
            assert Chunker().chunk("n.ipynb", json.dumps(content)) == []

    @given(st.lists(odd_text(6), max_size=6))
    def test_the_loader_keeps_its_promises_for_odd_cells(self, sources):
        cells = [(code, markdown)[i % 2](source) for i, source in enumerate(sources)]
        content = notebook(*cells)
        (loaded,) = check_loader(LOADER, [("n.ipynb", json.dumps(content).encode())], damage=False)
        assert texts(loaded) == [(i, source) for i, source in enumerate(sources) if source]


class TestFormats:
    def test_third_format(self):
        """Worksheets, inputs, heading cells; lists of lines with and without their ends."""
        cells = [
            {"cell_type": "heading", "level": 2, "source": ["Old\n", "title"]},
            {"cell_type": "code", "input": ["x = 1", "y = 2"], "language": "R", "outputs": []},
            {"cell_type": "html", "source": ["<b>\n", "c</b>"]},
        ]
        content = {"nbformat": 3, "metadata": {}, "worksheets": [{"cells": cells[:1]}, {"cells": cells[1:]}]}
        loaded = load(content)
        assert texts(loaded) == [(0, "## Old title"), (1, "x = 1\ny = 2"), (2, "<b>\nc</b>")]
        assert [s.metadata["language"] for s in loaded.segments] == ["markdown", "r", "html"]

    def test_first_format(self):
        cells = [{"cell_type": "text", "text": "a"}, {"cell_type": "code", "code": "x = 1", "prompt_number": 1}]
        loaded = load({"nbformat": 1, "cells": cells})
        assert (texts(loaded), loaded.warnings) == ([(0, "a"), (1, "x = 1")], ())

    @pytest.mark.parametrize(
        ("version", "warning"), [(5, "newer than 4"), (None, "does not say"), ("4", "does not say")]
    )
    def test_other_formats_are_read_with_a_warning(self, version, warning):
        loaded = load(notebook(code("x = 1"), version=version))
        assert loaded.text == "x = 1"
        assert warning in loaded.warnings[0]

    def test_missing_parts_are_warnings(self):
        """One for each kind of fault, with the first cells that have it."""
        bare = {"cell_type": "code", "source": "z = 9"}
        loaded = load(notebook(*[bare] * 8, {"cell_type": "markdown"}))
        assert loaded.text.count("z = 9") == 8
        assert loaded.warnings == ('no "outputs" in cells 0, 1, 2, 3, 4 and 3 more', "no text in cell 8")


class TestLanguages:
    @pytest.mark.parametrize(
        ("metadata", "language"),
        [
            ({}, "python"),
            ({"language_info": {"name": "R"}, "kernelspec": {"language": "python"}}, "r"),
            ({"kernelspec": {"language": "C#", "name": ".net-csharp"}}, "csharp"),
            ({"language_info": {"name": "polyglot-notebook", "file_extension": ".cs"}}, "csharp"),
            ({"language_info": {"name": "julia", "file_extension": 3}}, "julia"),
            ({"kernelspec": {"name": "bash"}}, "bash"),
            ({"kernelspec": {"language": "stata"}}, "stata"),
            ({"language_info": [], "kernelspec": "x"}, "python"),
        ],
    )
    def test_the_kernel_decides(self, metadata, language):
        loaded = load(notebook(code("x"), **metadata))
        assert loaded.segments[0].metadata["language"] == loaded.metadata["language"] == language

    @pytest.mark.parametrize(
        ("source", "language"),
        [
            ("%%bash\nls", "bash"),
            ("\n%%R -i df\nplot(df)", "r"),
            ("%%script --bg /usr/bin/perl\nprint", "perl"),
            ("%%writefile -a conf/a.yaml\na: 1", "yaml"),
            ("%%file notes\na", "text"),
            ("%%javascript\nf()", "javascript"),
            ("%%html\n<p>", "html"),
            ("#!fsharp\nlet x = 1", "fsharp"),
            ("%sql\nSELECT 1", "sql"),
            ("%sql SELECT 1", "python"),
            ("%%time\nx = 1", "python"),
            ("%% Section\nx = 1", "python"),
            ("%%script", "python"),
        ],
    )
    def test_the_first_line_of_a_cell_may_name_another(self, source, language):
        (segment,) = load(notebook(code(source))).segments
        assert segment.metadata["language"] == language
        assert segment.kind == ("prose" if language in ("html", "text", "yaml") else "code")

    @pytest.mark.parametrize(
        "metadata",
        [{"vscode": {"languageId": "r"}}, {"kernel": "R"}, {"polyglot_notebook": {"kernelName": "R"}}],
    )
    def test_the_metadata_of_a_cell_may_name_another(self, metadata):
        loaded = load(notebook(code("x", metadata=metadata), code("y", metadata={"kernel": "SoS", "vscode": 1})))
        assert [s.metadata["language"] for s in loaded.segments] == ["r", "python"]

    def test_the_caller_may_name_the_language(self):
        (chunk,) = Chunker(language="r").chunk("n.ipynb", json.dumps(notebook(code("x <- 1"))))
        assert chunk.context.language == "r"
        with pytest.raises(OptionError, match="did you mean"):
            Chunker(language="pyton").chunk("n.ipynb", json.dumps(notebook(code("x"))))


class TestOutputs:
    def test_they_enter_on_request_and_belong_to_their_cell(self):
        content = notebook(code("f()", printed("42 rows\n```\ninner\n"), id="c"), markdown("after"))
        assert load(content).text == "f()\nafter"
        loaded = load(content, include_notebook_outputs=True)
        assert loaded.text == "f()\n42 rows\n```\ninner\nafter"
        about = loaded.segments[1].metadata
        assert about == {
            "cell": 0, "cell_id": "c", "cell_type": "code", "language": "text", "output": 0, "output_type": "stream",
            "stream": "stdout", "mime": "text/plain",
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("data", "found"),
        [
            ({"text_plain": "a", "text_html": "<b>a</b>"}, ["a"]),
            ({"text_plain": "a", "text_latex": "$a$", "text_markdown": ["*a*\n", "b"]}, ["*a*\nb"]),
            ({"text_plain": "<IPython.core.display.HTML object>", "text_html": "<b>a</b>"}, ["<b>a</b>"]),
            ({"text_html": "<script>1 < 2</script><style>\n</style>\n<b>a</b><script>"}, ["<b>a</b>"]),
            ({"text_html": "<script>x</script>"}, ["[text/html output]"]),
            ({"text_plain": "<Figure at 0x7f>", "image_png": PNG}, ["[image/png output: Figure]"]),
            ({"text_plain": "x²", "image_png": PNG}, ["x²", "[image/png output]"]),
            ({"image_svg+xml": "<svg/>"}, ["[image/svg+xml output]"]),
            ({"text_plain": "<Thing at 0x7f>"}, ["<Thing at 0x7f>"]),
            ({"application_json": {"a": [1, "é"]}}, ['{"a": [1, "é"]}']),
            ({"application_vnd.plotly.v1+json": {}, "text_plain": ""}, ["[application/vnd.plotly.v1+json output]"]),
            ({"text_markdown": f"![a](data:image/png;base64,{PNG})"}, ["![a](data:image/png;base64,…)"]),
            ({"text_plain": f"b'{PNG}A7+/'"}, ["b'…'"]),
            ({"text_plain": "ACGT" * 99}, ["ACGT" * 99]),
            ({}, []),
        ],
    )
    def test_the_best_text_of_a_display(self, data, found):
        assert outputs(shown(**data)) == found

    @pytest.mark.parametrize(
        ("written", "read"),
        [
            ("\x1b[1;31mred\x1b[0m \x1b]8;;http://a\x1b\\link\x1b]8;;\x07", "red link"),
            (" 1%|\r50%|\r100%|#\ndone\r\n", "100%|#\ndone\n"),
            ("a long line\rshort", "shortg line"),
            ("a long line\r\x1b[Kshort", "short"),
            ("one\x1b[2K\rtwo\x1b[0K", "two"),
            ("1/9\b\b\b2/9\b\b\b\b\b3/9", "3/9"),
            ("bell\x07 \x1b", "bell "),
            ("\r\r\r\n\x1b[\x1b]x", "\nx"),
        ],
    )
    def test_streams_read_as_a_terminal_shows_them(self, written, read):
        expected = [read] if read.strip() else []
        assert outputs(printed(written)) == expected

    def test_the_writes_of_one_stream_are_one_output(self):
        given = [printed(["1%\r"]), printed("2%\n"), printed("e", "stderr"), printed("x")]
        assert outputs(*given) == ["2%\n", "e", "x"]

    def test_errors_show_their_trace(self):
        error = {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31m---", "E: v"]}
        assert outputs(error, {**error, "traceback": []}) == ["---\nE: v\n", "E: v"]

    def test_third_format(self):
        """Keys instead of MIME types, and other names for the kinds."""
        given = [
            {"output_type": "stream", "stream": "stderr", "text": ["a\n", "b"]},
            {"output_type": "pyout", "text": ["1"], "html": "<b>1</b>"},
            {"output_type": "display_data", "png": PNG},
            {"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": ["t"]},
        ]
        cell = {"cell_type": "code", "input": "x", "outputs": given}
        loaded = load({"nbformat": 3, "worksheets": [{"cells": [cell]}]}, include_notebook_outputs=True)
        assert loaded.text == "x\na\nb\n1\n[image/png output]\nt\n"

    def test_long_outputs_are_cut_and_said_to_be(self):
        content = notebook(code("", printed("line\n" * 100)), code("", printed("x" * 50)))
        loaded = load(content, include_notebook_outputs=True, notebook_output_limit=42)
        assert loaded.text == "line\n" * 8 + "[… 461 more characters]\n" + "x" * 42 + "\n[… 8 more characters]"
        assert loaded.warnings == ("outputs cut to notebook_output_limit in cells 0, 1",)
        assert outputs(printed("x" * 9999), notebook_output_limit=0) == ["x" * 9999]
        with pytest.raises(OptionError, match="notebook_output_limit=-1"):
            load(content, notebook_output_limit=-1)

    @pytest.mark.parametrize(
        ("given", "what"),
        [
            ("x", "outputs should be a list"),
            ([1], "output 0 should be an object"),
            ([printed(1)], "the text of output 0 should be a string"),
            ([{"output_type": "display_data", "data": []}], "the data of output 0 should be an object"),
            ([shown(text_plain=[1]), shown(text_plain=1)], "the text of output 1 should be a string"),
        ],
    )
    def test_damaged_outputs_are_refused_when_they_are_wanted(self, given, what):
        content = notebook(code("x = 1", outputs=given))
        assert load(content).text == "x = 1"
        with pytest.raises(LoadError, match=f"n.ipynb: cell 0: {what}.*include_notebook_outputs=False"):
            load(content, include_notebook_outputs=True)


class TestDamage:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "n.ipynb:1: not valid JSON"),
            ("not json", "n.ipynb:1: not valid JSON"),
            ('{"cells": [\n{"cell_type": "raw"},\n{"cell_type": ', "n.ipynb:3: .*in or near cell 1"),
            ("[]", "n.ipynb: holds a list"),
            ("{}", 'n.ipynb: has no "cells"'),
            ('{"nbformat": 4}', 'n.ipynb: has no "cells"'),
            ('{"cells": "none"}', '"cells" is a string'),
            ('{"cells": null}', '"cells" is null'),
            ('{"worksheets": 1}', '"worksheets" is a number'),
            ('{"worksheets": [[]]}', "a worksheet is a list"),
            ('{"cells": [{"source": ""}, true]}', "cell 1 is true or false"),
            ('{"cells": [{"cell_type": "code", "source": {}}]}', 'cell 0: "source" is an object'),
            ('{"cells": [{"cell_type": "code", "source": ["a", 1]}]}', 'cell 0: "source" is a list of other things'),
            ('{"nbformat": 3, "worksheets": [{"cells": [{"source": [1]}]}]}', "cell 0"),
            (r'{"cells": [{"source": "é"}, {"source": "ab\ud800"}]}', r"cell 1: lone surrogate U\+D800 at offset 2"),
            ('{"cells": ' + "[" * 100_000, "nested too deeply"),
            ('{"cells": ' + "1" * 5_000 + "}", "n.ipynb: "),
            ('{"cells": [{"source": "é"}]}'.encode("latin-1"), "n.ipynb:1: byte 0xE9"),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "n.ipynb: this is an OLE container"),
        ],
    )
    def test_what_is_no_notebook_is_refused_with_the_place(self, content, message):
        with pytest.raises(LoadError, match=message):
            load(content)
        with pytest.raises(ChunkingError):
            Chunker().chunk_bytes("n.ipynb", content if isinstance(content, bytes) else content.encode())

    def test_odd_values_where_none_are_used_do_no_harm(self):
        odd = {"cell_type": "code", "source": "x", "id": 7, "metadata": [], "outputs": None, "language": {}}
        heading = {"cell_type": "heading", "level": "x", "source": "t", "metadata": {"kernel": "\ud800"}}
        content = {"nbformat": True, "metadata": {"kernelspec": {"display_name": "a\ud800"}}, "cells": [odd, heading]}
        loaded = load(content)
        assert loaded.text == "x\n# t"
        assert loaded.metadata["kernel"] == "a?"

    @given(ODD_JSON)
    def test_any_json_is_a_document_or_a_load_error(self, value):
        for content in (value, {"cells": [value]}, {"cells": [code("", value)]}):
            with suppress(LoadError):
                load(json.dumps(content), include_notebook_outputs=True)

    def test_the_kit_for_plugins_passes(self):
        given = notebook(markdown("# Größe 🎉\n"), code("x = 1", printed("\x1b[1ma\r\n"), shown(image_png=PNG)))
        data = json.dumps(given, ensure_ascii=False).encode()
        check_loader(LOADER, [("n.ipynb", data)])
        check_loader(LOADER, [("n.ipynb", data)], include_notebook_outputs=True)


@pytest.mark.parametrize(
    "piece",
    ["\r", "\b", "x\x1b[2K", "\x1b]", "\x1b(", "<script ", "<style>", "a" * 199 + " ", "A" * 70 + "\n", "<", " at 0x"],
)
def test_long_outputs_do_not_take_the_square_of_their_length(piece):
    """Each of these would keep a careless pattern busy for minutes."""
    text = piece * (100_000 // len(piece))
    found = outputs(printed(text), shown(text_plain=text), shown(text_html=text), notebook_output_limit=0)
    assert all(len(output) <= max(len(text), 99) for output in found)


def test_content_tells_a_notebook_without_its_suffix():
    registry = PluginRegistry()
    data = json.dumps(notebook(code("x"))).encode()
    assert registry.loader_for(Source("copy.of", data)).name == "notebook"
    assert registry.loader_for(Source("a.json", data)).name == "text"
    assert registry.loader_for(Source("n.IPYNB", b"")).name == "notebook"


OLD_CELLS = st.lists(
    st.sampled_from(
        [
            {"cell_type": "code", "language": "python", "input": "x = 1\n", "outputs": [], "collapsed": False},
            {"cell_type": "markdown", "source": ["# One\n", "words"]},
            {"cell_type": "html", "source": "<b>bold</b>"},
            {"cell_type": "heading", "level": 2, "source": "Two"},
            {"cell_type": "raw", "source": "as it is"},
        ]
    ),
    max_size=6,
)


@given(OLD_CELLS)
def test_format_3_is_read_as_nbformat_upgrades_it(cells):
    """The cells of an old notebook say what the reference upgrade makes of them; only its random ids are not taken."""
    import nbformat

    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells, "metadata": {}}]}
    upgraded = nbformat.reads(json.dumps(old), as_version=4)
    loaded = load(old)
    texts = [loaded.text[s.char_start : s.char_end].rstrip("\n") for s in loaded.segments]
    assert texts == [cell.source.rstrip("\n") for cell in upgraded.cells if cell.source]
