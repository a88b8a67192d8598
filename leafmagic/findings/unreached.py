"""Leaves that a loss was not computed from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes, mends
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.ends import (
    Missed,
    bound_at,
    missed,
    named,
    path_of,
    unused_inputs,
    word_for,
)
from leafmagic.findings.homes import home_of
from leafmagic.findings.judging import AtTheEnd
from leafmagic.findings.leaves import made_at
from leafmagic.findings.reaching import Reaching, newest_passes, parents, reaching, values_behind
from leafmagic.findings.seeming import view_made_leaf
from leafmagic.findings.unmoved import Unmoved, unmoved
from leafmagic.looks import Raised, Wired
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name


@register
class NotUsed(AtTheEnd):
    """A leaf that was to be trained is not used for the loss.

    Its ``.grad`` was read and is None, or an optimizer steps and never finds one. Nothing
    computed from it goes into the loss: a layer that ``forward`` does not call, a tensor
    that was made anew, a term that was not added.

    Failing cell::

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
            def forward(self, x):
                return self.a(x)
        net = Net()
        net(torch.ones(1, 2)).sum().backward()
        print(net.b.weight.grad)       # None

    Fixed::

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
            def forward(self, x):
                return self.b(self.a(x))
        net = Net()
        net(torch.ones(1, 2)).sum().backward()
        print(net.b.weight.grad)

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html
    """

    kind = "unreached_param"
    code = "LM411"

    def judge(self, event: Wired, model: Model) -> Iterator[Finding]:
        """Judge the leaves that were missed, those of one part of a module together."""
        known = reaching(model)
        groups: dict[str, list[Missed]] = {}
        for one in missed(model):
            if one.cut is None and one.earlier is None and view_made_leaf(model, one.leaf) is None:
                groups.setdefault(_whole(one.leaf, known, model), []).append(one)
        for path, group in groups.items():
            first = next((one for one in group if one.asked is not None), group[0])
            held = known.held.get(first.leaf.tid)
            if first.asked is None and held is not None and path == held.root:
                other = unmoved(first, path, event, model)
                if other is not None:
                    yield self._told_unmoved(path, first, other)
                continue  # a whole module that has no part in this cell, such as another head
            yield self._told(path, group, first, model)

    def _told_unmoved(self, path: str, first: Missed, other: Unmoved) -> Finding:
        """Tell of an optimizer of another module than the one that is trained."""
        return self.finding(
            f"`{path}` gets no gradient: {other.why}",
            fix=other.mend.fix,
            edits=other.mend.edits,
            variable=path,
            cause=other.cause or first.stepped,
            symptom=None if first.stepped is None else first.stepped.line,
            record=first.leaf,
        )

    def _told(self, path: str, group: list[Missed], first: Missed, model: Model) -> Finding:
        leaves = [one.leaf for one in group]
        known, leaf = reaching(model), first.leaf
        variable = path or best_name(leaf) or word_for(model, leaf)
        cause, layer = _defined(known, path or best_name(leaf), first, model)
        verb = "gets" if len(leaves) == 1 else "get"
        names = named(leaves) or f"`{variable}`"
        why, fix = _why(first, variable, layer, model)
        at = first.asked or first.stepped
        in_module = bool(leaf.path) and leaf.registered
        return self.finding(
            f"{names} {verb} no gradient: {why}",
            fix=fix,
            variable=variable,
            cause=cause or at,
            symptom=None if at is None else at.line,
            record=leaf,
            # A layer that some loss does without, such as a pooler, is often no mistake.
            severity="info" if first.asked is None and in_module else "warning",
        )


def _why(one: Missed, variable: str, layer: str, model: Model) -> tuple[str, str]:
    """Say how a leaf was left out, and what to do."""
    passes = newest_passes(model)
    roots = [tid for known in passes for tid in known.roots]
    loss = next((name for tid in roots if (name := model.name_of(tid))), "")
    whole = f"`{loss}`" if loss else "the loss"
    newest = max((known.finished for known in passes), default=0)
    made = made_at(model, one.leaf)
    if one.used is not None:
        used = word_for(model, one.used)
        at = made_at(model, one.used)
        line = "" if at is None else f" (line {at.line})"
        term = used if used.isidentifier() else "what is computed from it"
        return (
            f"it is used for `{used}`{line} only, which is no part of {whole}.",
            f"add {term} to {loss or 'the loss'}, or leave it out of what is trained",
        )
    if made is not None and one.leaf.made.ordinal > newest and not one.leaf.registered:
        return (
            f"it was made at line {made.line}, after the backward pass.",
            f"make `{variable}` once, before the forward pass",
        )
    if layer:
        return (
            f"`{layer}` is not used on the way to {whole}.",
            f"use {layer} in forward, or remove it",
        )
    return (
        f"{whole} was not computed from it.",
        f"use {variable} for {loss or 'the loss'}, or leave it out",
    )


def _whole(leaf: TensorRecord, known: Reaching, model: Model) -> str:
    """Return the path of the largest part of a module, nothing of which was reached."""
    held = known.held.get(leaf.tid)
    if held is None:
        return ""
    reached = [
        one.path
        for one in known.everything
        if one.filled or ((r := model.tensor(one.tid)) is not None and known.is_reached(r))
    ]
    path, best = held.path, ""
    while "." in path:
        path = path.rpartition(".")[0]
        if any(name.startswith(f"{path}.") for name in reached):
            break
        best = path
    return best or held.path


def _defined(known: Reaching, path: str, one: Missed, model: Model) -> tuple[Place | None, str]:
    """Return where a layer or a leaf was made, and what its class calls it."""
    leaf = one.leaf
    found = home_of(known.modules, f"{path}.") if path else None
    if found is not None:
        home, attribute = found
        statement = home.assignment(attribute)
        if statement is not None:
            inside = path[len(home.path) + 1 :]
            spelt = re.sub(r"\.(\d+)", r"[\1]", f"self.{inside}")
            return home.source.place(statement), spelt
    if leaf.writes and leaf.writes[0].ordinal < known.began:
        place = model.place(leaf.writes[0].site)
        if place is not None:
            return place, ""
    return made_at(model, leaf) or bound_at(leaf, one.asked or one.stepped), ""


@register
class WhichIsUnused(Rule):
    """``autograd.grad`` is asked for a tensor that the output was not computed from.

    torch says that one of the differentiated tensors was not used in the graph. It may have
    been left out of the computation, or made from what was used, as a view or a copy.

    Failing cell::

        a, b = (torch.ones(1, requires_grad=True) for _ in range(2))
        loss = (a * 2).sum()
        torch.autograd.grad(loss, [a, b])

    Fixed::

        a, b = (torch.ones(1, requires_grad=True) for _ in range(2))
        loss = (a * b).sum()
        torch.autograd.grad(loss, [a, b])

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """

    kind = "unreached_param"
    code = "LM412"
    severity = "error"
    events = (Raised,)

    def check(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Look at what the refused call asked for."""
        place = model.place(event.site)
        for record, index in unused_inputs(event, model):
            cut, _ = path_of(model, record, event.inputs)
            if cut is None and place is not None:
                yield self._told(event, place, record, index, model)

    def _told(
        self, event: Raised, place: Place, record: TensorRecord, index: int, model: Model
    ) -> Finding:
        root = model.tensor(event.inputs[0])
        loss = best_name(root) if root is not None else ""
        whole = f"`{loss}`" if loss else "the output"
        name = best_name(record) or word_for(model, record)
        values = values_behind(model, event.inputs)
        source = next((r for r in parents(model, record) if r.index in values), None)
        edits: tuple[Edit, ...] = ()
        if source is not None:
            other = best_name(source) or "what it comes from"
            why = f"{whole} was computed from `{other}`, not from `{name}`, which was made from it"
            fix = f"ask for the gradient of {other}, or compute {loss or 'the output'} from {name}"
        else:
            why = f"{whole} was not computed from it"
            fix = f"{place.source[:-1].rstrip(', ')}, allow_unused=True)"
            edits = fixes.replace_expression(place, fix)
            if not place.source.endswith(")") or "\n" in place.source:
                fix, edits = f"use {name} for {loss or 'the output'}, or pass allow_unused=True", ()
        return self.finding(
            f"`{name}`, input {index + 1} of the call, has no gradient: {why}.",
            fix=fix,
            variable=name,
            cause=(None if root is None else made_at(model, root)) or place,
            symptom=place.line,
            record=record,
            edits=edits,
        )


