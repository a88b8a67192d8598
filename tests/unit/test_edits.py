"""Edits: made from places in a text, applied to a cell, and refused where they do not fit."""

from __future__ import annotations

import ast
import itertools
import json
import linecache
import textwrap
from collections.abc import Iterator

import pytest

from leafmagic.cell import Place
from leafmagic.edits import Edit, apply, mend
from leafmagic.findings import Finding, fixes
from leafmagic.findings.source import source_at

_NUMBERS = itertools.count()
GUARD = "with torch.no_grad():"


@pytest.fixture
def lent() -> Iterator[list[str]]:
    names: list[str] = []
    yield names
    for name in names:
        linecache.cache.pop(name, None)


def place_of(lent: list[str], text: str, words: str) -> Place:
    """Return the place of an expression, or of an augmented assignment, in a text."""
    name = f"<ipython-input-{next(_NUMBERS)}-test>"
    lent.append(name)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    source = source_at(Place(name, "Cell In[1]", "<module>", 1, 1))
    nodes = [
        node
        for node in source.nodes
        if isinstance(node, ast.expr | ast.AugAssign) and source.words(node) == words
    ]
    return source.place(nodes[0])


def code(text: str) -> str:
    return textwrap.dedent(text).strip("\n") + "\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("w -= 1", f"{GUARD}\n    w -= 1"),
        ("w -= 1  # a step\nb = 2", f"{GUARD}\n    w -= 1  # a step\nb = 2"),
        ("a = 1; w -= 1; b = 2  # it", f"a = 1\n{GUARD}\n    w -= 1\nb = 2  # it"),
        ("if a: w -= 1", f"if a:\n    {GUARD}\n        w -= 1"),
        ("for a in b: c = 1; w -= 1", f"for a in b:\n    c = 1\n    {GUARD}\n        w -= 1"),
        (
            "def f():\n    if a:\n        b()\n    else: w -= 1\n    c()",
            f"def f():\n    if a:\n        b()\n    else:\n        {GUARD}\n            w -= 1\n    c()",
        ),
    ],
)
def test_a_statement_is_put_under_a_head(before: str, after: str, lent: list[str]) -> None:
    place = place_of(lent, before, "w -= 1")
    assert apply(before, fixes.wrap_statement(place, GUARD)) == after


def test_lines_of_a_wrapped_statement_are_indented_but_not_those_of_a_string(
    lent: list[str],
) -> None:
    text = "w.sub_(\n    f(x)\n)\n"
    place = place_of(lent, text, "w.sub_(\n    f(x)\n)")
    wrapped = apply(text, fixes.wrap_statement(place, GUARD))
    assert wrapped == f"{GUARD}\n    w.sub_(\n        f(x)\n    )\n"
    text = 'f("""a\n  b""")\n'
    wrapped = apply(text, fixes.wrap_statement(place_of(lent, text, text.strip()), GUARD))
    assert wrapped == f'{GUARD}\n    f("""a\n  b""")\n'


@pytest.mark.parametrize(
    ("text", "inserted"),
    [
        ("h = f(w)", "h = f(w)\nh.retain_grad()"),
        ("h = f(w)  # it\ng = 1", "h = f(w)  # it\nh.retain_grad()\ng = 1"),
        ("h = f(w); h.sum()", "h = f(w); h.retain_grad(); h.sum()"),
        ("if a: h = f(w)", "if a: h = f(w); h.retain_grad()"),
        ("if a:\n\th = f(w)\nb", "if a:\n\th = f(w)\n\th.retain_grad()\nb"),
        ("h = \\\n  f(w)\nb", "h = \\\n  f(w)\nh.retain_grad()\nb"),
        ('s = "ä"; h = f(w)', 's = "ä"; h = f(w); h.retain_grad()'),
        ("h = f(w);", "h = f(w);\nh.retain_grad()"),
    ],
)
def test_code_is_inserted_after(text: str, inserted: str, lent: list[str]) -> None:
    place = place_of(lent, text, "f(w)")
    assert apply(text, fixes.insert_after(place, "h.retain_grad()")) == inserted


@pytest.mark.parametrize(
    ("text", "inserted"),
    [
        ("    # why\nf(w)", "    # why\nb = 1\nf(w)"),
        ("def g():\n    # why\n    f(w)", "def g():\n    # why\n    b = 1\n    f(w)"),
        ("a = 1; f(w)", "a = 1; b = 1; f(w)"),
        ("for a in f(w):\n    pass", "b = 1\nfor a in f(w):\n    pass"),
    ],
)
def test_code_is_inserted_before(text: str, inserted: str, lent: list[str]) -> None:
    place = place_of(lent, text, "f(w)")
    assert apply(text, fixes.insert_before(place, "b = 1")) == inserted


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a = 1\nf(w)\nb = 2", "a = 1\nb = 2"),
        ("a = 1\nf(w)", "a = 1\n"),
        ("a = 1\nf(w)  # why\nb", "a = 1\n# why\nb"),
        ("if a:\n    f(w)\nb", "if a:\n    pass\nb"),
        ("a; f(w); b", "a; b"),
        ("a; f(w)", "a"),
    ],
)
def test_a_statement_is_taken_away(text: str, left: str, lent: list[str]) -> None:
    assert apply(text, fixes.remove_statement(place_of(lent, text, "f(w)"))) == left


