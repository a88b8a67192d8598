"""The live display with a fake source, a fake widget and a fake screen."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from leafmagic.render import live
from leafmagic.render.live import Drawing, LiveDisplay


class Source:
    """A trace as the display sees it."""

    def __init__(self) -> None:
        self.revision = 0
        self.names: list[str] = []
        self.running = True
        self.broken: Exception | None = None
        self.threads: set[str] = set()

    def add(self, name: str) -> None:
        self.names.append(name)
        self.revision += 1

    def document(self) -> dict[str, Any]:
        self.threads.add(threading.current_thread().name)
        if self.broken is not None:
            raise self.broken
        return {
            "status": {"running": self.running, "notes": [], "overhead_s": 0.25},
            "nodes": [{"id": name, "kind": "tensor"} for name in self.names],
            "edges": [],
            "findings": [],
        }


class FakeWidget:
    """Keeps what it is told."""

    made: list[FakeWidget]

    def __init__(self, payload: dict[str, Any], twin_id: str) -> None:
        self.payloads = [payload]
        self.twin_id = twin_id
        self.messages: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.closed = False

    @property
    def payload(self) -> dict[str, Any]:
        return self.payloads[-1]

    @payload.setter
    def payload(self, value: dict[str, Any]) -> None:
        self.payloads.append(value)

    def bundle(self) -> dict[str, Any]:
        return {"widget": self}

    def send(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        self.times.append(time.monotonic())

    def close(self) -> None:
        self.closed = True


class Screen:
    """What was published: ``(bundle, display_id, update)``."""

    def __init__(self) -> None:
        self.shown: list[tuple[dict[str, Any], str, bool]] = []

    def __call__(self, bundle: dict[str, Any], display_id: str, update: bool) -> None:
        self.shown.append((bundle, display_id, update))

    def html(self) -> list[str]:
        return [b["text/html"] for b, _, _ in self.shown if "text/html" in b]


DRAWING = Drawing(
    build=lambda document: {**document, "levels": {}},
    twin=lambda payload, twin_id: f"{twin_id}: {len(payload['nodes'])} nodes",
    text=lambda payload: f"{len(payload['nodes'])} nodes",
)


class Stage:
    """One display under test."""

    def __init__(self, **options: Any) -> None:
        self.source = Source()
        self.screen = Screen()
        options = {"drawing": DRAWING, "widget": FakeWidget, "publish": self.screen, **options}
        self.make: Callable[[], LiveDisplay] = lambda: LiveDisplay(self.source, **options)
        self.display: LiveDisplay | None = None

    def start(self) -> LiveDisplay:
        self.display = self.make()
        return self.display


@pytest.fixture
def stage() -> Iterator[Callable[..., Stage]]:
    stages: list[Stage] = []

    def make(**options: Any) -> Stage:
        stages.append(Stage(**options))
        return stages[-1]

    yield make
    for one in stages:
        if one.display is not None:
            one.display.close()
    assert not [t for t in threading.enumerate() if t.name == "leafmagic-live"]


def until(test: Callable[[], object], limit_s: float = 5.0) -> None:
    end = time.monotonic() + limit_s
    while not test():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


def names_of(payload: dict[str, Any]) -> list[str]:
    return [node["id"] for node in payload["nodes"]]


def test_it_is_on_the_screen_before_the_first_line_runs(stage: Any) -> None:
    one = stage()
    display = one.start()
    (widget, _, first), (twin, twin_id, second) = one.screen.shown
    assert widget["widget"] is display.widget
    assert twin_id == display.twin_id == display.widget.twin_id
    assert f"lm-twin-{twin_id}" in twin["text/html"]
    assert "when the cell has ended" in twin["text/plain"]
    assert not first
    assert not second


def test_the_static_twin_is_drawn_at_the_end_only(stage: Any) -> None:
    drawn = []

    def twin(payload: dict[str, Any], twin_id: str) -> str:
        drawn.append(names_of(payload))
        return DRAWING.twin(payload, twin_id)

    one = stage(drawing=Drawing(DRAWING.build, twin, DRAWING.text))
    display = one.start()
    one.source.add("a")
    until(lambda: display.widget.messages)
    assert drawn == []
    display.close()
    assert drawn == [["a"]]


def test_what_is_on_the_screen_first_needs_few_modules() -> None:
    program = """
