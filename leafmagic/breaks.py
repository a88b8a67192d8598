"""What was seen of a pass: gradients, where they broke, and memory that was written over.

Plain immutable records like those of `leafmagic.events`, in the same order of numbers.
"""

from __future__ import annotations

from typing import NamedTuple


class GradientBroke(NamedTuple):
    """A node was seen to break the gradient, in a pass that was watched.

    Attributes
    ----------
    site : int
        Of the pass.
    nid : int
        0 where the node is not known.
    name : str
        What torch calls the node.
    how : str
        ``nan`` or ``inf``: what came was finite, what went on is not; ``forward``: its
        result was not finite already; ``cut``: a clamp took away the gradient of elements
        of a leaf; ``saturated``, ``step``: a clamp, or a step function, took away all;
        ``guarded``: so did a clamp that keeps an argument where a function is defined.
    bad, total : int
        How many elements of how many.
    masked : bool
        Whether the gradient that came for these elements was zero.
    half : bool
        Whether it happened in half precision.
    cause : str
        What the node saved: see `leafmagic.causes.Cause`.
    number : int
        How many elements of that kind there are.
    leaves : tuple of int
        tids of the leaves that got the broken gradient.
    """

    ordinal: int
    site: int
    nid: int
    name: str
    how: str
    bad: int
    total: int
    masked: bool
    half: bool
    cause: str
    number: int
    leaves: tuple[int, ...]


class Measured(NamedTuple):
    """Numbers of one gradient; see `leafmagic.graph.GradStats` for the words."""

    norm: float
    max: float
    mean: float
    zeros: float
    bad: int
    size: int
    histogram: tuple[int, ...] = ()


class GradientsMeasured(NamedTuple):
    """The gradients of one pass were measured.

    Attributes
    ----------
    site, began : int
        Of the pass; 0 where only `moved` is told.
    value : float or None
        Of the root, if it is one number.
    nodes : tuple of (index, nid, name, parent, entry, Measured or None)
        Of what arrived at each node, nearest to the root first. The node is the `entry`-th
        that node `parent` leads to; of a root `parent` is -1. A nid is 0 where the node has
        no number, or an older one.
    leaves : tuple of (tid, Measured)
        Of the ``.grad`` of each leaf after the pass, or of what ``autograd.grad`` returned.
    moved : tuple of (tid, ratio)
        By how much leaves were changed since the pass that was measured before: the norm
        of the change over that of the values.
    births : tuple of (index, how)
        Nodes where a finite gradient became ``nan`` or ``inf``.
    """

    ordinal: int
    site: int
    began: int
    value: float | None
    nodes: tuple[tuple[int, int, str, int, int, Measured | None], ...]
    leaves: tuple[tuple[int, Measured], ...]
    moved: tuple[tuple[int, float], ...]
    births: tuple[tuple[int, str], ...]


class GradientWithheld(NamedTuple):
    """A custom function gave None for an input whose leaves got no gradient otherwise.

    Attributes
    ----------
    site : int
        Of the pass.
    nid, name
        The node, and what torch calls it.
    position : int
        Which of the tensors that the function was given.
    leaves : tuple of int
        tids of the leaves behind that input.
    """

    ordinal: int
    site: int
    nid: int
    name: str
    position: int
    leaves: tuple[int, ...]


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


class Foreseen(NamedTuple):
    """What torch will refuse: what a graph saved was changed in place.

    Attributes
    ----------
    site : int
        Of the pass that is about to run; 0 at the end of a cell that ran none.
    inputs : tuple of int
        The roots.
    culprits : tuple
        As in `leafmagic.looks.Raised`.
    """

    ordinal: int
    site: int
    inputs: tuple[int, ...]
    culprits: tuple[tuple[int, str, str], ...]
