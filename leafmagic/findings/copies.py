"""Copying and sending tensors that have a graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.fixes import chained, replace_expression
from leafmagic.findings.source import source_at
from leafmagic.findings.whence import whence
from leafmagic.looks import Raised
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name

_NORMS = ("weight_norm", "spectral_norm")


@register
class NonleafDeepcopy(Rule):
    """A copy is made of something that holds a computed tensor.

    A copy of a computed tensor would need a copy of its graph, so that torch refuses.
    Mostly it is a module that keeps an activation as an attribute, or one with the old
    ``weight_norm``, which keeps the computed weight.

    Failing cell::

        import copy
        net = torch.nn.Linear(2, 2)
        net.last = net(torch.ones(1, 2))
        target = copy.deepcopy(net)    # RuntimeError

    Fixed::

        import copy
        net = torch.nn.Linear(2, 2)
        net.last = net(torch.ones(1, 2)).detach()
        target = copy.deepcopy(net)

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/serialization.html
    """

    kind = "nonleaf_copy"
    code = "LM931"
    severity = "error"
    events = (Raised,)

    def check(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Look at copies that torch refuses."""
        if event.op != "deepcopy" or not event.text.startswith("Only Tensors created explicitly"):
            return
        record = model.tensor(event.inputs[0]) if event.inputs else None
        place = model.place(event.site)
        if record is None:
            return
        norm = _norm_behind(record, place, whence(model, record))
        if norm is not None:
            yield self._by_norm(event, model, record, *norm)
            return
        variable = _path_of(record) or (best_name(record) or _copied(place))
        made = whence(model, record)
        stored = _stored_at(made or place, record, variable)
        yield self.finding(
            f"`{variable or 'something in it'}` is a computed tensor with a graph; deepcopy takes "
            "leaves only.",
            fix=_detached(made, stored, variable, place),
            variable=variable,
            cause=stored[0] if stored is not None else made or place,
            symptom=None if place is None else place.line,
            record=record,
            edits=_edits(stored),
        )

    def _by_norm(
        self, event: Raised, model: Model, record: TensorRecord, norm: str, call: Place | None
    ) -> Finding:
        place = model.place(event.site)
        variable = _path_of(record) or best_name(record) or f"{_copied(place)}'s weight"
        new = f"torch.nn.utils.parametrizations.{norm}"
        old = call.source.partition("(")[0] if call is not None else ""
        edits: tuple[Edit, ...] = ()
        if call is not None and old == f"torch.nn.utils.{norm}":
            edits = replace_expression(call, new + call.source.removeprefix(old))
        return self.finding(
            f"the old `{norm}` keeps `{variable}` as a computed tensor; deepcopy takes leaves "
            "only.",
            fix=new,
            variable=variable,
            cause=call or whence(model, record) or place,
            symptom=None if place is None else place.line,
            record=record,
            edits=edits,
        )


def _path_of(record: TensorRecord) -> str:
    """Return where a module or container keeps a tensor, as code spells it."""
    head, *parts = record.path.split(".")
    return head + "".join(f"[{p}]" if p.isdigit() else f".{p}" for p in parts)


def _norm_behind(record: TensorRecord, *places: Place | None) -> tuple[str, Place | None] | None:
    """Return the old reparametrization that computed a tensor, and where it was asked for."""
    last = _path_of(record).rpartition(".")[2]
    by_op = "weight_norm" if record.made.what == "_weight_norm" else ""
    if not by_op and last != "weight":
        return None
    for place in places:
        source = None if place is None else source_at(place)
        for node in source.nodes if source is not None else ():
            called = source.called(node) if source is not None else ""
            if called not in _NORMS or by_op not in ("", called):
                continue
            path = source.in_torch(node.func) if source and isinstance(node, ast.Call) else ""
            if source is not None and "parametrizations" not in path:
                return called, source.place(node)
    return (by_op, None) if by_op else None


def _copied(place: Place | None) -> str:
    words = place.operands if place is not None and place.kind == "Call" else ()
    return next((word for word in reversed(words) if word.isidentifier()), "")


def _stored_at(
    place: Place | None, record: TensorRecord, variable: str
) -> tuple[Place, str, str] | None:
    """Return where the text stores a tensor as an attribute: place, target and value."""
    attribute = variable.rpartition(".")[2] if "." in variable else ""
    if place is None or not attribute.isidentifier():
        return None
    source = source_at(place)
    for node in source.nodes:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        if isinstance(node.value, ast.Constant):
            continue
        target = node.targets[0]
        if isinstance(target, ast.Attribute) and target.attr == attribute:
            found = source.place(node.value)
            if record.made.site == 0 or found.label == place.label:
                return found, source.words(target), source.words(node.value)
    return None


def _detached(
    made: Place | None,
    stored: tuple[Place, str, str] | None,
    variable: str,
    place: Place | None,
) -> str:
    if stored is not None and "\n" not in stored[2]:
        return f"{stored[1]} = {chained(stored[2], 'detach()')}"
    if made is not None and len(made.targets) == 1 and variable == made.targets[0]:
        if place is not None and variable in place.operands:
            # The tensor itself is copied, and may be needed with its graph.
            return f"{variable}.detach().clone()"
        if "…" not in made.source and "\n" not in made.source:
            return f"{variable} = {chained(made.source, 'detach()')}"
    return f"store {variable or 'it'} detached, or copy it apart"


def _edits(stored: tuple[Place, str, str] | None) -> tuple[Edit, ...]:
    if stored is None:
        return ()
    return replace_expression(stored[0], chained(stored[2], "detach()"))


@register
class NonleafSent(Rule):
    """A computed tensor that requires grad is sent to another process.

    A graph belongs to its process: the other one could not run backward through it. So
    torch refuses to send the tensor, and sends one without a graph.

    Failing cell::

        import torch.multiprocessing
        from multiprocessing.reduction import ForkingPickler
        q_val = torch.ones(2, requires_grad=True) * 2
        sent = ForkingPickler.dumps(q_val)     # as a queue does: RuntimeError

    Fixed::

        import torch.multiprocessing
        from multiprocessing.reduction import ForkingPickler
        q_val = torch.ones(2, requires_grad=True) * 2
        sent = ForkingPickler.dumps(q_val.detach().tolist())

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/multiprocessing.html
    """

    kind = "nonleaf_copy"
    code = "LM932"
    severity = "error"
    events = (Raised,)

    def check(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Look at tensors that torch refuses to send."""
        if not event.text.startswith("Cowardly refusing to serialize non-leaf tensor"):
            return
        place = model.place(event.site)
        record = model.tensor(event.inputs[0]) if event.inputs else None
        variable = "" if record is None else best_name(record)
        made = None if record is None else whence(model, record)
        code = _sent_detached(place, variable)
        words = f"send {variable}.detach()" if variable else "send it detached"
        yield self.finding(
            f"`{variable or 'what is sent'}` is a computed tensor that requires grad; a graph "
            "cannot go to another process.",
            fix=code or words,
            variable=variable or None,
            cause=made or place,
            symptom=None if place is None else place.line,
            record=record,
            edits=replace_expression(place, code) if place is not None and code else (),
        )


def _sent_detached(place: Place | None, variable: str) -> str:
    if place is not None and variable.isidentifier() and "…" not in place.source:
        given = [word for word in place.operands if word == variable]
        if given and place.kind == "Call" and place.source.count(variable) == 1:
            return place.source.replace(variable, f"{variable}.detach()")
    return ""
