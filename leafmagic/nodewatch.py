"""Looking at gradients while a backward pass runs: where they stop being numbers.

Hooks on the nodes of one pass see what comes in and what goes out. They only read, they
keep nothing but counts, and they are gone when the pass is over.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from leafmagic.behind import Behind
from leafmagic.causes import (
    Cause,
    cause_of,
    has_unsound_leaf,
    is_delicate,
    is_relu_like,
    origin,
)
from leafmagic.counting import Counts, is_unsound, readable
from leafmagic.ledger import Ledger
from leafmagic.marks import ACCUMULATE_GRAD

MOST_NODES = 2_000
"""Larger graphs are not watched."""

_MOST_TOLD = 3
_BOUNDED = ("HardtanhBackward", "HardsigmoidBackward")
"""Clamps that are activations: that some elements are beyond the bounds is what they are for."""
_CLAMPS = ("ClampBackward", "ClampMinBackward", "ClampMaxBackward", *_BOUNDED)
_STEPS = ("RoundBackward", "FloorBackward", "CeilBackward", "TruncBackward", "SignBackward")
"""Nodes of functions whose derivative is zero wherever there is one."""


class Broken(NamedTuple):
    """A node that broke the gradient; see `leafmagic.breaks.GradientBroke`."""

    nid: int
    name: str
    how: str
    bad: int = 0
    total: int = 0
    masked: bool = False
    half: bool = False
    cause: str = ""
    number: int = 0
    leaves: tuple[int, ...] = ()


class NodeWatch:
    """Watches the nodes behind the roots of one pass.

    Parameters
    ----------
    ledger : Ledger

    Attributes
    ----------
    failure : Exception or None
        Our own error in a hook, after which nothing was looked at any more.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._handles: list[Any] = []
        self._take(None)
        self._counts = Counts()
        self._found: dict[int, Broken] = {}
        self._cut: dict[int, list[tuple[int, Tensor]]] = {}
        """By the index of a leaf the clamps of it, and which elements they take away."""
        self._sizes: dict[int, int] = {}
        self._origin: tuple[int, Cause] | None = None
        self._unsound = self._spoiled = False
        self.failure: Exception | None = None

    def begin(self, roots: list[Tensor], behind: Behind) -> None:
        """Put hooks on the nodes that the pass will go through; all of them or none."""
        if not behind.whole or len(behind.nodes) > MOST_NODES:
            return
        try:
            self._take(behind)
            self._begin(roots)
        except BaseException:
            self._drop()
            raise

    def _begin(self, roots: list[Tensor]) -> None:
        if any(is_unsound(root) for root in roots):
            self._unsound = True
            self._origin = origin(self._nodes)
            self._spoiled = has_unsound_leaf(self._nodes)
        flattens = any(_flattens(node) for node in self._nodes)
        for index, node in enumerate(self._nodes):
            if type(node) is not ACCUMULATE_GRAD:
                self._handles.append(node.register_hook(partial(self._passed, index)))
            elif flattens:
                self._handles.append(node.register_prehook(partial(self._arrived, index)))

    def _take(self, behind: Behind | None) -> None:
        """Look at what lies behind the roots of a pass, or at nothing."""
        self._nodes = [] if behind is None else behind.nodes
        self._children = [] if behind is None else behind.children
        self._leaves = {} if behind is None else behind.leaves
        self._users = {} if behind is None else behind.users

    def _drop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles, self._cut = [], {}
        self._take(None)

    # While the pass runs -----------------------------------------------------------

    def _passed(self, index: int, going: Any, coming: Any) -> None:
        """Look at what came to a node and at what it passed on."""
        if self.failure is not None:
            return
        try:
            with torch._C.DisableTorchFunction(), torch.no_grad():
                self._compare(index, going, coming)
                self._compare_zeros(index, going, coming)
        except Exception as error:
            self.failure = error

    def _compare(self, index: int, going: Any, coming: Any) -> None:
        into, out = readable(coming), readable(going)
        if not into or not out:
            return
        counts = self._counts
        for what, tensors in (("in", into), ("out", out)):
            for tensor in tensors:
                counts.add_unsound(what, index, tensor)
        # Of other devices nothing is known before the end.
        here = all(tensor.device.type == "cpu" for tensor in [*into, *out])
        if here and not counts.get("out", index):
            return
        for child, grad in zip(self._children[index], going, strict=False):
            if child in self._leaves and readable((grad,)):
                counts.add_unsound("bad", child, grad)
        if here and counts.get("out", index) > 0 and not counts.get("in", index):
            self._blame(index, into, out)

    def _blame(self, index: int, into: list[Tensor], out: list[Tensor]) -> None:
        node = self._nodes[index]
        found = blamed(self._ledger.number_of(node), node, into, out)
        if found is not None:
            self._found[index] = found

    def _broken(self, index: int, how: str, **facts: Any) -> Broken:
        node = self._nodes[index]
        return Broken(self._ledger.number_of(node), node.name(), how, **facts)

    def _compare_zeros(self, index: int, going: Any, coming: Any) -> None:
        """Look for gradients that a clamp or a step function takes away."""
        node = self._nodes[index]
        if not _flattens(node) or not readable(going[:1]) or not readable(coming[:1]):
            return
        out, into = going[0], coming[0]
        clamp = node.name().startswith(_CLAMPS)
        if out.shape != into.shape:
            return
        if clamp and self._may_cut(index):
            self._counts.add("kept", index, out != 0)
        cut = (out == 0) & (into != 0)
        child = self._children[index][0]
        self._sizes[index] = out.numel()
        if clamp and type(self._nodes[child]) is ACCUMULATE_GRAD:
            self._cut.setdefault(child, []).append((index, cut))
        elif not clamp or self._is_the_only_way(node, index):
            self._counts.add("passed", index, out != 0)
            self._counts.add("cut", index, cut)

    def _is_the_only_way(self, node: Any, index: int) -> bool:
        """Tell whether a clamp of both sides is all that its input is used for."""
        if getattr(node, "_saved_min", 0) is None or getattr(node, "_saved_max", 0) is None:
            return False
        if not node.name().startswith(("ClampBackward", *_BOUNDED)):
            return False
        child, number = self._children[index][0], node.next_functions[0][1]
        return len(self._users.get((child, number), ())) == 1

    def _may_cut(self, index: int) -> bool:
        """Tell whether a clamp may take the gradient of some elements: it is made for that."""
        return self._nodes[index].name().startswith(_BOUNDED) or self._is_guard(index)

    def _is_guard(self, index: int) -> bool:
        """Tell whether a clamp keeps an argument where a function is defined."""
        users = self._users.get((index, 0), [])
        users = users + [above for user, _ in users for above in self._users.get((user, 0), ())]
        return any(is_delicate(self._nodes[user], position) for user, position in users)

    def _arrived(self, index: int, coming: Any) -> None:
        """Look at all that a leaf is given."""
        if self.failure is not None or not readable(coming):
            return
        try:
            with torch._C.DisableTorchFunction(), torch.no_grad():
                self._counts.add("given", index, coming[0] != 0)
                for clamp, cut in self._cut.get(index, ()):
                    if cut.shape == coming[0].shape:
                        self._counts.add("dead", clamp, (coming[0] == 0) & cut)
        except Exception as error:
            self.failure = error

    # Afterwards --------------------------------------------------------------------

    def end(self, *, failed: bool) -> list[Broken]:
        """Take the hooks away; return the nodes that broke the gradient, the first first."""
        try:
            if self.failure is not None:
                return []
            self._counts.fetch()
            return self._judge(failed=failed)
        finally:
            self._drop()

    def _judge(self, *, failed: bool) -> list[Broken]:
        if self._origin is not None:
            index, cause = self._origin
            leaves = tuple(self._leaves[leaf] for leaf in self._behind(index))
            facts = {"total": cause.total, "cause": cause.what, "number": cause.number}
            return [self._broken(index, "forward", leaves=leaves, **facts)]
        outs = self._counts.of("out")
        for index, count in outs.items():
            if count and not self._counts.get("in", index) and index not in self._found:
                self._found[index] = self._broken(index, "inf", bad=count)
        bad = {index for index, count in self._counts.of("bad").items() if count}
        found: list[Broken] = []
        for index, broken in self._found.items():
            leaves = tuple(self._leaves[leaf] for leaf in self._behind(index) if leaf in bad)
            if leaves or failed:
                found.append(broken._replace(leaves=leaves))
        # A factor that is inf was made inf by something else, which says why.
        known = [broken for broken in found if broken.cause not in ("", "factor")]
        if self._spoiled:
            # The weights are no numbers themselves: a pass before made them so.
            return []
        if self._unsound or known:
            found = known
        return [*found, *self._flattened()][:_MOST_TOLD]

    def _flattened(self) -> list[Broken]:
        """Return the clamps and step functions that leave a leaf without a gradient."""
        counts, found = self._counts, []
        for index, dead in counts.of("dead").items():
            leaf = self._leaves[self._children[index][0]]
            if dead and counts.get("kept", index) <= 0:
                how, size = "guarded" if self._is_guard(index) else "cut", self._sizes[index]
                found.append(self._broken(index, how, bad=dead, total=size, leaves=(leaf,)))
        for index, cut in counts.of("cut").items():
            behind = self._behind(index) if cut and not counts.get("passed", index) else []
            leaves = tuple(self._leaves[leaf] for leaf in behind if counts.get("given", leaf) == 0)
            if leaves:
                clamp = self._nodes[index].name().startswith(_CLAMPS)
                how, size = "saturated" if clamp else "step", self._sizes[index]
                how = "guarded" if clamp and self._is_guard(index) else how
                found.append(self._broken(index, how, bad=cut, total=size, leaves=leaves))
        return found

    def _behind(self, index: int) -> list[int]:
        """Return the leaves behind a node, by index."""
        seen = {index}
        queue = [index]
        for current in queue:
            for child in self._children[current]:
                if child >= 0 and child not in seen:
                    seen.add(child)
                    queue.append(child)
        return [leaf for leaf in queue if leaf in self._leaves]


def blamed(nid: int, node: Any, into: list[Tensor], out: list[Tensor]) -> Broken | None:
    """Say how a node broke a sound gradient; None where it did not.

    What it saved must be there still: it is, in a hook on the node.
    """
    broken = next((t for t in out if not bool(torch.isfinite(t).all())), None)
    if broken is None:
        return None
    where = ~torch.isfinite(broken)
    found = cause_of(node)
    return Broken(
        nid,
        node.name(),
        "nan" if bool(torch.isnan(broken).any()) else "inf",
        bad=int(where.sum()),
        total=broken.numel(),
        masked=into[0].shape == broken.shape and not bool(into[0][where].any()),
        half=broken.dtype is torch.float16,
        cause=found.what,
        number=found.number,
    )


def _flattens(node: Any) -> bool:
    """Tell whether a node may take a gradient away for good."""
    name = node.name()
    if name.startswith(_STEPS):
        return True
    return bool(name.startswith(_CLAMPS)) and not is_relu_like(node)
