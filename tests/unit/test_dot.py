from __future__ import annotations

import re

from handmade import HOSTILE, Builder, every_state, hostile, three

from leafmagic.render.dot import quote, render_dot
from leafmagic.render.payload import build_payload

QUOTED = r'"(?:[^"\\]|\\.)*"'
VALUE = rf"(?:{QUOTED}|[\w.#]+)"
LINE = re.compile(
    rf"^(?:digraph leafmagic \{{|\}}|  label={QUOTED}; labelloc=t;|  rankdir=TB; node \[.*\];"
    rf"|  {QUOTED}(?: -> {QUOTED})?(?: \[(?:\w+={VALUE} ?)*\])?;)$"
)


def test_data_flows_down() -> None:
    dot = render_dot(build_payload(three().document()))
    w, y = '"t0"', '"t3"'
    assert f'{w} -> {y} [label="mul"];' in dot
    assert 'label="w\\n[3] · grad 0.325\\n(leaf)"' in dot


def test_every_line_follows_the_grammar() -> None:
    for builder in (three(), hostile(), every_state(), Builder()):
        for level in ("names", "ops"):
            for line in render_dot(build_payload(builder.document()), level).splitlines():
                assert LINE.match(line), line


def test_quotes_backslashes_and_newlines_are_escaped() -> None:
    assert quote('a"b\\c\nd') == '"a\\"b\\\\c\\nd"'
    assert "\x00" not in quote(HOSTILE)


def test_states_have_their_shapes() -> None:
    dot = render_dot(build_payload(every_state().document()))
    assert "peripheries=2" in dot
    assert 'style="rounded,dotted"' in dot
    assert 'style="dashed"' in dot


def test_a_marked_box_is_filled() -> None:
    builder = three()
    builder.find("t3", "error")
    dot = render_dot(build_payload(builder.document()))
    (line,) = [text for text in dot.splitlines() if text.startswith('  "t3" [')]
    assert 'style="filled"' in line
    assert 'fillcolor="#D55E00"' in line
    assert dot.count("filled") == 1
