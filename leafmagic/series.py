"""Numbers over the steps of a loop, in memory that does not grow with them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

RECENT, OLDER = 128, 256
"""So many of the newest rows are kept, and at most so many of those before them."""


class Series:
    """Rows of numbers: the newest all, of older ones every second, fourth, and so on.

    Parameters
    ----------
    columns : tuple of str
        What the numbers of a row are.
    recent, older : int
        How many rows are kept at most, of the newest and of those before them.

    Attributes
    ----------
    count : int
        How many rows were added.
    """

    __slots__ = ("_new", "_old", "_older", "_passed", "_recent", "_stride", "columns", "count")

    def __init__(self, columns: tuple[str, ...], recent: int = RECENT, older: int = OLDER) -> None:
        self.columns = columns
        self.count = 0
        self._recent, self._older = recent, older
        self._new, self._old = array("d"), array("d")
        self._stride, self._passed = 1, 0

    def add(self, *row: float) -> None:
        """Add a row."""
        self.count += 1
        self._new.extend(row)
        width = len(self.columns)
        # Moved in blocks: taking from the front of an array moves all of it.
        if len(self._new) >= 2 * self._recent * width:
            block = self._new[: self._recent * width]
            del self._new[: self._recent * width]
            for at in range(0, len(block), width):
                if self._passed % self._stride == 0:
                    self._old.extend(block[at : at + width])
                self._passed += 1
            while len(self._old) > self._older * width:
                self._thin(width)

    def _thin(self, width: int) -> None:
        """Drop every second of the older rows."""
        kept = array("d")
        for at in range(0, len(self._old), 2 * width):
            kept.extend(self._old[at : at + width])
        self._old = kept
        self._stride *= 2

    def set_last(self, column: str, value: float) -> None:
        """Change a number of the newest row; does nothing where there is none."""
        if self._new:
            self._new[len(self._new) - len(self.columns) + self.columns.index(column)] = value

    def __len__(self) -> int:
        """Return how many rows are kept."""
        return (len(self._old) + len(self._new)) // len(self.columns)

    def __iter__(self) -> Iterator[tuple[float, ...]]:
        """Go through the rows that are kept, oldest first."""
        width = len(self.columns)
        for rows in (self._old, self._new):
            for at in range(0, len(rows), width):
                yield tuple(rows[at : at + width])

    def column(self, name: str) -> list[float]:
        """Return one number of each row, oldest first."""
        at, width = self.columns.index(name), len(self.columns)
        return [*self._old[at::width], *self._new[at::width]]

    def newest(self, name: str, most: int) -> list[float]:
        """Return one number of each of the newest rows, oldest first."""
        return self.column(name)[-most:] if most < len(self) else self.column(name)
