"""The nodes behind the roots of a pass, each with an index."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from leafmagic.autograd import grad_fn_of
from leafmagic.ledger import tid_of
from leafmagic.marks import ACCUMULATE_GRAD


class Behind:
    """What a backward pass goes through, from its roots to the leaves, breadth first.

    It holds autograd nodes and with them the whole graph: `drop` it when the pass is over.

    Parameters
    ----------
    roots : list of Tensor
        What the pass begins at.
    asked : list of Tensor
        What ``autograd.grad`` was asked for.
    most : int
        More nodes are not looked at.

    Attributes
    ----------
    nodes : list
    children : list of list of int
        By index, for each entry of ``next_functions`` an index, or -1.
    parents : list of (int, int)
        Where a node was met first: the index of what leads to it, and which entry of
        its ``next_functions``, those that lead nowhere not counted; (-1, n) for the node
        of root n.
    leaves : dict
        By the index of an AccumulateGrad, or of the node of what was asked for, a tid;
        -1 where the leaf is gone.
    users : dict
        From the index and the output of a node to the indices that lead there, and from
        which entry.
    whole : bool
        Whether there were no more nodes than `most`.
    """

    def __init__(self, roots: list[Tensor], asked: list[Tensor], most: int) -> None:
        self.nodes: list[Any] = []
        self.children: list[list[int]] = []
        self.parents: list[tuple[int, int]] = []
        self.leaves: dict[int, int] = {}
        self.users: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self.whole = True
        self._index: dict[int, int] = {}
        self._most = most
        ends = {id(node): tid_of(tensor) for tensor in asked if (node := grad_fn_of(tensor))}
        for position, root in enumerate(roots):
            node = grad_fn_of(root)
            if node is not None:
                self._add(node, -1, position)
        self._walk(ends)

    def _walk(self, ends: dict[int, int]) -> None:
        for index, node in enumerate(self.nodes):
            children: list[int] = []
            self.children.append(children)
            entry = -1
            for position, (child, number) in enumerate(node.next_functions):
                if child is None:
                    children.append(-1)
                    continue
                entry += 1
                to = self._add(child, index, entry)
                children.append(to)
                if to < 0:
                    continue
                self.users.setdefault((to, number), []).append((index, position))
                if type(child) is ACCUMULATE_GRAD:
                    leaf = child.variable
                    self.leaves[to] = -1 if leaf is None else tid_of(leaf)
                elif id(child) in ends:
                    self.leaves[to] = ends[id(child)]

    def _add(self, node: Any, parent: int, entry: int) -> int:
        index = self._index.get(id(node))
        if index is None:
            if len(self.nodes) >= self._most:
                self.whole = False
                return -1
            index = self._index[id(node)] = len(self.nodes)
            self.nodes.append(node)
            self.parents.append((parent, entry))
        return index

    def drop(self) -> None:
        """Let go of the nodes."""
        self.nodes, self.children, self.parents = [], [], []
        self.leaves, self.users, self._index = {}, {}, {}
