from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from handmade import (
    HOSTILE,
    Builder,
    chain,
    every_state,
    hostile,
    network,
    network_with_gradients,
    three,
    training_document,
)

from leafmagic.graph import STATES
from leafmagic.render.heat import HEAT
from leafmagic.render.payload import build_payload
from leafmagic.render.style import BADGE_TEXT, GRAD_COLOR, SEVERITY_COLORS, STATE_STYLES, THEMES
from leafmagic.render.svg import render_svg

SVG = "{http://www.w3.org/2000/svg}"


def draw(builder: Builder, level: str = "names", **options: object) -> tuple[str, ET.Element]:
    text = render_svg(build_payload(builder.document()), level, **options)  # type: ignore[arg-type]
    return text, ET.fromstring(text)  # noqa: S314 - our own


def words(root: ET.Element) -> str:
    return "\n".join("".join(e.itertext()) for e in root.iter(f"{SVG}text"))


def test_it_says_what_is_drawn() -> None:
    _, root = draw(three())
    said = words(root)
    for word in ("Cell In[3]", "w * x · [3]", "[3] · grad 0.325", "frozen leaf", "non-leaf"):
        assert word in said
    assert root.findtext(f"{SVG}title") == "Autograd graph of Cell In[3]"
    assert "`y.grad` is None" in (root.findtext(f"{SVG}desc") or "")
    assert root.get("role") == "img"


@pytest.mark.parametrize("level", ["names", "ops"])
@pytest.mark.parametrize("dark", [False, True])
def test_hostile_names_are_well_formed(level: str, dark: bool) -> None:
    text, root = draw(hostile(), level, dark=dark)
    assert "<script" not in text
    assert HOSTILE.replace("\x00", "\ufffd") in words(root)
    assert not [e for e in root.iter() if e.tag not in {SVG + t for t in
                ("svg", "title", "desc", "style", "rect", "g", "path", "text", "tspan", "circle")}]  # fmt: skip


def test_long_names_are_elided() -> None:
    _, root = draw(hostile())
    assert all(len("".join(e.itertext())) < 110 for e in root.iter(f"{SVG}text"))


def test_the_legend_lists_the_states_present_and_no_others() -> None:
    _, root = draw(every_state())
    said = words(root)
    for state, meaning in STATES.items():
        assert (meaning in said) == (state != "op")
    _, root = draw(three())
    assert STATES["phantom leaf"] not in words(root)
    assert STATES["leaf"] in words(root)


def test_badges_and_markers() -> None:
    b = every_state()
    b.find(b.nodes[0].id, "error")
    text, root = draw(b)
    assert "its .grad is filled" in words(root)
    assert "has a tensor hook" in words(root)
    assert 'class="m error"' in text


def test_light_turns_dark_by_preference_and_dark_is_dark() -> None:
    light, _ = draw(three())
    dark, _ = draw(three(), dark=True)
    assert "prefers-color-scheme:dark" in light
    assert "prefers-color-scheme" not in dark
    assert THEMES["dark"]["page"] in dark
    assert THEMES["light"]["page"] not in dark


def test_it_needs_nothing_from_outside() -> None:
    text, _ = draw(every_state())
    assert re.findall(r"(?:href|src|url|@import)[^;]*", text) == []
    assert text.count("http") == 1  # the namespace


def test_everything_lies_within_the_picture() -> None:
    for builder in (three(), every_state(), network(20)):
        _, root = draw(builder)
        width, height = map(int, root.get("viewBox", "").split()[2:])
        for group in root.iter(f"{SVG}g"):
            found = re.match(r"translate\((-?\d+) (-?\d+)\)", group.get("transform", ""))
            if found:
                assert 0 <= int(found[1]) <= width
                assert 0 <= int(found[2]) <= height


def test_a_150_node_graph_stays_small() -> None:
    builder = network(16)
    assert 110 < len(builder.nodes) < 180
    text, _ = draw(builder, tooltips=False)
    assert len(text) * 4 / 3 < 55_000


def test_too_much_is_cut_and_said() -> None:
    text, root = draw(network(400), max_boxes=100)
    assert re.search(r"The first \d+ of \d+ rows; 1,\d\d\d boxes are left out", words(root))
    assert text.count("<rect") < 320


def test_a_byte_budget_is_kept() -> None:
    for budget in (8_000, 20_000, 40_000):
        text, root = draw(network(100), max_bytes=budget)
        assert len(text.encode()) <= budget
        assert "left out" in words(root)


def test_a_single_crowded_row_is_cut_too() -> None:
    b = Builder()
    for i in range(300):
        b.leaf(f"w{i}")
    _, root = draw(b, max_boxes=10)
    assert "left out" in words(root)


@pytest.mark.parametrize("level", ["names", "ops"])
def test_empty_and_deep_graphs(level: str) -> None:
    draw(Builder(), level)
    draw(chain(3_000), level)


def test_a_carried_edge_is_drawn_as_a_loop_and_explained() -> None:
    b = three()
    op = next(node.id for node in b.nodes if node.kind == "op")
    b.link(op, op, "next", carried=True)
    text, root = draw(b)
    assert 'class="e carried"' in text
    assert "from an earlier step" in words(root)