import sys
from leafmagic.render.live import LiveDisplay

class Source:
    revision = 0
    def document(self):
        return dict(nodes=[], edges=[], findings=[], cell=dict(label="<a>"), status={})

class Widget:
    def __init__(self, **traits): pass
    def bundle(self):
        there.extend(m for m in sys.modules if m.startswith("leafmagic.render."))
        return {}

there, shown = [], []
LiveDisplay(Source(), widget=Widget, publish=lambda *what: shown.append(what)).close()
assert "leafmagic.render.payload" in there
assert not {"leafmagic.render." + m for m in ("html", "svg", "text")} & set(there), there
assert "&lt;a&gt;: " in shown[1][0]["text/html"]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_changes_arrive_while_it_runs_and_the_whole_at_the_end(stage: Any) -> None:
    one = stage()
    display = one.start()
    for name in "abc":
        one.source.add(name)
        until(lambda n=name: n in str(display.widget.messages))
    assert [m["seq"] for m in display.widget.messages] == list(
        range(1, len(display.widget.messages) + 1)
    )
    assert display.widget.messages[0]["type"] == "full"
    assert {m["type"] for m in display.widget.messages} == {"full", "batch"}
    one.source.running = False
    display.close()
    assert names_of(display.widget.payload) == ["a", "b", "c"]
    assert display.widget.payload["status"]["running"] is False
    assert one.screen.shown[-1][1:] == (display.twin_id, True)
    assert one.screen.html()[-1].endswith("3 nodes")


def test_nothing_new_is_nothing_sent(stage: Any) -> None:
    display = stage().start()
    time.sleep(0.25)
    assert display.widget.messages == []


def test_at_most_ten_updates_a_second(stage: Any) -> None:
    one = stage()
    display = one.start()
    end = time.monotonic() + 0.8
    while time.monotonic() < end:
        one.source.add(f"n{one.source.revision}")
        time.sleep(0.002)
    times = display.widget.times
    assert 3 <= len(times) <= 9
    assert min(b - a for a, b in itertools.pairwise(times)) > 0.09


def test_an_expensive_update_is_followed_by_a_long_pause(stage: Any) -> None:
    def slow(document: dict[str, Any]) -> dict[str, Any]:
        begin = time.thread_time()
        while time.thread_time() - begin < 0.02:
            pass
        return DRAWING.build(document)

    one = stage(drawing=Drawing(slow, DRAWING.twin, DRAWING.text))
    display = one.start()
    one.source.add("a")
    until(lambda: len(display.widget.times) == 1)
    one.source.add("b")
    until(lambda: len(display.widget.times) == 2)
    assert display.widget.times[1] - display.widget.times[0] >= 0.4 * 0.95
    assert display.cost_s >= 0.04


def test_its_own_cost_is_part_of_the_overhead(stage: Any) -> None:
    one = stage()
    display = one.start()
    display.cost_s = 1.0
    display.close()
    assert display.widget.payload["status"]["overhead_s"] >= 1.25


def test_a_page_that_missed_a_batch_gets_the_whole_soon(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "FIRST_FULL_S", 0.15)
    one = stage()
    display = one.start()
    one.source.add("a")
    until(lambda: len(display.widget.messages) == 1)
    one.source.add("b")
    until(lambda: display.widget.messages[-1]["seq"] >= 2)
    until(lambda: display.widget.messages[-1]["type"] == "full")
    assert names_of(display.widget.messages[-1]["payload"]) == ["a", "b"]
    count = len(display.widget.messages)
    time.sleep(0.3)
    assert len(display.widget.messages) == count, "it is sent once, not again and again"


