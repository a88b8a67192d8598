"""The widget's assets and the messages it is kept up to date with."""

from __future__ import annotations

import copy
import random
import re
import subprocess
import sys
from typing import Any

import pytest
from handmade import network_with_gradients, training_document

from leafmagic.graph import STATES
from leafmagic.render import heat, style
from leafmagic.render.payload import build_payload
from leafmagic.render.widget import (
    CSS_PATH,
    ESM_PATH,
    TRAINING_PATH,
    WIDGET_MIME,
    GraphWidget,
    compact,
    diff,
    slim,
)

TRAINING = TRAINING_PATH.read_text(encoding="utf-8")
JS = ESM_PATH.read_text(encoding="utf-8")
CSS = CSS_PATH.read_text(encoding="utf-8")


def node(key: str, **values: Any) -> dict[str, Any]:
    return {"id": key, "kind": "tensor", "name": key, "hooks": 0, "shape": [], **values}


def payload(names: str, edges: list[tuple[str, str]], **values: Any) -> dict[str, Any]:
    lines = [{"source": a, "target": b, "kind": "next"} for a, b in edges]
    boxes = [{"id": n, "x": i * 10, "y": 0} for i, n in enumerate(names)]
    return {
        "schema_version": 1,
        "status": {"running": True},
        "nodes": [node(n) for n in names],
        "edges": lines,
        "findings": [],
        "levels": {"names": {"nodes": boxes, "edges": lines, "width": 10 * len(names)}},
        **values,
    }


