"""Numbers for tensors and nodes, so that nothing has to be held.

A tensor is known by a weak reference, a node by a mark that is put on it.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from leafmagic.autograd import KNOWN_TYPES, flatten, grad_fn_of, is_leaf
from leafmagic.events import NodeSeen, TensorSeen
from leafmagic.log import Repeat
from leafmagic.marks import (
    ACCUMULATE_GRAD,
    DEEPEST,
    MARK,
    SHORT,
    UNMARKED,
    WALKS,
    Mark,
    alive,
    deepest_walk,
)

_RECENT, _MOST_RECENT = 1_000, 20_000
"""So many nodes are remembered by their sequence numbers at the end of a step before the
older ones go, and so many within a step. A small dict stays in the processor's cache."""
_PLAIN = frozenset({int, float, bool, str, type(None), torch.dtype, torch.device})
_tuple = tuple.__new__
"""Makes a NamedTuple in half the time of its own constructor; for the hot path only."""

_numbers = itertools.count(1)
"""For tensors and nodes alike: an op that makes one of each gives both the same."""
_epochs = itertools.count(1)
REFS: dict[int, TensorRef] = {}
"""By ``id()``: the reference, and with it the number, of every tensor that was seen."""


class TensorRef(weakref.ref[Tensor]):
    """A weak reference that knows its tensor's number."""

    __slots__ = ("depth", "epoch", "repeat", "tid")
    tid: int
    epoch: int
    depth: int
    """How many nodes that were looked at lie behind it, in a row."""
    repeat: Any
    """What made it the same way in the step before; None where nothing did."""


def tid_of(tensor: Tensor) -> int:
    """Return the number of a tensor that was seen, or -1."""
    ref = REFS.get(id(tensor))
    return ref.tid if ref is not None and ref() is tensor else -1


