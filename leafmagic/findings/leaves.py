"""Which leaf was meant: questions that several rules ask of the model."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from leafmagic.cell import Place
from leafmagic.events import Accessed
from leafmagic.findings.former import former_update
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import Pass, TensorRecord, any_current, best_name

CONVERSIONS = frozenset(
    [
        "to",
        "double",
        "float",
        "half",
        "bfloat16",
        "cuda",
        "cpu",
        "type",
        "type_as",
        "clone",
        "contiguous",
        "view",
        "view_as",
        "reshape",
        "reshape_as",
        "flatten",
        "unflatten",
        "unsqueeze",
        "squeeze",
        "transpose",
        "permute",
        "t",
        "T",
        "mT",
        "H",
        "mH",
        "swapaxes",
        "swapdims",
        "movedim",
        "ravel",
        "expand",
        "expand_as",
        "broadcast_to",
        "requires_grad_",
        "pin_memory",
    ]
)
"""Ops that give the same values in another form: who calls one means the same tensor."""


@dataclass(frozen=True, slots=True)
class Meant:
    """The leaf that a reader of ``.grad`` had in mind.

    Attributes
    ----------
    leaf : TensorRecord
    converted : bool
        Whether only conversions lie between the leaf and the tensor.
    anonymous : bool
        Whether no variable ever pointed to the leaf.
    """

    leaf: TensorRecord
    converted: bool
    anonymous: bool


def leaves_behind(model: Model, record: TensorRecord) -> list[TensorRecord]:
    """Return the leaves that require grad behind a tensor, nearest first."""
    above = model.ancestors(record.tid)
    found = [leaf for leaf in above if leaf.is_leaf and leaf.requires_grad]
    return found or _leaves_by_graph(model, record)


def _leaves_by_graph(model: Model, record: TensorRecord) -> list[TensorRecord]:
    found: list[TensorRecord] = []
    start = model.nodes.get(record.nid)
    queue = [] if start is None else [start]
    seen = {record.nid}
    for node in queue:
        if len(queue) > 400:
            break
        for to, _, _ in node.links:
            if isinstance(to, TensorRecord) and to.nid < 0:
                found.append(to)
                continue
            behind = model.nodes.get(to.nid)
            if behind is not None and behind.nid not in seen:
                seen.add(behind.nid)
                queue.append(behind)
    return found


def meant_leaf(model: Model, record: TensorRecord) -> Meant | None:
    """Find the leaf that a non-leaf hides: by conversions only, or made in its own line."""
    current, converted = record, True
    for _ in range(50):
        parents = [
            p
            for p in (model.tensors.get(tid) for tid in current.inputs)
            if p is not None and p.requires_grad
        ]
        if current.made.what not in CONVERSIONS or len(parents) != 1:
            break
        current = parents[0]
        if current.is_leaf:
            here = is_anonymous(current) and _made_inside(model, current, record)
            return Meant(current, True, here)
    if record.seen.base >= 0 and record.made.site == 0:
        base = model.tensors.get(record.seen.base)
        if base is not None and base.is_leaf and base.requires_grad:
            return Meant(base, True, is_anonymous(base))
    converted = False
    for leaf in leaves_behind(model, record):
        if is_anonymous(leaf) and _made_inside(model, leaf, record):
            return Meant(leaf, converted, True)
    return None


def _parameter_here(model: Model, leaf: TensorRecord, record: TensorRecord) -> bool:
    """Tell whether a leaf is the parameter that a line makes; torch does not show that."""
    place = model.place(record.made.site)
    made = leaf.seen.parameter and leaf.made.site == 0
    return made and place is not None and "Parameter(" in place.text


def is_anonymous(record: TensorRecord) -> bool:
    """Tell whether no variable and no module ever held a tensor."""
    return not record.names and not record.path


def _made_inside(model: Model, leaf: TensorRecord, record: TensorRecord) -> bool:
    """Tell whether a statement makes a leaf on its way to what it computes.

    A leaf without a name that another statement made is in a list, a set, a dict of dicts.
    A function that this statement calls may have made it.
    """
    if same_statement(model, leaf, record) or _parameter_here(model, leaf, record):
        return True
    made, place = made_at(model, leaf), made_at(model, record)
    if made is None or place is None or made.function in ("", "<module>", place.function):
        return False
    maker = re.escape(made.function.rpartition(".")[2])
    return re.search(rf"(?<!\w){maker}\(", place.statement or place.text) is not None


def is_lost(model: Model, leaf: TensorRecord, record: TensorRecord) -> bool:
    """Tell whether a computed tensor took the last name of a leaf that it comes from.

    Where the name went on to something else the leaf may be in a container.
    """
    if leaf.path or leaf.seen.parameter or any_current(leaf):
        return False
    heirs = {record.tid, *(above.tid for above in model.ancestors(record.tid))}
    for name in leaf.names:
        history = [tid for tid, _, _ in model.history.get((name.scope, name.name), [])]
        if any(a == leaf.tid and b in heirs for a, b in itertools.pairwise(history)):
            return True
    return False


def same_statement(model: Model, one: TensorRecord, other: TensorRecord) -> bool:
    """Tell whether two tensors were made by one statement."""
    a, b = model.place(one.made.site), model.place(other.made.site)
    if a is None or b is None or a.filename != b.filename:
        return False
    return bool(a.statement) and a.statement == b.statement and abs(a.line - b.line) < 30


def rebinding_of(
    model: Model, record: TensorRecord, scope: str, name: str
) -> tuple[TensorRecord, int | None] | None:
    """Return the leaf that a name pointed to before, and the line that rebound it.

    None unless the tensor was computed from that leaf.
    """
    history = model.history.get((scope, name), [])
    behind = {leaf.tid for leaf in leaves_behind(model, record)}
    for index in range(len(history) - 1, 0, -1):
        earlier = model.tensors.get(history[index - 1][0])
        if (
            earlier is not None
            and earlier.is_leaf
            and earlier.requires_grad
            and earlier.tid in behind
        ):
            return earlier, history[index][1]
    return None


def made_at(model: Model, record: TensorRecord) -> Place | None:
    """Return where a tensor was made."""
    return model.place(record.made.site)


def unfilled_read(event: Accessed, model: Model) -> tuple[TensorRecord, Place, str] | None:
    """Return the tensor of a read of ``.grad`` that is None for good, or None."""
    if event.what != "grad" or not event.by_user or event.is_leaf or event.retains_grad:
        return None
    place, record = model.place(event.site), model.tensor(event.tid)
    if place is None or record is None or place.compared_with_none or event.value != -1:
        return None
    return record, place, place.owner or best_name(record)


def classify_read(
    model: Model, record: TensorRecord, place: Place, variable: str
) -> tuple[str, Meant | None]:
    """Tell which kind of mistake a read of a non-leaf's ``.grad`` is.

    Returns
    -------
    kind : {"hidden_leaf", "leaf_rebound", "nonleaf_grad_read"}
    meant : Meant or None
        The leaf that has the gradient, where it is one in particular; None for a rebinding
        of an earlier run.
    """
    meant = meant_leaf(model, record)
    if meant is not None and (meant.anonymous or is_lost(model, meant.leaf, record)):
        return "hidden_leaf", meant
    before = rebinding_of(model, record, place.scope, variable)
    if before is not None:
        return "leaf_rebound", Meant(before[0], False, False)
    updated = own_update(model, record, place, variable)
    if updated is not None:
        return "leaf_rebound", Meant(updated, False, False)
    if former_update(model, record, place, variable) is not None:
        return "leaf_rebound", None
    return "nonleaf_grad_read", meant


def own_update(
    model: Model, record: TensorRecord, place: Place, variable: str
) -> TensorRecord | None:
    """Return the leaf that a tensor was computed from by the update that now reads it again.

    A helper such as ``return value - rate * value.grad`` is given its own result.
    """
    made = made_at(model, record)
    if made is None or (made.filename, made.line) != (place.filename, place.line):
        return None
    if variable not in made.operands:
        return None
    above = list(model.ancestors(record.tid, 60))
    read = {model.grad_values.get(grad.tid, -1) for grad in above if not grad.requires_grad}
    return next((r for r in above if r.tid in read and r.is_leaf and r.requires_grad), None)


def cut_behind(model: Model, record: TensorRecord) -> TensorRecord | None:
    """Return the nearest tensor without grad that was computed from one with grad."""
    for near in [record, *model.ancestors(record.tid)]:
        inputs = (model.tensor(tid) for tid in near.inputs)
        if not near.requires_grad and any(i is not None and i.requires_grad for i in inputs):
            return near
    return None


def is_through(model: Model, one: Pass, record: TensorRecord) -> bool:
    """Tell whether a backward pass came by a tensor."""
    node = model.nodes.get(record.nid)
    return node is not None and any(n.index == node.index for n in reach(model, one.roots).nodes)