def test_html_mode_refreshes_one_display(stage: Any) -> None:
    one = stage(mode="html")
    display = one.start()
    assert display.widget is None
    one.source.add("a")
    until(lambda: len(one.screen.shown) == 2)
    display.close()
    assert [update for _, _, update in one.screen.shown] == [False, True, True]
    assert {i for _, i, _ in one.screen.shown} == {display.twin_id}
    assert set(one.screen.shown[-1][0]) == {"text/html", "text/plain"}


def test_a_fault_in_drawing_is_one_note_in_the_widget(
    stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    one = stage()
    display = one.start()
    one.source.broken = KeyError("lost\nsecond line")
    one.source.add("a")
    until(lambda: display.widget.messages)
    (note,) = display.widget.messages[-1].get("payload", display.widget.messages[-1])["status"][
        "notes"
    ]
    assert "KeyError" in note
    assert "\n" not in note
    display.close()
    assert display.widget.payload["status"]["notes"] == [note]
    assert display.widget.payload["status"]["running"] is False
    said = capsys.readouterr()
    assert said.out + said.err == ""


def test_a_fault_that_passes_leaves_its_note_and_the_final_picture(stage: Any) -> None:
    one = stage()
    display = one.start()
    one.source.broken = ValueError("once")
    one.source.add("a")
    until(lambda: display.note)
    one.source.broken = None
    display.close()
    assert names_of(display.widget.payload) == ["a"]
    assert display.widget.payload["status"]["notes"] == [display.note]


def test_without_a_widget_the_note_is_one_line(
    stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**_: Any) -> Any:
        raise RuntimeError("no comm here")

    one = stage(widget=broken)
    one.start().close()
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "no comm here" in said.err
    assert one.screen.html(), "the static picture is shown all the same"


def test_a_quiet_display_waits_for_something_to_say(stage: Any) -> None:
    one = stage(quiet=True)
    display = one.start()
    time.sleep(0.15)
    one.source.revision += 1
    time.sleep(0.15)
    assert one.screen.shown == []
    one.source.add("a")
    until(lambda: len(one.screen.shown) == 2)
    assert names_of(display.widget.payloads[0]) == ["a"]


def test_a_quiet_display_may_stay_quiet(stage: Any) -> None:
    one = stage(quiet=True)
    one.start().close()
    assert one.screen.shown == []


def test_a_quiet_display_of_a_quick_cell_shows_the_end(stage: Any) -> None:
    one = stage(quiet=True)
    display = one.start()
    one.source.add("a")
    one.source.running = False
    display.close()
    assert names_of(display.widget.payload) == ["a"]
    assert one.screen.html()[-1].endswith("1 nodes")


def test_drop_takes_away_what_was_shown(stage: Any) -> None:
    one = stage()
    display = one.start()
    display.drop()
    display.close()
    assert display.widget.closed
    assert one.screen.shown[-1] == ({"text/plain": ""}, display.twin_id, True)


def test_close_twice_is_close(stage: Any) -> None:
    one = stage()
    display = one.start()
    display.close()
    count = len(one.screen.shown)
    display.finish()
    assert len(one.screen.shown) == count


def test_the_thread_is_a_daemon_and_never_outlives_the_display(stage: Any) -> None:
    one = stage()
    display = one.start()
    (thread,) = [t for t in threading.enumerate() if t.name == "leafmagic-live"]
    assert thread.daemon
    one.source.add("a")
    display.close()
    assert not thread.is_alive()
    before = len(display.widget.messages)
    one.source.add("b")
    time.sleep(0.15)
    assert len(display.widget.messages) == before


def test_only_so_many_widgets_stay_open(stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_OPEN", 2)
    displays = [stage().start() for _ in range(4)]
    assert [display.widget.closed for display in displays] == [True, True, False, False]
