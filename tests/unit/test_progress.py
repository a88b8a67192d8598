"""How far loops are is told without a line of the user's code."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset
from tqdm import tqdm, trange
from tqdm.auto import tqdm as auto_tqdm

from leafmagic import progress
from leafmagic.progress import Loop, loops_around


def far(over: Iterable[Any], rounds: int = 2) -> list[tuple[str, int, int | None]]:
    """Run a loop for some rounds, and tell what is said of it then."""
    found: tuple[Loop, ...] = ()
    for at, _ in enumerate(over):
        if at == rounds - 1:
            found = loops_around(sys._getframe(), sys._getframe().f_code)
            break
    return [(loop.what, loop.done, loop.total) for loop in found]


def numbers(count: int) -> Iterator[int]:
    for number in range(count):
        if number >= 0:
            yield number


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        (range(7), ("range", 2, 7)),
        (range(3, 9, 2), ("range", 2, 3)),
        (range(9, 3, -1), ("range", 2, 6)),
        (reversed(range(5)), ("range", 2, 5)),
        ([1, 2, 3], ("list", 2, 3)),
        (reversed([1, 2, 3]), ("list", 2, 3)),
        ((1, 2), ("tuple", 2, 2)),
        ({1: 1, 2: 2, 3: 3}, ("dict", 2, 3)),
        ({1: 1, 2: 2}.values(), ("dict", 2, 2)),
        ({1: 1, 2: 2}.items(), ("dict", 2, 2)),
        ({1, 2, 3}, ("set", 2, 3)),
        (zip(range(9), [1, 2, 3], strict=False), ("list", 2, 3)),
        (zip([1, 2, 3], itertools.count(), strict=False), ("list", 2, None)),
        (map(str, range(4)), ("range", 2, 4)),
        (enumerate(enumerate([1, 2, 3]), 5), ("list", 2, 3)),
        (numbers(4), ("range", 2, 4)),
        ((one for one in range(3)), ("range", 2, 3)),
    ],
)
def test_what_is_built_in(over: Iterable[Any], expected: tuple[str, int, int | None]) -> None:
    assert far(over) == [expected]


@pytest.mark.parametrize(
    "over", [itertools.count(), "abc", iter(lambda: 1, 2), filter(None, [1, 2, 3])]
)
def test_what_cannot_be_told_is_left_out(over: Iterable[Any]) -> None:
    assert far(over) == []


class Rows(Dataset[int]):
    """A dataset of the user's."""

    def __init__(self, count: int = 10) -> None:
        self.count, self.asked = count, 0

    def __len__(self) -> int:
        self.asked += 1
        return self.count

    def __getitem__(self, index: int) -> int:
        return index


