"""Which leaf was meant: questions that several rules ask of the model."""

from __future__ import annotations

import ast
import itertools
import re
from dataclasses import dataclass

from leafmagic.cell import Place
from leafmagic.events import Accessed
from leafmagic.findings import flagging
from leafmagic.findings.reruns import former_update
from leafmagic.findings.texts import Text, text_at
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


def meant_leaf(model: Model, record: TensorRecord, read: Place | None = None) -> Meant | None:
    """Find the leaf that a non-leaf hides: by conversions only, or made in its own line.

    Parameters
    ----------
    read : Place, optional
        Where its gradient is read: only there a name that a function gave counts.
    """
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
            return Meant(current, True, here or stayed_behind(model, current, record, read))
    if record.seen.base >= 0 and record.made.site == 0:
        base = model.tensors.get(record.seen.base)
        if base is not None and base.is_leaf and base.requires_grad:
            return Meant(base, True, is_anonymous(base))
    converted = False
    behind = leaves_behind(model, record)
    for leaf in behind:
        if is_anonymous(leaf) and _made_inside(model, leaf, record):
            return Meant(leaf, converted, True)
    if len(behind) == 1 and stayed_behind(model, behind[0], record, read):
        return Meant(behind[0], converted, True)
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
    if leaf.made.site == 0 and _sets_flag(model.place(record.made.site)):
        return True
    made, place = made_at(model, leaf), made_at(model, record)
    if made is None or place is None or made.function in ("", "<module>", place.function):
        return False
    maker = re.escape(made.function.rpartition(".")[2])
    return re.search(rf"(?<!\w){maker}\(", place.statement or place.text) is not None


def _sets_flag(place: Place | None) -> bool:
    """Tell whether an expression lets what it makes itself require grad.

    Where torch does not show what makes it, as with ``from_numpy`` and ``Variable``.
    """
    if place is None or not flagging.bare(place.source)[1]:
        return False
    for node in ast.walk(ast.parse(f"({place.source})")):
        if not isinstance(node, ast.Call):
            continue
        if any(given.arg == "requires_grad" for given in node.keywords):
            return True
        if isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_":
            return isinstance(node.func.value, ast.Call)
    return False


def stayed_behind(
    model: Model, leaf: TensorRecord, record: TensorRecord, read: Place | None
) -> bool:
    """Tell whether a leaf was a local variable of a function that gave away what it computed.

    The function does nothing else with it, and the gradient is read outside of it.
    """
    made, place = made_at(model, leaf), made_at(model, record)
    if made is None or place is None or read is None or leaf.path or leaf.seen.parameter:
        return False
    where = made.filename, made.function
    if made.function in ("", "<module>") or where != (place.filename, place.function):
        return False
    if where == (read.filename, read.function) or any(not name.scope for name in leaf.names):
        return False
    text = text_at(place)
    statement = text.statement(place)
    function = None if statement is None else text.source.function(statement)
    if statement is None or function is None:
        return False
    inside = {id(node) for node in ast.walk(statement)}
    names = {name.name for name in leaf.names}
    uses = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load)
    ]
    if not uses or not all(id(node) in inside for node in uses):
        return False
    return (
        place.returned
        or any(not word.isidentifier() for word in place.targets)
        or any(
            isinstance(part, ast.Name) and part.id in place.targets
            for node in ast.walk(function)
            if isinstance(node, ast.Return | ast.Yield)
            for part in (node.value, *getattr(node.value, "elts", ()))
        )
    )


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
    meant = meant_leaf(model, record, place)
    if meant is not None and (meant.anonymous or is_lost(model, meant.leaf, record)):
        return "hidden_leaf", meant
    before = rebinding_of(model, record, place.scope, variable)
    if before is not None and (
        takes_a_gradient(model, record, before[0]) or not _has_a_name(before[0])
    ):
        return "leaf_rebound", Meant(before[0], False, False)
    updated = own_update(model, record, place, variable)
    if updated is not None:
        return "leaf_rebound", Meant(updated, False, False)
    if former_update(model, record, place, variable) is not None:
        return "leaf_rebound", None
    return "nonleaf_grad_read", meant


def _has_a_name(leaf: TensorRecord) -> bool:
    return bool(leaf.path) or any_current(leaf)


def takes_a_gradient(model: Model, new: TensorRecord, old: TensorRecord) -> bool:
    """Tell whether a tensor that took the name of a leaf is its update, not computed on.

    An update is made of a gradient, or without a graph, or between two passes of a loop.
    """
    if not new.requires_grad:
        return True
    if any(above.tid in model.grad_values for above in model.ancestors(new.tid, 60)):
        return True
    made = made_at(model, new)
    text = None if made is None else text_at(made)
    statement = None if made is None or text is None else text.statement(made)
    if text is None or statement is None:
        return False
    for node in ast.walk(statement):
        word = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        if "grad" in word and word not in ("requires_grad_", "retain_grad"):
            return True
        if word and _is_asked(text, word):
            return True
    return new.seen.shape == old.seen.shape and _is_between_passes(text, statement)


def _is_asked(text: Text, word: str) -> bool:
    """Tell whether a name is that of what ``torch.autograd.grad`` returns."""
    for node in text.source.nodes:
        if isinstance(node, ast.Assign) and "grad(" in text.words(node.value):
            for target in node.targets:
                if any(isinstance(n, ast.Name) and n.id == word for n in ast.walk(target)):
                    return True
    return False


def _is_between_passes(text: Text, statement: ast.stmt) -> bool:
    """Tell whether a loop goes backward before a statement, and in no line after it."""
    for above in text.source.parents(statement):
        if isinstance(above, ast.For | ast.While):
            last = above.end_lineno or above.lineno
            inside = text.source.within(above.lineno, last)
            passes = [n for n in inside if isinstance(n, ast.Attribute) and n.attr == "backward"]
            if passes:
                return all(node.lineno < statement.lineno for node in passes)
    return False


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
