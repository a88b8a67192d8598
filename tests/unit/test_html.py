from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
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

from leafmagic.render.html import TWIN_BYTES, render_html, render_twin
from leafmagic.render.payload import build_payload

VOID = {"meta", "img", "input", "br"}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def parse(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    tags.close()
    assert tags.open == []
    return tags


def picture(twin: str) -> str:
    coded = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', twin)
    assert coded
    return base64.b64decode(coded[1]).decode()


def test_the_page_says_everything_and_needs_nothing() -> None:
    page = render_html(build_payload(three().document(notes=["leafmagic lost a hook"])))
    tags = parse(page)
    assert "<u>w * x</u>" in page
    for text in ("y.grad", " is None", "y.retain_grad()", "leafmagic lost a hook", "Cell In[3]"):
        assert text in " ".join(tags.said)
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in tags.seen}
    assert not [a for _, attributes in tags.seen for a in attributes if a in ("src", "href")]
    assert "prefers-color-scheme:dark" in page
    assert page.count("<svg") == 2


@pytest.mark.parametrize("builder", [hostile(), every_state(), Builder(), network(5)])
def test_pages_and_twins_are_well_formed(builder: Builder) -> None:
    payload = build_payload(builder.document())
    for text in (render_html(payload), render_twin(payload, "a1")):
        tags = parse(text)
        assert "script" not in {tag for tag, _ in tags.seen}
        assert "\x00" not in text
    ET.fromstring(picture(render_twin(payload, "a1")))  # noqa: S314


def test_the_twin_survives_the_sanitizer() -> None:
    twin = render_twin(build_payload(three().document()), "a1")
    tags = parse(twin)
    kept = {"div", "img", "ul", "li", "b", "code", "pre", "p", "br"}
    assert {tag for tag, _ in tags.seen} <= kept
    assert {a for _, attributes in tags.seen for a in attributes} == {"class", "alt", "src"}
    assert tags.seen[0] == ("div", {"class": "lm-twin lm-twin-a1"})
    alt = tags.seen[1][1]["alt"]
    assert alt == "Autograd graph of Cell In[3]: 3 tensors · 1 op · 1 backward pass · 1 warning"
    assert "y = w * x\n    ^^^^^" in " ".join(tags.said)


def test_the_twins_id_cannot_break_out() -> None:
    twin = render_twin(build_payload(three().document()), 'a"><b')
    assert twin.startswith('<div class="lm-twin lm-twin-ab">')


@pytest.mark.parametrize("builder", [network(16), network(300), chain(2_000), hostile()])
def test_the_twin_is_small(builder: Builder) -> None:
    for at in range(50):
        builder.find(None, message=f"{at} " + "long " * 200, fix="fix " * 200)
    twin = render_twin(build_payload(builder.document()), "a1")
    assert len(twin.encode()) <= TWIN_BYTES
    assert "more finding" in twin


def test_a_150_node_graph_is_drawn_whole_in_the_twin() -> None:
    builder = network(16)
    assert "left out" not in picture(render_twin(build_payload(builder.document()), "a1"))


def test_a_cut_recording_says_so() -> None:
    payload = build_payload(three().document(cut=True, running=True, error="ValueError: no"))
    for text in (render_html(payload), render_twin(payload, "a1")):
        assert "cut short" in text
        assert "Still running" in text
        assert "ValueError: no" in text


def test_a_fix_is_set_as_the_code_that_it_is() -> None:
    builder = three()
    builder.find(None, message="m", fix="w = w < 1  # keep both spaces")
    assert "<b>Fix</b> <code>w = w &lt; 1  # keep both spaces</code>" in render_html(
        build_payload(builder.document())
    )


def test_the_page_tells_of_the_loop_and_lists_the_parameters() -> None:
    page = render_html(build_payload(training_document(network_with_gradients(3), frozen=1)))
    said = "\n".join(parse(page).said)
    for line in (
        "step 120 · 35 steps/s · range line 4: 3 of 10 > DataLoader line 5: 120 of 480",
        "Never reached: layer2.scale",
        "Frozen: layer0.weight",
        "Gradients measured in 24 of 120 passes, 3 % of the time",
    ):
        assert line in said
    table = page[page.index("<th>parameter</th>") :]
    assert table.index("layer2.scale") < table.index("layer0.bias")


def test_the_twin_tells_of_the_loop_and_stays_small() -> None:
    payload = build_payload(training_document(network_with_gradients(18), 5000, roots=3))
    assert len(payload["nodes"]) > 140
    twin = render_twin(payload, "a1")
    assert len(twin.encode()) <= TWIN_BYTES
    assert "left out" not in picture(twin)
    assert "<p>step 5,000 · 35 steps/s" in twin
    assert "▽" not in twin


def test_hostile_names_in_a_loop_are_escaped() -> None:
    document = training_document(network_with_gradients(1))
    document["training"]["roots"][0]["name"] = HOSTILE
    document["training"]["parameters"][0]["name"] = HOSTILE
    document["training"]["parameters"][-1]["name"] = HOSTILE
    document["training"]["loops"][0]["what"] = HOSTILE
    payload = build_payload(document)
    for text in (render_html(payload), render_twin(payload, "a1")):
        assert "script" not in {tag for tag, _ in parse(text).seen}
        assert "\x00" not in text
    ET.fromstring(picture(render_twin(payload, "a1")))  # noqa: S314
