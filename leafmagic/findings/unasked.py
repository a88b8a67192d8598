"""Leaves whose way to the loss is cut, though nothing asks for their gradient."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from leafmagic.events import Accessed, BackwardReturned, Stepped
from leafmagic.findings import mends
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.cuts import PathEnds
from leafmagic.findings.ends import Cut, Missed, Search, missed
from leafmagic.findings.lasting import since
from leafmagic.findings.phantoms import bases_of_phantoms
from leafmagic.findings.reaching import SINKS, newest_passes, reaching
from leafmagic.looks import Wired
from leafmagic.model import Model
from leafmagic.records import TensorRecord, any_current

_MOST = 20
"""So many leaves are followed, at most."""


@register
class NobodyAsks(Rule):
    """A leaf goes into the loss as values only, and nothing asks for its gradient.

    The leaf was made to require grad and has a name, a result of it gets into the loss, and
    on the way it is detached or turned into a number. No gradient is read and no optimizer
    misses one, so that nothing shows it. Where the leaf is not meant to be trained in this
    way, it need not require grad.

    Failing cell::

        w = torch.ones(2, requires_grad=True)
        v = torch.ones(2, requires_grad=True)
        scale = (w * 3).detach()
        (v * scale).sum().backward()
        print(v.grad)          # and w has none

    Fixed::

        w = torch.ones(2, requires_grad=True)
        v = torch.ones(2, requires_grad=True)
        scale = w * 3
        (v * scale).sum().backward()
        print(v.grad)

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    kind = "graph_cut"
    code = "LM405"
    severity = "info"
    events = (BackwardReturned, Accessed, Stepped, Wired)
    ops = SINKS

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Take down what happens; judge when all is known."""
        known = reaching(model)
        known.note(event, model)
        if not isinstance(event, Wired) or not known.began:
            return
        told = {one.leaf.index for one in missed(model)}
        leaves = [leaf for leaf in _unreached(model) if leaf.index not in told][:_MOST]
        if not leaves:
            return
        roots = [tid for one in newest_passes(model) for tid in one.roots]
        search, through = Search(model, known, roots), bases_of_phantoms(model, tuple(roots))
        rule, lines = PathEnds(), set[tuple[str, int]]()
        for leaf in leaves:
            cut, _ = search.follow(leaf)
            if cut is None or cut.place is None or leaf.tid in through or _is_meant(cut, search):
                continue
            here = cut.place.filename, cut.place.line
            if here in lines or cut.below.index in known.copies or since(cut, model) is not None:
                continue
            lines.add(here)
            one = Missed(leaf, None, "", None, cut, None)
            yield dataclasses.replace(
                rule.told([one], one, cut, model), code=self.code, severity=self.severity
            )


def _unreached(model: Model) -> Iterator[TensorRecord]:
    """Yield the leaves with a variable of their own that no pass has ever reached."""
    known = reaching(model)
    for record in model.slots.records:
        if not (record.is_leaf and record.requires_grad and any_current(record)):
            continue
        if record.registered or record.seen.base >= 0 or known.is_reached(record):
            continue  # Modules have parts that are frozen, or trained at another time.
        if known.was_updated(record) or record.tid in model.session.gradients:
            continue
        yield record


def _is_meant(cut: Cut, search: Search) -> bool:
    """Tell whether a cut is a style of its own.

    What was cut off may be made a leaf that is trained itself; a target without a graph may
    be computed of what is trained elsewhere.
    """
    if cut.how == "number":
        return False
    if cut.how == "other" or cut.place is None or mends.is_reentrant(cut.place):
        return True
    queue, seen = [cut.below], {cut.below.index}
    for record in queue:
        if record.is_leaf and record.requires_grad:
            continue
        if record.nid >= 0:
            if record.index in search.values:
                return False
            continue
        if any(map(search.number_gets_in, search.sinks.get(record.index, ()))):
            return False
        for child in search.children.get(record.index, ()):
            if child.index not in seen:
                seen.add(child.index)
                queue.append(child)
    return True