class Ledger:
    """Gives tensors and nodes their numbers, and collects those seen for the first time.

    The numbers are the process's; what counts as seen is the ledger's own, so that
    every trace gets a full description of what it meets.
    """

    __slots__ = (
        "_older",
        "_recent",
        "depth",
        "epoch",
        "new_nodes",
        "new_tensors",
        "old_grads",
        "steps",
    )

    def __init__(self) -> None:
        self.epoch = next(_epochs)
        self.depth = 0
        """The depth that a tensor made now has."""
        self.new_tensors: list[TensorSeen] = []
        self.new_nodes: list[NodeSeen] = []
        self.old_grads: dict[int, tuple[weakref.ref[Tensor], int]] = {}
        """The gradient that a leaf had before any pass of the trace, and its version."""
        self.steps = 0
        self._recent: dict[int, tuple[int, str]] = {}
        self._older: dict[int, tuple[int, str]] = {}

    def tensor(self, tensor: Tensor) -> int:
        """Return the tensor's number; describe it if this ledger had not met it."""
        ref = REFS.get(id(tensor))
        if ref is not None and ref() is tensor:
            if ref.epoch != self.epoch:
                ref.epoch = self.epoch
                self._describe(tensor, ref.tid)
            return ref.tid
        ref = TensorRef(tensor)
        ref.tid = tid = next(_numbers)
        ref.epoch, ref.repeat = self.epoch, None
        ref.depth = 0 if is_leaf(tensor) else self.depth
        REFS[id(tensor)] = ref
        if type(tensor) in KNOWN_TYPES:
            self._describe_facts(tensor, tid)
        else:
            self._describe(tensor, tid)
        if ref.depth < self.depth and not is_leaf(tensor):
            ref.depth = self.depth  # what lies behind it was looked at just now
        return tid

    def repeated(
        self, tensor: Any, repeat: Repeat, watched: bool, inputs: tuple[int, ...], ordinal: int
    ) -> bool:
        """Give a number to an output of which all else is known.

        Parameters
        ----------
        repeat : Repeat
            What made it in the step before; takes down what is new.
        watched : bool
            Whether it must be known when the node is gone.
        inputs : tuple of int
            What the op was called with.
        ordinal : int
            Of the event that this makes.

        Returns
        -------
        bool
            False if it is not what was expected: a tensor that was known, or with or
            without a node where the last one was not.

        Notes
        -----
        A node that is not watched is not marked, which would cost as much as all the rest, but
        remembered by its sequence number. Those count per thread; that a node of
        another thread has the same number and the same name is taken not to happen.
        """
        if self.depth > DEEPEST or not (type(tensor) is Tensor or isinstance(tensor, Tensor)):
            return False
        key, name = id(tensor), repeat.name
        ref = REFS.get(key)
        if ref is not None and ref() is tensor:
            return False
        node: Any = tensor.grad_fn
        if (node is None) is not (not name):
            return False
        ref = TensorRef(tensor)
        ref.tid = tid = next(_numbers)
        ref.epoch, ref.repeat, ref.depth = self.epoch, repeat, self.depth
        nid = -1
        if node is None:
            ref.depth = 0
        elif watched:
            nid = self._mark(node, self.depth)
            repeat.mark = weakref.ref(node.metadata[MARK])
        else:
            nid = tid
            if repeat.mark is not alive:
                repeat.mark = alive
            self._recent[node._sequence_nr()] = (nid, name)
            if len(self._recent) > _MOST_RECENT:
                self._older, self._recent = self._recent, {}
        repeat.before, repeat.tid, repeat.ref = repeat.tid, tid, ref
        REFS[key] = ref
        base = None if repeat.never_view else tensor._base
        base_tid = -1 if base is None else self.tensor(base)
        repeat.latest = (ordinal, inputs, tid, nid, base_tid, tensor.shape)
        return True

    def end_step(self) -> None:
        """Forget nodes of earlier steps that were not marked, where there are many."""
        self.steps += 1
        if len(self._recent) > _RECENT:
            self._older, self._recent = self._recent, {}

    def number_of(self, node: Any) -> int:
        """Return the number of a node that this ledger met, else 0."""
        mark: Mark | None = node.metadata.get(MARK)
        if mark is not None and mark.epoch == self.epoch:
            return mark.nid
        if not self._recent and not self._older:
            return 0
        sequence = node._sequence_nr()
        known = self._recent.get(sequence) or self._older.get(sequence)
        return known[0] if known is not None and known[1] == node.name() else 0

    def is_deep(self, tensor: Tensor) -> bool:
        """Tell whether the nodes behind a tensor must not be looked at."""
        ref = REFS.get(id(tensor))
        return self.depth > DEEPEST or (ref is not None and ref.depth > DEEPEST)

    def redescribe(self, tensor: Tensor, tid: int) -> None:
        """Describe a known tensor again, after an op changed what it is."""
        REFS[id(tensor)].depth = max(REFS[id(tensor)].depth, self.depth)
        self._describe(tensor, tid)

    def numbers(self, args: Any, kwargs: Any) -> tuple[int, ...]:
        """Return the numbers of the tensors among arguments, and note how deep they lie."""
        epoch, refs = self.epoch, REFS
        numbers: list[int] = []
        depth = 0
        for arg in (*args, *kwargs.values()) if kwargs else args:
            ref = refs.get(id(arg))
            if ref is not None and ref.epoch == epoch and ref() is arg:
                numbers.append(ref.tid)
                if ref.depth > depth:  # noqa: PLR1730 - a call of max() costs more
                    depth = ref.depth
                continue
            kind = type(arg)
            if kind in _PLAIN:
                continue
            if kind is Tensor or isinstance(arg, Tensor):
                self.depth = 0
                numbers.append(self.tensor(arg))
                depth = max(depth, refs[id(arg)].depth)
            elif isinstance(arg, list | tuple):
                depth = max(depth, self._number_all(flatten((arg,), []), numbers))
        self.depth = depth + 1
        return tuple(numbers)

    def _number_all(self, tensors: list[Tensor], numbers: list[int]) -> int:
        """Append the numbers of tensors; return the greatest depth among them."""
        numbers += map(self.tensor, tensors)
        return max([REFS[id(tensor)].depth for tensor in tensors], default=0)

    def _describe(self, tensor: Tensor, tid: int) -> None:
        if type(tensor) not in KNOWN_TYPES:
            with torch._C.DisableTorchFunction():
                try:
                    self._describe_facts(tensor, tid)
                except Exception:
                    # A subclass that cannot say what it is (an uninitialized parameter).
                    self.new_tensors.append(
                        TensorSeen(tid, (), "", "", False, True, 0, -1, 0, -1, False, 0, False)
                    )
            return
        self._describe_facts(tensor, tid)

    def _describe_facts(self, tensor: Tensor, tid: int) -> None:
        if self.depth > DEEPEST and tensor.requires_grad and not is_leaf(tensor):
            nid = next(_numbers)
            self.new_nodes.append(NodeSeen(nid, "", ()))
            self._append(tensor, tid, nid, 0, requires_grad=True, leaf=False)
            return
        node = grad_fn_of(tensor)
        if node is None:
            nid, output_nr, requires_grad, leaf = -1, 0, tensor.requires_grad, True
        else:
            nid, output_nr, requires_grad, leaf = self.node(node), tensor.output_nr, True, False
        self._append(tensor, tid, nid, output_nr, requires_grad=requires_grad, leaf=leaf)

    def _append(
        self,
        tensor: Tensor,
        tid: int,
        nid: int,
        output_nr: int,
        *,
        requires_grad: bool,
        leaf: bool,
    ) -> None:
        base = tensor._base
        hooks: Any = tensor._backward_hooks
        if leaf and requires_grad and not self.steps:
            grad = tensor.grad
            if grad is not None:
                self.old_grads[tid] = weakref.ref(grad), grad._version
        self.new_tensors.append(
            _tuple(
                TensorSeen,
                (
                    tid,
                    tensor.shape,
                    tensor.dtype,
                    tensor.device,
                    requires_grad,
                    leaf,
                    0 if tensor.is_inference() else tensor._version,
                    nid,
                    output_nr,
                    -1 if base is None else self.tensor(base),
                    type(tensor) is not Tensor and isinstance(tensor, torch.nn.Parameter),
                    len(hooks) if hooks else 0,
                    not leaf and tensor.retains_grad,
                ),
            )
        )

    def node(self, node: Any) -> int:  # noqa: C901 - one walk
        """Return the node's number; describe it and all that it leads to, once."""
        number = self.number_of(node)
        if number:
            return number
        top, first = node, self._mark(node, self.depth)
        stack: list[tuple[Any, int, int]] = [(node, first, 0)]
        walked: list[tuple[Mark, int]] = []
        limit, deepest, new = deepest_walk(), 0, 0
        while stack:
            node, this, depth = stack.pop()
            edges: list[tuple[str, int, int]] = []
            if depth >= limit:
                deepest = max(deepest, DEEPEST)  # and more, for all that is known
            for child, output_nr in node.next_functions if depth < limit else ():
                if child is None:
                    continue
                if type(child) is ACCUMULATE_GRAD:
                    leaf = child.variable
                    if leaf is not None:
                        edges.append(("t", self.tensor(leaf), output_nr))
                    continue
                metadata = child.metadata
                below = metadata.get(MARK, UNMARKED).depth
                number = self.number_of(child)
                if not number:
                    new = max(new, depth + 1) if MARK not in metadata else new
                    number = self._mark(child, 0)
                    stack.append((child, number, depth + 1))
                    walked.append((metadata[MARK], depth + 1))
                deepest = max(deepest, depth + 1 + below)
                edges.append(("n", number, output_nr))
            self.new_nodes.append(_tuple(NodeSeen, (this, node.name(), tuple(edges))))
        for mark, depth in walked:
            mark.depth = max(mark.depth, deepest - depth)
        if deepest:
            self.depth = max(self.depth, deepest + 1)
        if new > SHORT:
            WALKS.append((weakref.ref(top.metadata[MARK]), new))
        return first

    def _mark(self, node: Any, depth: int) -> int:
        metadata = node.metadata
        mark: Mark | None = metadata.get(MARK)
        nid = next(_numbers) if mark is None else mark.nid
        if mark is not None:
            depth = max(depth, mark.depth)
        metadata[MARK] = Mark(self.epoch, nid, depth)
        return nid

    def mark_behind(self, tensor: Tensor, most: int) -> int:
        """Mark the nodes behind a tensor that are known by their sequence numbers alone.

        So that the next trace knows them. Looks at no more than `most` nodes; returns at how
        many it did.
        """
        top = None if self.is_deep(tensor) else grad_fn_of(tensor)
        if top is None or not (self._recent or self._older):
            return 0
        stack, seen = [top], {id(top): top}
        while stack and len(seen) < most:
            node = stack.pop()
            number = self.number_of(node)
            if not number:
                continue  # What lies behind may be deep.
            if MARK not in node.metadata:
                node.metadata[MARK] = Mark(self.epoch, number, 0)
            for child, _ in node.next_functions:
                if child is None or type(child) is ACCUMULATE_GRAD or id(child) in seen:
                    continue
                seen[id(child)] = child
                stack.append(child)
        return len(seen)

    def take(self) -> tuple[tuple[TensorSeen, ...], tuple[NodeSeen, ...]]:
        """Hand over what was described since the last call."""
        tensors, nodes = tuple(self.new_tensors), tuple(self.new_nodes)
        if tensors:
            self.new_tensors.clear()
        if nodes:
            self.new_nodes.clear()
        return tensors, nodes

    def is_old(self, tid: int, grad: Tensor) -> bool:
        """Tell whether a leaf had this gradient when it was met, and nothing was added since."""
        known = self.old_grads.get(tid)
        return known is not None and known[0]() is grad and grad._version == known[1]

    def knows(self, tensor: Tensor) -> bool:
        """Tell whether this ledger met a tensor."""
        ref = REFS.get(id(tensor))
        return ref is not None and ref.epoch == self.epoch and ref() is tensor

    def live(self) -> Iterator[tuple[int, Tensor]]:
        """Yield the number and the tensor of all that this ledger met and that live."""
        for ref in list(REFS.values()):
            if ref.epoch == self.epoch:
                tensor = ref()
                if tensor is not None:
                    yield ref.tid, tensor