@register
class CheckpointedWithoutInput(Rule):
    """Reentrant checkpointing of a block whose inputs do not require grad.

    ``checkpoint(..., use_reentrant=True)`` runs the block without a graph and makes one
    only if an *input* requires grad. The block's parameters do not count: they get no
    gradient, with no more than a warning.

    Failing cell::

        from torch.utils.checkpoint import checkpoint
        block = torch.nn.Linear(3, 3)
        batch = torch.rand(2, 3)
        out = checkpoint(block, batch, use_reentrant=True)

    Fixed::

        from torch.utils.checkpoint import checkpoint
        block = torch.nn.Linear(3, 3)
        batch = torch.rand(2, 3)
        out = checkpoint(block, batch, use_reentrant=False)

    References
    ----------
    https://docs.pytorch.org/docs/stable/checkpoint.html
    """

    kind = "unreached_param"
    code = "LM413"
    events = (Wired,)

    def check(self, _: Wired, model: Model) -> Iterator[Finding]:
        """Look for ops inside of such a call that were not recorded by autograd."""
        told: set[int] = set()
        for record in list(model.slots.records):
            site = record.made.site
            if record.grad_enabled or record.requires_grad or site in told:
                continue
            place = model.place(site)
            if place is None or not mends.is_reentrant(place):
                continue
            trained = [r for r in parents(model, record) if r.is_leaf and r.requires_grad]
            if trained:
                told.add(site)
                yield from self._told(place, record, trained, model)

    def _told(
        self, place: Place, record: TensorRecord, trained: list[TensorRecord], model: Model
    ) -> Iterator[Finding]:
        given = [r for r in parents(model, record) if not r.seen.parameter]
        if not given or any(r.requires_grad for r in given):
            return
        if mends.is_without_grad(place):
            return
        name = best_name(given[0]) or "the input"
        fix = place.source.replace("use_reentrant=True", "use_reentrant=False")
        yield self.finding(
            f"{named(trained) or 'the parameters of the block'} get no gradient here: "
            f"`{name}` does not require grad, and reentrant checkpointing goes by its inputs.",
            fix=fix,
            edits=fixes.replace_expression(place, fix),
            variable=name,
            cause=made_at(model, given[0]) or place,
            symptom=place.line,
            record=given[0],
        )