def test_an_unmarked_cycle_is_drawn_as_a_loop() -> None:
    b = three()
    op = next(node.id for node in b.nodes if node.kind == "op")
    b.link(b.leaf("c", "constant"), b.nodes[-2].id, "cut")
    b.link(op, b.nodes[-1].id, "data")
    for level in ("names", "ops"):
        draw(b, level)


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("state", STATES)
def test_every_state_can_be_read_in_both_themes(state: str) -> None:
    style = STATE_STYLES[state]
    for theme, border, text in (
        ("light", style.light, style.light_text),
        ("dark", style.dark, style.dark_text),
    ):
        look = THEMES[theme]  # type: ignore[index]
        fill = look["op"] if state == "op" else look["box"]
        assert contrast(border, look["page"]) >= 3
        assert contrast(text, look["page"]) >= 4.5
        assert contrast(look["text"], fill) >= 7
        assert contrast(look["muted"], fill) >= 4.5
        assert contrast(look["edge"], look["page"]) >= 3


def test_badges_can_be_read() -> None:
    for color in (GRAD_COLOR, *SEVERITY_COLORS.values()):
        assert contrast(color, BADGE_TEXT) >= 4.5


def test_states_differ_in_more_than_colour() -> None:
    looks = [(s.radius > 3, s.border, s.border_px, s.strike) for s in STATE_STYLES.values()]
    tags = [s.tag for s in STATE_STYLES.values()]
    assert len(set(tags)) == len(STATES)
    assert len(set(looks)) == len(STATES)
    assert list(STATE_STYLES) == list(STATES)


def trained(builder: Builder, steps: int = 120, **options: Any) -> tuple[str, ET.Element]:
    text = render_svg(build_payload(training_document(builder, steps, **options)))
    return text, ET.fromstring(text)  # noqa: S314 - our own


def paths(root: ET.Element, css: str) -> list[str]:
    return [p.get("d", "") for p in root.iter(f"{SVG}path") if p.get("class") == css]


def test_a_loop_has_its_progress_its_losses_and_its_colours() -> None:
    _, root = trained(network_with_gradients(4), roots=2)
    said = words(root)
    for line in (
        "step 120 · 35 steps/s · range line 4: 3 of 10 > DataLoader line 5: 120 of 480",
        "loss_d line 12: ",
        "loss_g line 20: ",
        "gradient norm, 1e-5 to 1e0",
    ):
        assert line in said
    assert len(paths(root, "c")) == 2
    strips = "".join("".join(paths(root, f"g{i}")) for i in range(9))
    assert strips.count("M") == 17  # all but the data
    assert paths(root, "sp")[0].count("M") == 17
    assert len([i for i in range(9) if paths(root, f"g{i}")]) > 4


def test_the_ends_of_the_scale_have_marks_and_words() -> None:
    builder = network_with_gradients(2)
    for name, norm in (
        ("layer0.weight", 3e-9),
        ("layer0.bias", 4e5),
        ("layer1.bias", float("nan")),
    ):
        at = next(i for i, node in enumerate(builder.nodes) if node.name == name)
        stats = builder.nodes[at].stats
        assert stats is not None
        builder.nodes[at] = replace(builder.nodes[at], stats=replace(stats, norm=norm), passes=3)
    _, root = trained(builder)
    said = words(root).splitlines()
    for word in ("▽ 1e-9", "△ 1e5", "nan", "vanishing: below 1e-6", "exploding: above 1e3"):
        assert word in said
    assert said.count("grad Σ3") == 3
    assert len(paths(root, "bad")) == 1


def test_where_it_broke_failed_or_did_not_run_is_said() -> None:
    builder = network_with_gradients(2)
    for at, node in enumerate(builder.nodes):
        if node.op == "mean":
            builder.nodes[at] = replace(node, failed=True)
        if node.name == "h1":
            builder.nodes[at] = replace(node, ran=12, ran_of=100, in_newest=False)
        if node.op == "mul" and at < 20:
            builder.nodes[at] = replace(node, breaks="nan")
    text, root = trained(builder)
    said = words(root).splitlines()
    for word in ("✕ error", "nan born here", "12/100"):
        assert word in said
    assert 'class="nonleaf old"' in text


def test_one_pass_outside_a_loop_has_colours_and_no_curves() -> None:
    document = training_document(network_with_gradients(2, 1), 1)
    document["training"]["loops"] = []
    root = ET.fromstring(render_svg(build_payload(document)))  # noqa: S314
    assert "step" not in words(root)
    assert not paths(root, "c")
    assert any(paths(root, f"g{i}") for i in range(9))


def test_colours_of_the_scale_grow_lighter() -> None:
    lights = [luminance(color) for color in HEAT]
    assert lights == sorted(lights)
    assert lights[-1] / lights[0] > 5
    for theme in ("light", "dark"):
        page = THEMES[theme]["page"]  # type: ignore[index]
        assert max(contrast(color, page) for color in HEAT) > 7
        assert min(contrast(color, page) for color in HEAT) > 1.4
