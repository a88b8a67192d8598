from __future__ import annotations

import pytest
from handmade import (
    Builder,
    chain,
    every_state,
    hostile,
    network,
    network_with_gradients,
    three,
    training_document,
)

from leafmagic.render.heat import spark_path
from leafmagic.render.payload import build_payload
from leafmagic.render.text import render_text
from leafmagic.render.training import curve_path, number
from leafmagic.render.words import short_name


def text_of(builder: Builder, **options: object) -> str:
    return render_text(build_payload(builder.document()), **options)  # type: ignore[arg-type]


def test_the_whole_of_a_small_cell() -> None:
    assert (
        text_of(three(), width=80)
        == """\
Cell In[3]: 3 tensors · 1 op · 1 backward pass · 1 warning

warning: `y.grad` is None [LM101]
  Cell In[3], line 4, noticed at line 6
    y = w * x
        ^^^^^
  fix: y.retain_grad()

tensor  shape  dtype    state        grad   made at
w       [3]    float32  leaf         0.325  line 2
x       [3]    float32  frozen leaf  -      line 3
y       [3]    float32  non-leaf     -      line 4: w * x

graph (a result, and indented under it what it was made from)
y = w * x  non-leaf
  w  leaf
  x  frozen leaf, gets no gradient
"""
    )


def test_a_shared_box_is_shown_once_and_then_referred_to() -> None:
    b = Builder()
    y = b.made("y", b.op("mul", b.leaf("w")))
    b.made("z", b.op("add", b.op("exp", y), b.op("sin", b.made("v", b.op("cos", y)))))
    graph = text_of(b).split("graph (")[1]
    assert graph.count("w  leaf") == 1
    assert graph.count("y  non-leaf") == 2
    assert graph.count("(see above)") == 1


@pytest.mark.parametrize("builder", [chain(10_000), network(1_000)])
def test_the_output_is_bounded_and_says_what_is_missing(builder: Builder) -> None:
    for _ in range(100):
        builder.find(None)
    said = text_of(builder)
    assert said.count("\n") < 300
    assert max(map(len, said.splitlines())) <= 100
    for left_out in ("and 80 more findings", "more tensors", "cut after 60 lines"):
        assert left_out in said


def test_plain_text_is_plain() -> None:
    said = text_of(every_state())
    assert "\x1b" not in said
    assert not [c for c in said if 0x2500 <= ord(c) <= 0x259F]


def test_colour_is_ansi_and_says_the_same() -> None:
    import re

    payload = build_payload(every_state().document())
    colored = render_text(payload, color=True)
    assert "\x1b[" in colored
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    plain = [line.rstrip() for line in stripped.splitlines()]
    assert plain == render_text(payload).splitlines()


def test_hostile_text_neither_breaks_nor_colours() -> None:
    b = hostile()
    b.find(None, message="[bold red]x[/]\x1b[31m", source="[link=x]")
    said = text_of(b, width=60)
    assert "[bold red]x[/]" in said
    assert "\x1b" not in said
    assert max(map(len, said.splitlines())) <= 60


def test_the_underline_is_where_the_column_is() -> None:
    b = Builder()
    b.find(None, source="    変 = w * x", column=8, end_column=13)
    lines = text_of(b).splitlines()
    at = next(i for i, line in enumerate(lines) if "w * x" in line)
    assert lines[at] == "    変 = w * x"
    assert lines[at + 1] == "         ^^^^^"


def test_a_finding_without_columns_underlines_its_line() -> None:
    b = Builder()
    b.find(None, source="  y = 1", column=None, end_column=None, line=None, cell=None, count=500)
    said = text_of(b)
    assert "    y = 1\n    ^^^^^\n" in said
    assert "500 times" in said


def test_a_cycle_of_carried_edges_ends() -> None:
    b = three()
    op = next(node.id for node in b.nodes if node.kind == "op")
    b.link(op, op, "next", carried=True)
    assert "from an earlier step" in text_of(b)