def test_an_expression_and_a_statement_are_replaced(lent: list[str]) -> None:
    text = "y = g(\n    f(w),  # it\n)\n"
    place = place_of(lent, text, "f(w)")
    assert apply(text, fixes.replace_expression(place, "w")) == "y = g(\n    w,  # it\n)\n"
    assert apply(text, fixes.replace_statement(place, "y = 1\nz = 2")) == "y = 1\nz = 2\n"


def test_what_would_not_be_python_is_no_edit(lent: list[str]) -> None:
    place = place_of(lent, "if a:\n    pass\nelif f(w):\n    pass\n", "f(w)")
    assert fixes.insert_before(place, "b = 1") == ()
    assert fixes.replace_expression(place, "with x:") == ()
    assert fixes.insert_after(place, "b = 1") == ()  # the whole of a compound statement
    assert fixes.replace_expression(place, "g(w)") != ()
    assert fixes.together(fixes.replace_expression(place, "g(w)"), ()) == ()


def test_a_lambda_is_no_statement_to_change(lent: list[str]) -> None:
    place = place_of(lent, "g = lambda w: f(w)", "f(w)")
    assert fixes.wrap_statement(place, GUARD) == ()
    assert fixes.insert_before(place, "b = 1") == ()
    assert fixes.replace_expression(place, "w") != ()


def test_a_place_whose_text_is_gone_has_no_edits(lent: list[str]) -> None:
    place = place_of(lent, "y = f(w)", "f(w)")
    linecache.cache.pop(place.filename)
    assert fixes.replace_expression(place, "g(w)") == ()
    unknown = Place("<nowhere>", "Cell In[1]", "<module>", 1, 1)
    assert fixes.insert_before(unknown, "b = 1") == ()


# Applied to a cell.

CELL = "Cell In[1]"


def replaced(line: int, column: int, width: int, new: str, source: str = "") -> Edit:
    return Edit(CELL, line, column, line, column + width, new, source)


def test_the_rest_of_the_text_stays_with_its_line_endings() -> None:
    text = "%%autograd\r\na = 1  # one\r\n\r\nb = 2\x0c\r\n"
    mended = mend(text, CELL, [[replaced(2, 4, 1, "3\nc = 4")]])
    assert mended.text == "%%autograd\r\na = 3\r\nc = 4  # one\r\n\r\nb = 2\x0c\r\n"
    assert mended.refused == {}


def test_the_first_of_two_that_overlap_is_applied() -> None:
    groups = [[replaced(1, 0, 3, "x")], [replaced(1, 2, 3, "y"), replaced(2, 0, 0, "z")]]
    mended = mend("abcdef\ng", CELL, groups)
    assert mended.text == "xdef\ng"
    assert mended.refused == {1: "overlaps another fix"}
    assert mend("abcdef\ng", CELL, groups[::-1]).text == "abyf\nzg"


def test_an_edit_that_two_findings_share_is_applied_once() -> None:
    group = [replaced(1, 0, 0, "x")]
    assert mend("ab", CELL, [group, group]).text == "xab"
    assert mend("ab", CELL, [group, [replaced(1, 0, 0, "y")]]).text == "xyab"


def test_edits_of_another_cell_or_of_other_lines_are_refused() -> None:
    other = Edit("Cell In[2]", 1, 0, 1, 1, "x")
    groups = [[replaced(1, 0, 1, "x"), other], [replaced(9, 0, 1, "x")], []]
    groups.append([replaced(1, 0, 1, "x", source="abd")])
    groups.append([replaced(1, 7, 1, "x")])
    mended = mend("abc", CELL, groups)
    assert mended.text == "abc"
    assert mended.refused == {
        0: "to be edited in Cell In[2]",
        1: "the line is not what ran",
        2: "no edit",
        3: "the line is not what ran",
        4: "the line is not what ran",
    }
    with pytest.raises(ValueError, match="line 9"):
        apply("abc", groups[1])


def test_a_cell_that_is_indented_as_a_whole_stays_so() -> None:
    edit = replaced(2, 0, 3, "if a:\n    b()", source="b()")
    assert mend("  a\n  b()\n", CELL, [[edit]]).text == "  a\n  if a:\n      b()\n"


def test_edits_go_through_json() -> None:
    edit = replaced(1, 0, 1, "x", source="abc")
    finding = Finding("leaf_inplace", "LM201", "error", "m", edits=(edit,))
    values = json.loads(json.dumps(finding.to_dict()))
    assert values["edits"][0] == {
        "cell": CELL,
        "line": 1,
        "column": 0,
        "end_line": 1,
        "end_column": 1,
        "replacement": "x",
        "source": "abc",
    }
    values["edits"][0]["more"] = 1
    assert Finding.from_dict(values) == finding
    assert Finding.from_dict({**values, "edits": []}).edits == ()
