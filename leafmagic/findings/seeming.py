"""Views taken with grad mode off, and made leaves of their own."""

from __future__ import annotations

from collections.abc import Iterator

from leafmagic.findings import restructure
from leafmagic.findings.base import Finding, register
from leafmagic.findings.ends import Missed, missed
from leafmagic.findings.judging import AtTheEnd
from leafmagic.findings.leaves import made_at
from leafmagic.findings.reaching import newest_passes, values_behind
from leafmagic.looks import Wired
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name


def view_made_leaf(model: Model, leaf: TensorRecord) -> TensorRecord | None:
    """Return a view of a leaf that a loss used in its place, being a leaf itself."""
    roots = [tid for one in newest_passes(model) for tid in one.roots]
    for record in values_behind(model, roots).values():
        if record.flagged and record.is_leaf and record.requires_grad:
            base = model.tensor(record.seen.base)
            if base is leaf and record is not leaf:
                return record
    return None


@register
class ViewMadeLeaf(AtTheEnd):
    """``requires_grad_()`` on a view that was taken under ``no_grad``.

    Such a view has no history. Told to require grad it becomes a leaf of its own: it
    shares the memory of the tensor that it was taken of, but a gradient that comes to it
    goes no further, and that tensor gets none.

    Failing cell::

        w = torch.nn.Parameter(torch.ones(4, 2))
        with torch.no_grad():
            head = w[:2]
        head.requires_grad_()
        head.sum().backward()
        print(w.grad)              # None

    Fixed::

        w = torch.nn.Parameter(torch.ones(4, 2))
        head = w[:2]
        head.sum().backward()
        print(w.grad)

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """

    kind = "grad_mode"
    code = "LM706"

    def judge(self, _: Wired, model: Model) -> Iterator[Finding]:
        """Judge the leaves that were missed."""
        for one in missed(model):
            view = view_made_leaf(model, one.leaf) if one.cut is None else None
            if view is not None:
                yield self._told(one, view, model)

    def _told(self, one: Missed, view: TensorRecord, model: Model) -> Finding:
        made, flag = made_at(model, view), model.place(view.flagged[-1].site)
        name, whole = best_name(view) or "the view", best_name(one.leaf) or "what it is a view of"
        where = "" if flag is None else f" (line {flag.line})"
        known = made is not None and made.targets == (name,)
        line = f"{name} = {made.source}" if known and made is not None else f"take `{name}`"
        at = one.asked or one.stepped
        return self.finding(
            f"`{name}` is a view of `{whole}` taken with grad mode off; requires_grad_(){where} "
            f"makes a leaf of its own of it: `{whole}` gets no gradient.",
            fix=f"{line}  # outside of torch.no_grad(), and without requires_grad_()",
            variable=name,
            cause=made or flag or at,
            symptom=None if at is None else at.line,
            record=view,
            edits=() if made is None else restructure.outside(made),
        )