class Own:
    """A sampler of the user's."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(10))

    def __len__(self) -> int:
        raise AssertionError("this is the user's code")


ROWS = TensorDataset(torch.ones(10, 2))


@pytest.mark.parametrize("data", [ROWS, Rows(), list(range(10))], ids=["tensors", "own", "list"])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("workers", [0, 1])
def test_loaders(data: Any, shuffle: bool, drop_last: bool, rounds: int, workers: int) -> None:
    loader = DataLoader(data, 4, shuffle=shuffle, drop_last=drop_last, num_workers=workers)
    assert far(loader, rounds) == [("DataLoader", rounds, len(loader))]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("size", [3, 5])
def test_the_last_batch(shuffle: bool, size: int) -> None:
    loader = DataLoader(Rows(), size, shuffle=shuffle)
    assert far(loader, len(loader)) == [("DataLoader", len(loader), len(loader))]


@pytest.mark.parametrize(
    ("loader", "total"),
    [
        (DataLoader(ROWS, batch_size=None), 10),
        (DataLoader(Subset(Rows(), [1, 2, 3]), 2), 2),
        (DataLoader(ConcatDataset([[1, 2], [3]]), 2), 2),
        (DataLoader(Rows(), 3, sampler=Own()), None),
        (DataLoader(Rows(), 2, sampler=torch.utils.data.SubsetRandomSampler([1, 2, 3])), 2),
        (DataLoader(Rows(), 2, sampler=torch.utils.data.WeightedRandomSampler([1.0] * 9, 5)), 3),
        (
            DataLoader(
                Rows(), 4, sampler=torch.utils.data.RandomSampler(Rows(), True, num_samples=20)
            ),
            5,
        ),
    ],
)
def test_samplers(loader: DataLoader[Any], total: int | None) -> None:
    assert far(loader) == [("DataLoader", 2, total)]


def test_no_code_of_the_users_is_asked() -> None:
    data = Rows()
    for _ in DataLoader(data, 3, shuffle=True):
        asked = data.asked
        assert loops_around(sys._getframe())[-1][2:] == (1, 4)
        assert data.asked == asked
        break

    class Long(list[int]):
        def __len__(self) -> int:
            raise AssertionError("this is the user's code")

    assert far(iter(Long([1, 2, 3]))) == [("list", 2, 3)]

    class Odd:
        def __getattribute__(self, name: str) -> Any:
            if name in ("__iter__", "__next__"):
                return object.__getattribute__(self, name)
            raise AssertionError(name)

        def __iter__(self) -> Odd:
            return self

        def __next__(self) -> int:
            return 1

        __len__ = __length_hint__ = __reduce__ = None

    for over in (Odd(), zip(Odd(), strict=False), enumerate(Odd()), map(int, Odd())):
        assert far(over) == []
    assert far(zip(Odd(), [1, 2], strict=False)) == [("list", 2, None)]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda **k: tqdm(range(3, 9), **k), ("tqdm", 2, 6)),
        (lambda **k: tqdm(numbers(4), total=8, **k), ("tqdm", 2, 8)),
        (lambda **k: trange(5, **k), ("tqdm", 2, 5)),
        (lambda **k: tqdm(range(5), initial=2, total=7, **k), ("tqdm", 4, 7)),
        (lambda **k: auto_tqdm(DataLoader(Rows(), 4), **k), ("tqdm", 2, 3)),
        (lambda **k: enumerate(tqdm([1, 2, 3], **k)), ("tqdm", 2, 3)),
    ],
)
def test_bars(make: Callable[..., Iterable[Any]], expected: Any, capfd: Any) -> None:
    assert far(make()) == [expected]
    if expected[1] == 2:  # a bar that is off does not count what came before
        assert far(make(disable=True)) == [expected]
    capfd.readouterr()


def test_loops_within_loops_and_functions() -> None:
    def step() -> tuple[Loop, ...]:
        for _ in (1,):
            return loops_around(sys._getframe(), code)
        return ()

    code = sys._getframe().f_code
    line = sys._getframe().f_lineno
    for _ in range(3):
        for _, _ in enumerate([4, 5]):
            found = step()
    assert found == (
        Loop("range", line + 1, 3, 3),
        Loop("list", line + 2, 2, 2),
        Loop("tuple", line - 5, 1, 1),
    )
    assert step() == (Loop("tuple", line - 5, 1, 1),)


def test_the_outermost_are_kept() -> None:
    code = sys._getframe().f_code
    for _ in range(2):
        for _ in range(3):
            for _ in range(4):
                found = loops_around(sys._getframe(), code, most=2)
    assert [loop.total for loop in found] == [2, 3]


def test_loops_of_a_library_have_no_line() -> None:
    space: dict[str, Any] = {}
    library = f"{torch.__file__}/../fit.py"
    text = "def fit(step):\n    for _ in range(2):\n        step()\n"
    exec(compile(text, library, "exec"), space)
    found: list[tuple[Loop, ...]] = []
    code = sys._getframe().f_code
    for _ in range(1):
        space["fit"](lambda: found.append(loops_around(sys._getframe(), code)))
    line = test_loops_of_a_library_have_no_line.__code__.co_firstlineno + 7
    assert found[-1] == (Loop("range", line, 1, 1), Loop("range", None, 2, 2))


def test_a_library_around_the_users_code_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    # This file itself would be the user's, and it lies around all of it.
    monkeypatch.setattr(progress, "_user_file", lambda name: name == "<ipython-input-1>")
    space: dict[str, Any] = {"loops_around": loops_around, "sys": sys}
    shell = "def run(cell):\n    for _ in range(2):\n        exec(cell, globals())\n"
    cell = "for _ in range(3):\n    found = loops_around(sys._getframe())\n"
    exec(compile(shell, "<shell>", "exec"), space)
    space["run"](compile(cell, "<ipython-input-1>", "exec"))
    assert space["found"] == (Loop("range", 1, 3, 3),)


@pytest.mark.parametrize(
    ("rest", "start", "expected"),
    [
        (range(2, 5), 0, ("range", 2, 5)),
        (range(7, 9, 2), 3, ("range", 2, 3)),
        (range(1, 0, -1), 4, ("range", 3, 4)),
        (range(2, 5), None, None),
        (range(2, 5), 3, None),
    ],
)
def test_what_is_left_of_a_range(rest: range, start: int | None, expected: Any) -> None:
    # From 3.12 on, its iterator says no more.
    assert progress._range((iter, (rest,), None), lambda: start) == expected


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("range(9)", 0),
        ("enumerate(tqdm(range(n)))", 0),
        ("range(3, 9)", 3),
        ("trange(\n  1, 9)", 1),
        ("range(n, 9)", None),
        ("range(*n)", None),
        ("zip(range(2), range(3))", None),
        ("numbers(9)", None),
    ],
)
def test_where_a_range_begins(text: str, start: int | None, tmp_path: Any) -> None:
    path = tmp_path / "loop.py"
    path.write_text(f"if True:\n    for é in {text}:\n        look()\n")
    spans: list[Any] = []

    def look() -> None:
        spans.extend(span for _, span in progress.iterators(sys._getframe(1)))

    space = {"look": look, "n": 1, "tqdm": iter, "numbers": numbers, "trange": range}
    if start is None and "*" in text:
        space["n"] = (2,)
    exec(compile(path.read_text(), str(path), "exec"), space)
    assert progress._first(str(path), spans[-1]) == start


def test_an_error_of_ours_is_none_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(progress, "iterators", broken)
    for _ in [1]:
        assert loops_around(sys._getframe()) == ()
    assert loops_around(None) == ()


def test_nothing_is_kept() -> None:
    class Batches:
        def __iter__(self) -> Iterator[Any]:
            for _ in range(3):
                yield torch.ones(2)

    def run() -> list[Any]:
        batches = Batches()
        refs = [weakref.ref(batches)]
        for batch in batches:
            refs.append(weakref.ref(batch))
            assert loops_around(sys._getframe())
            if len(refs) > 2:
                # The batch of the round before.
                assert refs[-2]() is None
        return refs

    gc.disable()
    try:
        refs = run()
        assert [ref() for ref in refs] == [None] * 4
    finally:
        gc.enable()


def test_torch_is_not_imported() -> None:
    code = (
        "import sys, leafmagic.progress as p\n"
        "for _ in range(3):\n    found = p.loops_around(sys._getframe())\n"
        "assert found[0][2:] == (3, 3), found\nassert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
