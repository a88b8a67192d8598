"""The answer to: why is this tensor's ``.grad`` None."""

from __future__ import annotations

import torch
from torch import Tensor

from leafmagic import autograd
from leafmagic.cell import Place
from leafmagic.findings.ends import Cut, first_cut, named, path_of, word_for
from leafmagic.findings.frozen import froze
from leafmagic.findings.leaves import made_at, meant_leaf
from leafmagic.findings.mends import told
from leafmagic.findings.pieces import place_of
from leafmagic.findings.reaching import newest_passes
from leafmagic.ledger import tid_of
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.recording import NEWEST, Trace
from leafmagic.records import Pass, TensorRecord, best_name
from leafmagic.tracing import Tracer


def why(tensor: Tensor, trace: Trace | None = None, name: str = "") -> str:
    """Say in a sentence or two why a tensor's ``.grad`` is None, and what to do.

    Parameters
    ----------
    tensor : Tensor
    trace : Trace, optional
        Where to look up what happened. The newest trace if left out; while that runs and has
        seen no backward that could tell, the one before.
    name : str, optional
        What to call the tensor.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If it is not a tensor.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"why takes a tensor, not {type(tensor).__name__}")
    word = f"`{name}`" if name else "this tensor"
    with torch._C.DisableTorchFunction():
        if autograd.can_be_read(tensor) and tensor.grad is not None:
            return f"{word}.grad is not None: it holds a gradient of shape {list(tensor.shape)}."
        traces = list(reversed(NEWEST)) if trace is None else [trace]
        seen = _Seen(tensor, word, *_known(tensor, traces))
        if any(isinstance(t, Tracer) and t.running and t.model is seen.model for t in traces):
            seen.last = "last backward"
        if not tensor.requires_grad:
            return seen.without_grad()
        return seen.of_leaf() if tensor.is_leaf else seen.of_non_leaf()


def _known(tensor: Tensor, traces: list[Trace]) -> tuple[Model | None, TensorRecord | None]:
    """Return what knows most of a tensor: a pass counts more than that it was met."""
    found: list[tuple[bool, bool, Model, TensorRecord | None]] = []
    for trace in traces:
        if isinstance(trace, Tracer):
            trace.drain()
            record = trace.model.tensor(tid_of(tensor))
            found.append((record is not None, bool(trace.model.passes), trace.model, record))
    if not found:
        return None, None
    # Of equals the first, which is the newest.
    *_, model, record = max(found, key=lambda one: (one[0] and one[1], one[0], one[1]))
    return model, record


class _Seen:
    """A tensor, and what a trace knows of it.

    Parameters
    ----------
    word : str
        What to call it.
    model : Model or None
        None where there is no trace that ran here.
    record : TensorRecord or None
        None where the trace did not meet the tensor.
    """

    def __init__(
        self, tensor: Tensor, word: str, model: Model | None, record: TensorRecord | None
    ) -> None:
        self.tensor, self.word = tensor, word
        self.model, self.record = model, record
        self.last = "last traced backward"
        """What the newest pass of a trace that has ended is: none knows what ran since."""

    def made(self) -> Place | None:
        """Return where the trace saw it being made."""
        if self.model is None:
            return None
        place = None if self.record is None else made_at(self.model, self.record)
        made = self.model.session.made.get(tid_of(self.tensor)) if place is None else None
        return place if made is None or made.line is None else place_of(made)

    def origin(self) -> str:
        """Return that place in brackets; empty where there is none."""
        place = self.made()
        if place is None:
            return ""
        # An earlier trace took down no more than the statement, and the cell is another.
        where = f"line {place.line}" if place.source else f"line {place.line} of {place.label}"
        return f" ({where}: {place.source or place.statement})"

    # Without requires_grad -------------------------------------------------------

    def without_grad(self) -> str:
        """Say why it does not require grad."""
        tensor, word = self.tensor, self.word
        if not (tensor.is_floating_point() or tensor.is_complex()):
            dtype = str(tensor.dtype).removeprefix("torch.")
            kinds = "only floating point and complex tensors can have a gradient"
            return f"{word} is {dtype}{self.origin()}: {kinds}."
        cut = self._behind()
        if cut is not None and self.model is not None:
            switch = cut.switch(self.model)
            return (
                f"{word} was computed without grad: {told(cut, self._name(cut), switch)} "
                "No gradient comes through there."
            )
        frozen = self._frozen()
        if frozen:
            return frozen
        return (
            f"{word} does not require grad{self.origin()}. "
            "Call requires_grad_() on it before it is used."
        )

    def _behind(self) -> Cut | None:
        """Return what cut the graph behind it."""
        if self.model is None or self.record is None:
            return None
        found = first_cut(self.model, [self.record.tid])
        return None if found is None else found[0]

    def _name(self, cut: Cut) -> str:
        return word_for(self.model, cut.below) if self.model is not None else ""

    def _frozen(self) -> str:
        """Say that it was frozen, and where."""
        record, model = self.record, self.model
        at = None if record is None or model is None else froze(record, model)
        if at is not None:
            where = f"line {at.line}" if at.filename else f"line {at.line} of {at.label}"
            return (
                f"{self.word} was frozen at {where}: its requires_grad is False. "
                "Call requires_grad_(True) on it to have a gradient."
            )
        if isinstance(self.tensor, torch.nn.Parameter):
            return (
                f"{self.word} is a parameter that is frozen: its requires_grad is False. "
                "Call requires_grad_(True) on it to have a gradient."
            )
        return ""

    # Computed --------------------------------------------------------------------

    def of_non_leaf(self) -> str:
        """Say that it is no leaf, or why what it retains did not come."""
        tensor, word = self.tensor, self.word
        if tensor.retains_grad:
            return self._retained()
        node = autograd.grad_fn_of(tensor)
        made = f" by {node.name().rpartition('::')[2]}" if node is not None else ""
        leaf = self._copied_from()
        if leaf:
            return (
                f"{word} is a converted copy of `{leaf}`{self.origin()}, and not a leaf: the "
                f"gradient is in `{leaf}.grad`. Make the conversion first, then call "
                "requires_grad_()."
            )
        return (
            f"{word} is not a leaf: it was computed{made}{self._written() or self.origin()}, "
            "and backward "
            "keeps gradients of leaves only. Call retain_grad() on it before backward."
        )

    def _written(self) -> str:
        """Return the line of the newest write that gave it its node; empty where none did."""
        if self.model is None or self.record is None:
            return ""
        node = self.model.nodes.get(self.record.nid)
        earlier = self.model.session.bygone.nodes.get(self.record.nid)
        known = self.model.session.made.get(self.record.tid)
        if earlier is not None and earlier.run != self.model.run:
            place, at = earlier.place, None if known is None else (known.label, known.line)
            if at in (None, (place.label, place.line)):
                return ""
            return f" (line {place.line} of {place.label}: {place.statement or place.source})"
        if node is None or not node.made.what or node.made.ordinal <= self.record.made.ordinal:
            return ""
        place = self.model.place(node.made.site)
        return "" if place is None else f" (line {place.line}: {place.statement or place.source})"

    def _copied_from(self) -> str:
        """Return the name of the leaf that it is a mere conversion of."""
        if self.model is None or self.record is None:
            return ""
        meant = meant_leaf(self.model, self.record)
        if meant is None or not meant.converted:
            return ""
        return best_name(meant.leaf) if f"`{best_name(meant.leaf)}`" != self.word else ""

    def _retained(self) -> str:
        word, passes = self.word, self._done()
        at = None if self.record is None else self.record.retained
        if at is not None and passes and max(one.ordinal for one in passes) < at.ordinal:
            return (
                f"retain_grad() was called on {word} after the {self.last}; it keeps the "
                "gradients of later backward passes only. Call it before backward."
            )
        return (
            self._failed()
            or self._by_grad()
            or f"{word} retains its gradient, and no backward has reached it since."
        )

    # Leaves ----------------------------------------------------------------------

    def of_leaf(self) -> str:
        """Say why no gradient came, or where it went."""
        word, base = self.word, self.tensor._base
        if base is not None and base.requires_grad:
            return (
                f"{word} is a view taken under no_grad: it says that it is a leaf and requires "
                "grad, but backward fills neither its .grad nor that of its base. "
                "Take the view with grad mode on."
            )
        if self.model is None:
            return (
                f"{word} is a leaf that requires grad, and holds no gradient: nothing was traced "
                "that tells whether a backward has reached it."
            )
        cleared = self._cleared()
        if cleared:
            return cleared
        failed = self._failed()
        if failed:
            return failed
        if not self._done():
            return (
                self._by_grad()
                or self._earlier()
                or (
                    f"{word} is a leaf that requires grad, but backward has not run yet in "
                    "this trace."
                )
            )
        return self._unreached(self.model)

    def _done(self) -> list[Pass]:
        """Return the calls of ``backward`` that came to their end."""
        passes = [] if self.model is None else self.model.passes
        return [p for p in passes if p.finished and not p.failed and p.what == "backward"]

    def _failed(self) -> str:
        """Say that the newest backward raised."""
        if self.model is None or not self.model.passes or not self.model.passes[-1].failed:
            return ""
        line = self.model.line(self.model.passes[-1].site)
        where = "" if line is None else f" at line {line}"
        return f"The {self.last}{where} raised before it could fill {self.word}.grad."

    def _by_grad(self) -> str:
        """Say that gradients were asked for with ``autograd.grad`` alone."""
        passes = [] if self.model is None else self.model.passes
        done = [one for one in passes if one.finished and not one.failed]
        if self.model is None or not done or any(one.what == "backward" for one in done):
            return ""
        line = self.model.line(done[-1].site)
        where = "" if line is None else f" (line {line})"
        return (
            f"Gradients were computed with autograd.grad{where}, which returns them and fills no "
            f".grad. Use what it returns, or call backward()."
        )

    def _cleared(self) -> str:
        """Say that ``.grad`` was there, and was cleared after the last backward."""
        record, model = self.record, self.model
        if record is None or model is None or record.cleared is None:
            return ""
        passes = self._done()
        if not passes or any(one.ordinal > record.cleared.ordinal for one in model.passes):
            return ""
        line = model.line(record.cleared.site)
        at = "" if line is None else f" at line {line}"
        how = "cleared by zero_grad()" if record.cleared.what == "zero_grad" else "set to None"
        return f"{self.word}.grad was {how}{at}, after the {self.last}. Read it before that line."

    def _earlier(self) -> str:
        """Say what an earlier trace knew of its gradient."""
        if self.model is None:
            return ""
        kept = self.model.session.gradients.get(tid_of(self.tensor))
        if kept is None:
            return ""
        if kept.passes:
            where = "" if kept.line is None else f" (line {kept.line} of {kept.label})"
            return f"A backward{where} reached {self.word}; its .grad was cleared since."
        if kept.cleared is None or kept.cleared[1] is None:
            return ""
        label, line, _ = kept.cleared
        return (
            f"{self.word}.grad was cleared at line {line} of {label}, and no backward came since."
        )

    def _unreached(self, model: Model) -> str:
        """Say where the path from a leaf to the loss ends."""
        word, newest = self.word, self._done()[-1]
        line = model.line(newest.site)
        where = "" if line is None else f" (line {line})"
        roots = [tid for one in newest_passes(model) if one.what == "backward" for tid in one.roots]
        loss = next((name for tid in roots if (name := model.name_of(tid))), "")
        whole = f"`{loss}`" if loss else "its root"
        start = f"The {self.last}{where} did not reach {word}: "
        record = self.record
        if record is None:
            return f"{start}{whole} was not computed from it."
        cut, used = path_of(model, record, roots)
        if cut is not None:
            return start + told(cut, word_for(model, cut.below), cut.switch(model))
        made = made_at(model, record)
        if made is not None and record.made.ordinal > newest.finished and not record.registered:
            return f"{start}it was made after it, at line {made.line}."
        if record.index in {leaf.index for leaf in reach(model, roots).leaves}:
            return (
                f"The graph of the {self.last}{where} leads to {word}: its gradient was cleared "
                "since, or backward was called with inputs= that leave it out."
            )
        if used is not None:
            return (
                f"{start}it is used for `{word_for(model, used)}` only, which is no part of "
                f"{whole}."
            )
        others = named(reach(model, roots).leaves)
        rest = f" It was computed from {others}." if others else ""
        return f"{start}{whole} was not computed from it.{rest}"
