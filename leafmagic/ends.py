"""What is found when a trace ends, beside the states of its tensors."""

from __future__ import annotations

from typing import NamedTuple


class Kept(NamedTuple):
    """Something holds computed tensors, and their graphs with them, when a trace ends.

    Attributes
    ----------
    how : str
        ``container``, ``output`` (``Out``) or ``traceback`` (the frame of a function).
    name : str
        The container's path, the expression that is shown, or the function.
    tids : tuple of int
        The newest of the tensors, in order.
    size : int
        How many there are; of a traceback, the bytes.
    line : int or None
        Of the expression that is shown.
    """

    ordinal: int
    how: str
    name: str
    tids: tuple[int, ...]
    size: int
    line: int | None


class MemoryChanged(NamedTuple):
    """What a node of a pass saved was written over in a way that torch does not count.

    Attributes
    ----------
    site : int
        Of the pass.
    how : str
        ``data``: through ``.data``; ``set_data``: by an assignment to it; ``numpy``,
        ``from_numpy``: by NumPy, which was given the memory, or gave it.
    wrote : int
        Site of the write; for ``numpy`` of the call that gave the memory away.
    tid : int
        The tensor whose memory it is.
    first, last : int
        For NumPy the write was noticed before line `last` ran and not yet before `first`.
    nid, name, slot
        The node, what torch calls it, and what it saved.
    """

    ordinal: int
    site: int
    how: str
    wrote: int
    tid: int
    first: int
    last: int
    nid: int
    name: str
    slot: str