def test_inside_a_kernel_it_is_returned_and_not_displayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a kernel rich would display every line as an output of its own."""
    import rich.console

    here = text_of(three())
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    assert text_of(three()) == here


def test_nothing_recorded() -> None:
    assert text_of(Builder()) == "Cell In[3]: 0 tensors · 0 ops · 1 backward pass\n"


def test_a_write_in_place_is_shown_unless_it_trains_a_leaf() -> None:
    b = Builder()
    w = b.leaf("w", shape=(3,), is_leaf=True, requires_grad=True, version=2, writes=(7, 9), line=2)
    h = b.made("h", b.op("mul", w, line=3), line=3, version=1, writes=(4,), source="w * 2")
    k = b.made("k", b.op("exp", h, line=5), line=5, version=9, writes=(6, 6, 7, 8, 9, 10))
    b.made("loss", b.op("sum", k, line=11), line=11)
    table, graph = text_of(b, width=120).split("graph (")
    assert "line 3: w * 2; version 1, written at line 4" in table
    assert "h = w * 2  non-leaf, version 1, written at line 4\n" in graph
    assert "version 9, written at lines 6, 7, 8, 9, …\n" in graph
    assert "version 2" not in table + graph


def test_of_a_long_dotted_name_the_end_stays() -> None:
    assert short_name("encoder.layers.3.first.weight", 20) == "….3.first.weight"
    assert short_name("encoder.layers.3.attention.first.weight", 20) == "….3….first.weight"
    assert short_name("encoder.layers.3.attention.first.weight", 14) == "….3….weight"
    assert short_name("encoder.layers.3.first.weight", 40) == "encoder.layers.3.first.weight"
    assert short_name("a_very_long_name_without_any_dot", 12).count("…") == 1
    assert short_name("layer.a_very_long_last_part_of_a_name", 12)[-1] == "e"
    assert len(short_name("x.y + some(expression) * that.is.long", 12)) == 12


def test_a_training_loop_is_told_in_a_few_lines() -> None:
    document = training_document(network_with_gradients(6), 1234, frozen=1)
    document["training"]["sampled"]["share"] = 0.0004
    said = render_text(build_payload(document), width=120)
    for line in (
        "step 1,234 · 35 steps/s · range line 4: 3 of 10 > DataLoader line 5: 1,234 of 4,936 · loss line 12: ",
        "Never reached: layer5.scale\n",
        "Gradients measured in 246 of 1,234 passes, less than 0.1 % of the time\n",
        "and 6 more parameters\n",
    ):
        assert line in said
    table = said[said.index("parameter ") :].splitlines()
    assert table[1].split() == ["layer5.scale", "[3]", "-", "-", "0", "never", "reached"]


def test_one_pass_is_no_training_loop() -> None:
    document = training_document(network_with_gradients(1, 1), 1)
    assert "parameter" not in render_text(build_payload(document))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "-"),
        (0.0, "0"),
        (0.12345678, "0.1235"),
        (3e-9, "3.0e-9"),
        (4e5, "4.0e5"),
        ("nan", "nan"),
    ],
)
def test_numbers_are_short(value: object, said: str) -> None:
    assert number(value) == said


def test_a_curve_leaves_gaps_and_knows_when_to_be_logarithmic() -> None:
    path, log = curve_path([[1, 1.0], [2, "nan"], [3, 0.5], [4, 0.25]], 90, 30)
    assert (path, log) == ("M0 0M60 20L90 30", False)
    path, log = curve_path([[1, 100.0], [2, 10.0], [3, 1.0]], 20, 30)
    assert (path, log) == ("M0 0L10 15L20 30", True)
    assert curve_path([[1, "nan"], [2, 1.0]], 20, 30) == ("", False)


def test_a_trend_is_flat_where_little_changes_and_broken_where_it_is_not_finite() -> None:
    assert spark_path([1.0, 1.0, 1.0], 0, 0, (20, 10)) == "M0 5l10 0 10 0"
    assert spark_path([1.0, float("nan"), 1.0, 100.0], 5, 1, (30, 10)) == "M5 11M25 11l10-10"
    assert spark_path([1.0], 0, 0, (20, 10)) == ""
    assert spark_path([2.0] * 100, 0, 0, (20, 10)).count(" 0") == 11
