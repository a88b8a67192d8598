"""Rows over the steps of a loop: the newest all, older ones thinned, in bounded memory."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from leafmagic.series import Series


@given(count=st.integers(0, 3_000), recent=st.integers(1, 40), older=st.integers(2, 60))
def test_the_newest_rows_are_all_there_and_older_ones_evenly(
    count: int, recent: int, older: int
) -> None:
    series = Series(("step", "value"), recent, older)
    for step in range(count):
        series.add(step, -step)
    steps = series.column("step")
    assert series.count == count
    assert len(series) == len(steps) <= 2 * recent + older
    assert steps[-recent:] == list(range(max(0, count - recent), count))
    assert steps == sorted(set(steps))
    assert [-step for step in steps] == series.column("value")
    if count:
        assert steps[0] == 0
        early = [step for step in steps if step < count - 2 * recent]
        gaps = {later - step for step, later in itertools.pairwise(early)}
        assert len(gaps) <= 1


def test_rows_and_columns_say_the_same() -> None:
    series = Series(("a", "b", "c"), 4, 4)
    for number in range(30):
        series.add(number, number * 2, number * 3)
    assert list(series) == [*zip(*map(series.column, series.columns), strict=True)]
    assert series.newest("b", 3) == [54, 56, 58]
    assert series.newest("b", 1_000) == series.column("b")


def test_the_newest_row_can_be_completed() -> None:
    series = Series(("a", "b"))
    series.set_last("b", 1)
    series.add(1, 2)
    series.add(3, 4)
    series.set_last("b", 9)
    assert list(series) == [(1, 2), (3, 9)]