def patched(old: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Apply a batch as the page does (the function `apply` of the ES module)."""
    new = dict(old)
    for key, change in changes.items():
        if key == "nodes":
            nodes = {n["id"]: n for n in old.get("nodes", ())}
            for gone in change["del"]:
                nodes.pop(gone)
            for fields in change["set"]:
                merged = {**nodes.get(fields["id"], {}), **fields}
                nodes[fields["id"]] = {k: v for k, v in merged.items() if v is not None}
            new[key] = list(nodes.values())
        elif key == "edges":
            edges, at = list(old.get("edges", ())), change["at"]
            edges[at : at + change["drop"]] = change["add"]
            new[key] = edges
        elif key == "levels":
            levels = dict(old.get("levels", {}))
            for name, level in change.items():
                levels[name] = patched(levels.get(name, {}), level)
            new[key] = levels
        elif key == "training":
            new[key] = {**old.get(key, {}), **change}
        else:
            new[key] = change
    return new


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Compare; the order of nodes has no meaning."""

    def ordered(value: dict[str, Any]) -> dict[str, Any]:
        value = copy.deepcopy(value)
        for part in (value, *value["levels"].values()):
            part["nodes"].sort(key=lambda n: n["id"])
        return value

    return ordered(a) == ordered(b)


def test_no_change_is_no_message() -> None:
    one = payload("ab", [("b", "a")])
    assert diff(one, copy.deepcopy(one)) == {}


def test_only_what_changed_is_sent() -> None:
    old, new = payload("ab", [("b", "a")]), payload("abc", [("b", "a"), ("c", "b")])
    new["nodes"][0] = node("a", hooks=1)
    changes = diff(old, new)
    assert changes["nodes"]["set"] == [{"id": "a", "hooks": 1}, node("c")]
    assert changes["edges"] == {
        "at": 1,
        "drop": 0,
        "add": [{"source": "c", "target": "b", "kind": "next"}],
    }
    assert set(changes) == {"nodes", "edges", "levels"}
    assert [n["id"] for n in changes["levels"]["names"]["nodes"]["set"]] == ["c"]


@pytest.mark.parametrize("seed", range(30))
def test_batches_add_up_to_the_state(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    page: dict[str, Any] = payload("", [])
    last = page
    for _ in range(12):
        names = "".join(rng.sample("abcdefgh", rng.randint(0, 8)))
        edges = [(rng.choice(names), rng.choice(names)) for _ in range(rng.randint(0, 9)) if names]
        now = payload(names, edges, status={"running": True, "events": rng.randint(0, 2)})
        for n in now["nodes"]:
            n["version"] = rng.randint(0, 1)
        page = patched(page, diff(last, now))
        last = now
        assert same(page, now)


def test_equal_edges_may_repeat() -> None:
    old = payload("ab", [("b", "a")])
    new = payload("ab", [("b", "a"), ("b", "a")])
    assert patched(old, diff(old, new)) == new


def test_compact_leaves_out_what_says_nothing() -> None:
    sent = compact(payload("a", []))["nodes"][0]
    assert sent == {"id": "a", "kind": "tensor", "name": "a"}


def test_compact_keeps_what_is_false_of_the_newest_step_only() -> None:
    sent = compact(payload("ab", [], nodes=[node("a", in_newest=True), node("b", in_newest=False)]))
    assert ["in_newest" in n for n in sent["nodes"]] == [False, True]
    assert sent["nodes"][1]["in_newest"] is False


def test_what_a_step_does_not_change_is_not_sent_with_it() -> None:
    builder = network_with_gradients(2)
    old = compact(build_payload(training_document(builder, 120)))
    assert [set(p) & {"norm", "trend"} for p in old["training"]["parameters"][:-1]] == [set()] * 5
    new = compact(build_payload(training_document(builder, 121)))
    changes = diff(old, new)
    assert set(changes["training"]) == {"steps", "sampled", "loops", "roots"}
    assert all("nodes" not in root for root in changes["training"]["roots"])
    page = patched(old, changes)
    assert page["training"] == new["training"]
    assert (
        page["training"]["reach"]["p0"]
        == training_document(builder)["training"]["roots"][0]["nodes"]
    )


def test_slim_changes_no_line_of_code() -> None:
    short = slim(JS)
    kept = [line.strip() for line in JS.splitlines()]
    assert short.splitlines() == [k for k in kept if k and not k.startswith("//")]
    for text in (JS, TRAINING, CSS):
        assert all(line.count("`") % 2 == 0 for line in text.splitlines()), "a string over lines"


def test_assets_are_small_and_ask_for_nothing() -> None:
    assert len(slim(JS).encode()) < 59_000
    assert len(slim(TRAINING).encode()) < 16_000
    assert len(slim(CSS).encode()) < 28_000
    for text in (JS, TRAINING, CSS):
        urls = set(re.findall(r"https?://[^\s\"'`)]+", text))
        assert urls <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
        assert not re.search(r"@import|\bimport\s*\(|\bfetch\s*\(|XMLHttpRequest|\burl\(", text)


def test_every_state_has_its_look_and_its_words() -> None:
    for state, words in STATES.items():
        assert re.search(rf'\b"?{state}"?: {{ r: ', JS), state
        assert words in JS, f"the legend's words for {state}"


def test_colours_are_those_of_the_style_table() -> None:
    light, dark = CSS.split("data-jp-theme-light", 1)[0], CSS.split("data-jp-theme-light", 1)[1]
    for state, look in style.STATE_STYLES.items():
        name = "--lm-" + state.replace(" ", "-")
        for part, colour in ((light, look.light), (dark, look.dark)):
            found = re.search(rf"{name}: (#\w+);", part)
            if part is dark and found is None:
                found = re.search(rf"{name}: (#\w+);", light)
            assert found is not None, name
            assert found[1].lower() == colour.lower(), name
    for severity, colour in style.SEVERITY_COLORS.items():
        assert f"--lm-{severity}: {colour};" in CSS
    assert f"--lm-grad: {style.GRAD_COLOR};" in CSS


def test_the_scale_of_gradients_is_that_of_the_pictures() -> None:
    colours = re.search(r"const HEAT = \[(.*)\];", TRAINING)
    assert colours is not None
    assert tuple(re.findall(r"#\w+", colours[1])) == heat.HEAT


def test_the_two_files_are_sent_as_one_module() -> None:
    assert GraphWidget._esm == f"{slim(JS)}\n{slim(TRAINING)}"


def test_shapes_are_those_of_the_style_table() -> None:
    for state, look in style.STATE_STYLES.items():
        entry = re.search(rf'\b"?{state}"?: {{ (r: .*?), t: ', JS)
        assert entry is not None, state
        fields = dict(re.findall(r'(\w): "?([^",}]*)"?', entry[1]))
        assert float(fields["r"]) == look.radius, state
        assert float(fields["w"]) == look.border_px, state
        assert fields.get("d", "") == look.dash, state
        assert ("x" in fields) == look.strike, state
        assert ("i" in fields) == (look.border == "double"), state


def test_widget_carries_its_payload_and_leaves_the_words_to_the_twin() -> None:
    widget = GraphWidget(payload=payload("a", []), twin_id="abc")
    try:
        state = widget.get_state()
        assert state["payload"]["nodes"][0]["id"] == "a"
        assert state["twin_id"] == "abc"
        bundle = widget.bundle()
        assert bundle[WIDGET_MIME]["model_id"] == widget.model_id
        assert bundle["text/plain"] == ""
    finally:
        widget.close()


def test_the_package_does_not_import_anywidget() -> None:
    program = "import sys, leafmagic, leafmagic.render.live; print('anywidget' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
