"""What is read from a frame is what its loops run over, whatever the code around them."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
from typing import Any

import pytest

from leafmagic import valuestack


def iterators_here() -> list[Any]:
    return [iterator for iterator, _ in valuestack.iterators(sys._getframe(1))]


def test_this_interpreter_is_known() -> None:
    # What else is tested here would be empty otherwise.
    assert valuestack._can_read()


class Enough(BaseException):
    """Ends a program that goes on for long."""


class _Program:
    """A function with loops and other blocks, at random, that looks in many places."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.lines: list[str] = []
        self.loops: list[str] = []
        self.made = 0

    def text(self) -> str:
        generator = self.random.random() < 0.3
        self.lines = ["def run(look, arg=0):", "    own = arg"]
        if self.random.random() < 0.5:
            self.lines.append("    shared = lambda: own")
        self.block(1, 0)
        if generator:
            self.lines.append("    yield")
        self.lines.append("    return")
        return "\n".join(self.lines)

    def look(self, indent: int) -> None:
        seen = f"look({', '.join(self.loops)})"
        shapes = [seen, f"[own, {seen}]", f"max(0, {seen})", f"{{own: {seen}}}"]
        shapes += [f"[one for one in (1,) if {seen} == 0]", f"f'{{{seen}}}'"]
        self.lines.append("    " * indent + self.random.choice(shapes))

    def block(self, indent: int, depth: int) -> None:
        pad = "    " * indent
        for _ in range(self.random.randint(1, 3)):
            kind = "look" if depth > 3 else self.random.choice(["for", "for", "try", "with", "if"])
            if kind == "for":
                self.made += 1
                name = f"it{self.made}"
                source = self.random.choice(["[1, 2]", "range(2)", "{1: 2}", "zip((1, 2))"])
                self.lines += [f"{pad}{name} = iter({source})", f"{pad}for x in {name}:"]
                self.loops.append(name)
                self.block(indent + 1, depth + 1)
                self.loops.pop()
                if self.random.random() < 0.3:
                    self.lines.append(f"{pad}    {self.random.choice(['break', 'continue'])}")
                if self.random.random() < 0.3:
                    self.lines.append(f"{pad}else:")
                    self.look(indent + 1)
            elif kind == "try":
                self.lines.append(f"{pad}try:")
                self.block(indent + 1, depth + 1)
                self.lines += [f"{pad}    1 / own", f"{pad}except ZeroDivisionError as error:"]
                self.block(indent + 1, depth + 1)
                self.lines.append(f"{pad}finally:")
                self.look(indent + 1)
            elif kind == "with":
                self.lines.append(f"{pad}with contextlib.suppress(ValueError):")
                self.block(indent + 1, depth + 1)
            elif kind == "if":
                self.lines.append(f"{pad}if own == 0 or look({', '.join(self.loops)}):")
                self.block(indent + 1, depth + 1)
            self.look(indent)


@pytest.mark.parametrize("seed", range(40))
def test_the_iterators_of_any_code(seed: int) -> None:
    text = _Program(seed).text()
    looked = 0

    def look(*expected: Any) -> int:
        nonlocal looked
        looked += 1
        frame = sys._getframe(1)
        if frame.f_code.co_name == "<listcomp>":
            # Before 3.12 a comprehension is a function.
            frame = frame.f_back  # type: ignore[assignment]
        found = [one for one, _ in valuestack.iterators(frame)][: len(expected)]
        assert list(map(id, found)) == list(map(id, expected)), text
        if looked == 200:
            raise Enough
        return 0

    space: dict[str, Any] = {"contextlib": contextlib}
    exec(compile(text, "<program>", "exec"), space)
    with contextlib.suppress(Enough):
        list(space["run"](look) or ())
    assert looked


def test_a_generator_that_waits() -> None:
    inner = iter([1, 2, 3])

    def batches() -> Any:
        with contextlib.nullcontext():
            for one in inner:
                yield [one]

    running = batches()
    next(running)
    assert [one for one, _ in valuestack.iterators(running.gi_frame)] == [inner]


def test_a_coroutine_and_a_class_body() -> None:
    inner = iter([1, 2])

    async def work() -> list[Any]:
        for _ in inner:
            await asyncio.sleep(0)
            return iterators_here()
        return []

    assert asyncio.run(work()) == [inner]

    class Body:
        one = iter([1])
        for _ in one:
            found = iterators_here()

    assert Body.found == [Body.one]


def test_the_line_is_that_of_what_is_run_over() -> None:
    first = sys._getframe().f_lineno
    for _ in range(
        2,
    ):
        (_, span) = valuestack.iterators(sys._getframe())[0]
    assert span[0] == first + 1


def test_equal_code_at_other_places_is_told_apart() -> None:
    text = "def run():\n    for _ in [1]:\n        return look()\n"
    lines = []
    for above in ("", "\n\n"):
        space: dict[str, Any] = {"look": lambda: valuestack.iterators(sys._getframe(1))}
        exec(compile(above + text, "<program>", "exec"), space)
        lines.append(space["run"]()[0][1][0])
    assert lines == [2, 4]


def test_an_unknown_interpreter_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(valuestack, "_LAYOUTS", {})
    monkeypatch.setattr(valuestack, "_layout", valuestack._layout.__wrapped__)
    monkeypatch.setattr(valuestack, "_can_read", valuestack._can_read.__wrapped__)
    for _ in [1]:
        assert iterators_here() == []


@pytest.mark.parametrize("words", [(4, 5, 8), (4, 5, 10), (3, 5, 9), (4, 6, 9)])
def test_a_wrong_layout_is_noticed_before_anything_is_read(
    words: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.version_info[:2] != (3, 11):
        known = valuestack._LAYOUTS[sys.version_info[:2]]
        words = (known.code, known.frame, known.values + 1)
    wrong = valuestack.Layout(*words, 0)
    monkeypatch.setattr(valuestack, "_layout", lambda: wrong)
    monkeypatch.setattr(valuestack, "_can_read", valuestack._can_read.__wrapped__)
    assert not valuestack._can_read()
    for _ in [1]:
        assert iterators_here() == []


def test_bytecode_that_is_not_understood_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ValueError

    valuestack._loops.cache_clear()
    monkeypatch.setattr(valuestack, "_walk", broken)
    for _ in [1]:
        assert iterators_here() == []
    valuestack._loops.cache_clear()


def test_nothing_is_kept() -> None:
    class Gone:
        def __del__(self) -> None:
            gone.append(1)

    gone: list[int] = []

    def run() -> None:
        for _ in [Gone()]:
            assert len(iterators_here()) == 1

    run()
    assert gone == [1]
