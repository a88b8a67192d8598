"""Graphs that are held where nobody looks: by a gradient, by ``Out``, by a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator

from leafmagic.findings import fixes
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.judging import OfKept
from leafmagic.findings.pieces import place_of
from leafmagic.looks import Finished, Kept
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import Pass, TensorRecord, best_name

_NAME = re.compile(r"[^\W\d][\w.]*")


@register
class GradientCycle(Rule):
    """``backward(create_graph=True)`` leaves gradients that have graphs.

    Such a gradient leads back to its own parameter, which holds it: a cycle through
    torch's C++ that Python's garbage collector cannot free. ``autograd.grad`` returns the
    gradients instead; or set them to None when done.

    Failing cell::

        q = torch.full((3,), .5, requires_grad=True)
        energy = q.sin().prod()
        energy.backward(create_graph=True)

    Fixed::

        q = torch.full((3,), .5, requires_grad=True)
        energy = q.sin().prod()
        force, = torch.autograd.grad(energy, q, create_graph=True)

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    kind = "memory_retention"
    code = "LM603"
    events = (Finished,)

    def check(self, _event: Finished, model: Model) -> Iterator[Finding]:
        """Judge at the end: the gradients may have been set to None."""
        for one in {one.site: one for one in model.passes}.values():
            if one.what != "backward" or not one.create_graph or one.failed or not one.finished:
                continue
            leaves = sorted(reach(model, one.roots).leaves, key=lambda leaf: leaf.index)
            held = [leaf for leaf in leaves if not _is_cleared(leaf, one)]
            if held:
                yield self._told(model, one, held)

    def _told(self, model: Model, one: Pass, leaves: list[TensorRecord]) -> Finding:
        place = model.place(one.site)
        name, root = best_name(leaves[0]), model.name_of(one.roots[0])
        others = f" and those of {len(leaves) - 1} more leaves" if len(leaves) > 1 else ""
        gradient = name.rpartition(".")[2].isidentifier() and len(leaves) == 1
        return self.finding(
            f"`{name}.grad`{others} now has a graph that leads back to `{name}`: a cycle that "
            "gc cannot free.",
            fix=f"{name.replace('.', '_')}_grad, = torch.autograd.grad({root}, {name}, "
            "create_graph=True)"
            if gradient and root
            else "torch.autograd.grad(loss, parameters, create_graph=True), or set the "
            "gradients to None when done",
            variable=name,
            cause=place,
            record=leaves[0],
            # Where a later pass goes through these gradients, their graph is what is wanted.
            severity="info" if any(p.ordinal > one.finished for p in model.passes) else None,
        )


def _is_cleared(leaf: TensorRecord, one: Pass) -> bool:
    return leaf.cleared is not None and leaf.cleared.ordinal > one.ordinal


@register
class HeldByOut(OfKept):
    """A computed tensor as the last expression of a cell that is run again and again.

    IPython keeps what a cell shows in ``Out``, for as long as the session lasts: each run
    keeps one more tensor, with its graph. A number, or a detached tensor, shows the same.

    Failing cell::

        import torch
        w = torch.ones(1000, requires_grad=True)
        # %%
        loss = w.exp().sum()
        loss
        # %% rerun 2
        # %% rerun 2

    Fixed::

        import torch
        w = torch.ones(1000, requires_grad=True)
        # %%
        loss = w.exp().sum()
        loss.item()
        # %% rerun 2
        # %% rerun 2

    References
    ----------
    https://ipython.readthedocs.io/en/stable/interactive/reference.html#output-caching-system
    """

    kind = "memory_retention"
    code = "LM605"
    how = "output"

    def kept(self, event: Kept, model: Model) -> Iterator[Finding]:
        """Tell of the cell's last expression."""
        texts = self.texts()
        if not texts or event.line is None:
            return
        source = texts[0]
        body = source.tree.body
        last = next((node for node in reversed(body) if node.lineno <= event.line), None)
        shown = getattr(last, "value", None)
        if last is None or shown is None:
            return
        newest = model.tensor(event.tids[-1])
        number = "item()" if newest is None or newest.seen.shape == () else "detach()"
        name = _NAME.match(event.name)
        yield self.finding(
            f"Out holds {event.size} old results of `{event.name}` with their graphs: one more "
            "for each run of this cell.",
            fix=(short := fixes.chained(source.words(shown), number)),
            variable=name.group() if name is not None else event.name,
            cause=source.place(shown),
            record=newest,
            edits=fixes.replace_expression(source.place(shown), short),
        )


@register
class HeldByTraceback(OfKept):
    """The traceback of the last error keeps the variables of its functions.

    Python and IPython keep the last error for ``%debug``. Its traceback holds the frame
    of every function it came through, and with it activations and their graphs, until the
    next error takes its place.

    Failing cell::

        import torch
        def train():
            act = torch.ones(1000, requires_grad=True).exp()
            raise RuntimeError("oops")
        train()
        # %%
        print("act is still there")

    Fixed::

        import torch
        def train():
            act = torch.ones(1000, requires_grad=True).exp()
            return act
        train()
        # %%
        print("nothing is kept")

    References
    ----------
    https://docs.python.org/3/library/sys.html#sys.last_exc
    """

    kind = "memory_retention"
    code = "LM604"
    severity = "info"
    how = "traceback"

    def kept(self, event: Kept, model: Model) -> Iterator[Finding]:
        """Tell once of what the frame of a function keeps."""
        session = model.session
        made = [(tid, session.made[tid]) for tid in event.tids if tid in session.made]
        fresh = [(tid, at) for tid, at in made if at.name and at.run != model.run]
        if not fresh or ("traceback", fresh[0][0]) in session.told:
            return
        session.told |= {("traceback", tid) for tid, _ in fresh}
        names = " and ".join(dict.fromkeys(f"`{at.name}`" for _, at in fresh[-3:]))
        verb = "is" if names.count("`") == 2 else "are"
        yield self.finding(
            f"{names} of `{event.name}()` {verb} still there, with the graph: the traceback of "
            "the last error holds the frame.",
            fix="import sys, gc; sys.last_exc = sys.last_value = sys.last_traceback = None; "
            "get_ipython().InteractiveTB.tb = None; gc.collect()",
            variable=fresh[-1][1].name,
            cause=place_of(fresh[-1][1]),
        )
