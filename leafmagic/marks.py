"""What is left on autograd nodes, and how many of them may be looked at.

A node cannot be referenced weakly and its ``id()`` is used again, but its metadata lives
exactly as long as it does: a number put there is a sound key.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

MARK = "leafmagic"
"""Key in ``node.metadata``."""

DEEPEST = 3_000
"""So many nodes in a row are looked at, and no more.

Looking at a node gives it a Python object, and torch frees a row of such nodes
recursively: from some ten thousand on the process dies (torch 2.13). Deeper nodes are
known by the calls that made them.
"""


class Mark:
    """What is put into a node's metadata; it dies with the node."""

    __slots__ = ("__weakref__", "depth", "epoch", "nid")

    def __init__(self, epoch: int, nid: int, depth: int) -> None:
        self.epoch = epoch
        self.nid = nid
        self.depth = depth
        """How many nodes that were looked at lie behind the node, in a row, at most."""


UNMARKED = Mark(0, 0, 0)
SHORT = 100
"""Walks of no more nodes than that are not counted."""
WALKS: list[tuple[weakref.ref[Mark], int]] = []
"""Longer ones, by the mark of the node where each began."""


def deepest_walk() -> int:
    """Return how far a walk may go that nothing was recorded of.

    What lies behind a node is not known before it is looked at. It may be what another
    walk looked at, so all walks of graphs that are alive share the limit.
    """
    WALKS[:] = [walk for walk in WALKS if walk[0]() is not None]
    return DEEPEST - sum([new for _, new in WALKS])


def _accumulate_grad_type() -> type:
    with torch._C.DisableTorchFunction(), torch.enable_grad(), torch.inference_mode(False):
        leaf = torch.empty((), requires_grad=True)
        node: Any = leaf.view_as(leaf).grad_fn
    return type(node.next_functions[0][0])


ACCUMULATE_GRAD: Any = _accumulate_grad_type()


def alive() -> bool:
    """Stand for a mark that was not set: the node may be alive."""
    return True


def gone() -> None:
    """Stand for the mark of a node where there is none."""
