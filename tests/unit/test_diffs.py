"""A finding's edits as a small diff, in the payload, in HTML and in the twin."""

from __future__ import annotations

from typing import Any

import pytest
from handmade import three
from test_html import parse

from leafmagic.edits import Edit
from leafmagic.render.diffs import fix_diff
from leafmagic.render.html import render_html, render_twin
from leafmagic.render.payload import build_payload

CELL = {"label": "Cell In[1]", "source": "%%autograd\nh = w * 2\nw -= 1\n"}


def edit(line: int, column: int, width: int, new: str, source: str = "") -> dict[str, Any]:
    return Edit("Cell In[1]", line, column, line, column + width, new, source).to_dict()


def rows(*edits: dict[str, Any], fix: str = "", cell: dict[str, str] = CELL) -> list[Any]:
    diff = fix_diff({"edits": list(edits), "fix": fix}, cell)
    return [] if diff is None else diff["rows"]


def test_only_what_differs_is_marked() -> None:
    assert rows(edit(2, 8, 1, "3", "h = w * 2")) == [
        ["-", 2, "h = w * ", "2", ""],
        ["+", None, "h = w * ", "3", ""],
    ]
    (_, _, before, marked, after), new = rows(edit(1, 4, 5, "detached", "x = value(y)"))
    assert (before, marked, after) == ("x = ", "value", "(y)")
    assert new[2:] == ["x = ", "detached", "(y)"]


def test_words_are_not_cut() -> None:
    old, new = rows(edit(1, 0, 8, "require_grads", "requires"))
    assert (old[3], new[3]) == ("requires", "require_grads")


def test_an_inserted_line_is_marked_and_its_neighbour_is_not() -> None:
    assert rows(edit(2, 9, 0, "\nh.retain_grad()")) == [
        [" ", 2, "h = w * 2", "", ""],
        ["+", None, "", "h.retain_grad()", ""],
    ]


def test_a_line_that_is_only_indented_is_not_marked() -> None:
    found = fix_diff(
        {
            "edits": [edit(3, 0, 6, "with torch.no_grad():\n    w -= 1")],
            "fix": "with torch.no_grad(): w -= 1  # a comment",
        },
        CELL,
    )
    assert found is not None
    assert found["rows"] == [
        ["-", 3, "w -= 1", "", ""],
        ["+", None, "", "with torch.no_grad():", ""],
        ["+", None, "    w -= 1", "", ""],
    ]
    assert found["copy"] == "with torch.no_grad():\n    w -= 1"
    assert (found["cell"], found["more"], found["says_fix"]) == ("", 0, True)


def test_edits_of_lines_that_touch_are_one_piece() -> None:
    assert [row[:3] for row in rows(edit(2, 0, 1, "g"), edit(3, 0, 1, "v"))] == [
        ["-", 2, ""],
        ["-", 3, ""],
        ["+", None, ""],
        ["+", None, ""],
    ]


def test_a_long_diff_is_cut_and_says_so() -> None:
    source = "\n".join(f"a{n}" for n in range(30))
    whole = Edit("Cell In[1]", 1, 0, 30, 3, "b", source).to_dict()
    found = fix_diff({"edits": [whole]}, CELL)
    assert found is not None
    assert (len(found["rows"]), found["more"]) == (16, 15)


@pytest.mark.parametrize(
    "edits",
    [
        [],
        [Edit("Cell In[2]", 1, 0, 1, 1, "x").to_dict()],
        [edit(2, 0, 3, "x"), edit(2, 1, 3, "y")],
        [edit(9, 0, 3, "x")],
    ],
)
def test_what_cannot_be_shown_is_not(edits: list[dict[str, Any]]) -> None:
    assert fix_diff({"edits": edits}, CELL) is None


def document(source: str, new: str, cell: str = "Cell In[3]") -> dict[str, Any]:
    document = three().document()
    end = len(source)
    (finding,) = document["findings"]
    finding["edits"] = [Edit(cell, 3, 0, 3, end, new, source).to_dict()]
    return document


def test_the_payload_has_the_diff_and_the_document_the_edits() -> None:
    made = document("a = 1", "a = 2")
    (finding,) = build_payload(made)["findings"]
    assert "edits" not in finding
    assert finding["diff"]["copy"] == "a = 2"
    assert made["findings"][0]["edits"]


def test_the_page_shows_it_without_its_script() -> None:
    page = render_html(build_payload(document("a <b", "a <'c\"", cell="Cell In[2]")))
    tags = parse(page)
    assert "a &lt;<mark>&#x27;c&quot;</mark>" in page
    assert "in Cell In[2]" in page
    assert {"del", "ins"} <= {tag for tag, _ in tags.seen}
    (button,) = [attributes for tag, attributes in tags.seen if tag == "button"]
    assert button["value"] == "a <'c\""
    assert "hidden" in button  # until the script says that it works
    assert [tag for tag, _ in tags.seen].count("script") == 1
    assert not [a for _, attributes in tags.seen for a in attributes if a in ("src", "href")]


def test_the_twin_shows_it_in_tags_that_are_kept() -> None:
    twin = render_twin(build_payload(document("a = 1", "a = 2")), "a1")
    assert "<pre>- a = <b>1</b>\n+ a = <b>2</b></pre>" in twin
    assert {tag for tag, _ in parse(twin).seen} <= {
        *("div", "img", "ul", "li", "b", "code", "pre", "p", "br")
    }
