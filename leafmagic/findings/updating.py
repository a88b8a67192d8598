"""Updates: which new tensor took the place of the leaf that it was computed from."""

from __future__ import annotations

import ast
import re

from leafmagic.cell import Place, is_module_word
from leafmagic.events import OpCalled
from leafmagic.findings.elements import updated_element
from leafmagic.findings.leaves import made_at
from leafmagic.findings.reaching import reaching
from leafmagic.findings.source import source_at
from leafmagic.findings.texts import text_at
from leafmagic.looks import Rebound
from leafmagic.model import Model
from leafmagic.records import TensorRecord

OUT_OF_PLACE = frozenset({"add", "sub", "mul", "div", "addcmul", "addcdiv", "lerp"})
"""Methods that make a new tensor, and have a twin that writes in place."""

_NEAR = 60


class ItemUpdates:
    """Remembers which tensors replaced a leaf in an item or attribute by its own update.

    Who holds what inside a container is not watched. But ``p['w'] = p['w'] - lr * p['w'].grad``
    says it: the old value or its gradient is read from where the new value goes. Later,
    in the next step, what the new value was computed from may be forgotten.

    Attributes
    ----------
    targets : dict
        From the tid of the new tensor to the target, as the source spells it.
    """

    ops = OUT_OF_PLACE | {"truediv", "rsub", "where", "clamp", "clip", "clone", "detach"}

    def __init__(self) -> None:
        self.targets: dict[int, str] = {}

    def note(self, event: OpCalled, model: Model) -> bool:
        """Look at an op; tell whether it is such an update."""
        tid = event.outputs[0] if event.outputs else -1
        target = updated_item(model, tid) or updated_element(model, tid)
        if target:
            self.targets[tid] = target
        return bool(target)


def updated_item(model: Model, tid: int) -> str:
    """Return the item or attribute whose leaf a tensor replaced by its own update, or ''."""
    new = model.tensor(tid)
    place = None if new is None else made_at(model, new)
    if new is None or place is None or place.unpacked or len(place.targets) != 1:
        return ""
    if place.targets[0].isidentifier():
        return ""
    above = {record.tid: record for record in model.ancestors(new.tid, _NEAR)}
    if any(record.made.what == "sign" for record in above.values()):
        return ""
    for grad in above.values():
        old = model.tensor(model.grad_values.get(grad.tid, -1))
        if old is None or old.tid not in above or not (old.is_leaf and old.requires_grad):
            continue
        # A gradient that itself requires grad is there to be differentiated further: the
        # update is a step of the computation.
        if not grad.requires_grad and (
            _read_from(model, grad, place) or old is _operand(model, new, place)
        ):
            return place.targets[0]
    return ""


def is_update(model: Model, event: Rebound) -> bool:
    """Tell whether a name went from a leaf to what its own gradient went into."""
    above = {record.tid: record for record in model.ancestors(event.new, _NEAR)}
    grads = [tid for tid in above if model.grad_values.get(tid) == event.old]
    # The sign of a gradient makes an adversarial example: data, not a weight.
    signed = any(record.made.what == "sign" for record in above.values())
    if event.old not in above or signed:
        return False
    return bool(grads) or _says_gradient(model, event)


def _says_gradient(model: Model, event: Rebound) -> bool:
    """Tell whether the text reads the gradient, by a way that is not followed.

    ``w = w - 0.1 * w.grad.data`` and ``torch.from_numpy(w.grad.numpy())``.
    """
    new = model.tensor(event.new)
    place = None if new is None else made_at(model, new)
    if place is None or place.targets != (event.name,):
        return False
    text = text_at(place)
    statement = text.statement(place)
    words = "" if statement is None else text.words(statement)
    said = re.escape(event.name) + r"\.grad(?!\w)"
    if "sign(" in words or statement is None:
        return False
    if re.search(rf"(?<![\w.]){said}", words):
        return True
    for node in text.source.nodes:
        if not isinstance(node, ast.Assign) or not re.search(said, text.words(node.value)):
            continue
        named = {text.words(target) for target in node.targets}
        if named & _names(statement) - {event.name} and "sign(" not in text.words(node.value):
            return True
    return False


def _read_from(model: Model, grad: TensorRecord, place: Place) -> bool:
    """Tell whether a gradient was read from the target of an assignment."""
    read = model.place(grad.made.site)
    return (
        read is not None
        and (read.attribute, read.owner) == ("grad", place.targets[0])
        and (read.filename, read.function) == (place.filename, place.function)
    )


def _operand(model: Model, new: TensorRecord, place: Place) -> TensorRecord | None:
    """Return the operand that is spelt like the target, where it is the first or the last."""
    words = [word for word in place.operands if not is_module_word(word)]
    if not words or not new.inputs:
        return None
    for end in (0, -1):
        if words[end] == place.targets[0]:
            return model.tensor(new.inputs[end])
    return None


def replaced_leaf(model: Model, tid: int) -> str:
    """Return the name whose trained leaf a tensor without grad took the place of, or ''.

    ``a = a - 0.1 * g`` under ``no_grad``, where ``g`` is what ``autograd.grad`` gave, or
    ``a = a.clamp(0, 1)``. Known by the text: that a name was rebound is often seen only when
    its loop is over.
    """
    new = model.tensor(tid)
    place = None if new is None else made_at(model, new)
    if new is None or place is None or new.requires_grad:
        return ""
    target = place.targets[0] if len(place.targets) == 1 else _element(place)
    if place.unpacked or not target:
        return ""
    # ``w = w.data - 0.1 * w.grad``: it is the gradient that shows whose update this is.
    for above in model.ancestors(new.tid, _NEAR) if place.targets else ():
        old = model.tensor(model.grad_values.get(above.tid, -1))
        if old is not None and old.is_leaf and _is_called(old, target, place.scope):
            return target
    if new.grad_enabled:
        return ""
    known = reaching(model)
    leaves = [r for r in model.ancestors(new.tid, _NEAR) if r.is_leaf and r.requires_grad]
    for old in leaves:
        # Where other weights went in, too, it is a computation.
        if len(leaves) > 1 or old.seen.shape != new.seen.shape:
            return ""
        called = _is_called(old, target, place.scope) if place.targets else old.tid in new.inputs
        if called and known.is_reached(old):
            return target
    return ""


def _element(place: Place) -> str:
    """Return ``p`` for the value of ``ps = [p - g for p, g in zip(ps, gs)]``, or ''."""
    text = text_at(place)
    node, statement = text.node(place), text.statement(place)
    around = None if node is None else next(text.source.parents(node), None)
    if not isinstance(around, ast.ListComp) or not isinstance(statement, ast.Assign):
        return ""
    loop, bound = around.generators[0], {text.words(target) for target in statement.targets}
    if statement.value is not around or not bound & _names(loop.iter):
        return ""
    word = place.operands[0] if place.operands else ""
    return word if word in _names(loop.target) else ""


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _is_called(record: TensorRecord, word: str, scope: str) -> bool:
    """Tell whether a tensor has, or had, a name in a function or in the cell."""
    names = {name.name for name in record.names if name.scope in ("", scope)}
    return word in names or record.hint == word


def is_second_name(model: Model, new: TensorRecord, variable: str) -> bool:
    """Tell whether an update took only a second name of a leaf, which keeps its own.

    ``best = w`` and then ``best = best - 0.1 * w.grad``: what is trained is ``w``, still.
    An argument or the variable of a loop is the only name that its code has for the leaf.
    """
    place = made_at(model, new)
    if place is None or place.targets != (variable,) or not variable.isidentifier():
        return False
    if variable in _arguments(place):
        return False
    owners = _read_in(place)
    # An argument that nothing was computed from has no name that is known, but this.
    sure = len(owners) == 1
    if variable in owners or not owners:
        owners, sure = _assigned_to(place, variable), False
    others = [owner for owner in owners if owner.isidentifier() and owner != variable]
    for above in model.ancestors(new.tid, _NEAR) if others else ():
        old = model.tensor(model.grad_values.get(above.tid, -1))
        if old is not None and old.is_leaf:
            since = _bound(old, variable, place.scope)
            return any(
                (sure or _is_called(old, other, place.scope))
                and _bound(old, other, place.scope) <= since
                for other in others
            )
    return False


def lost_in_a_loop(model: Model, tid: int) -> str:
    """Return the variable of a loop that an update took, and that nothing reads after it, or ''.

    ``for p in (w, b): p = p - 0.1 * p.grad`` changes neither ``w`` nor ``b``.
    """
    new = model.tensor(tid)
    place = None if new is None else made_at(model, new)
    if new is None or place is None or place.unpacked or len(place.targets) != 1:
        return ""
    old, (target,) = _operand(model, new, place), place.targets
    if old is None or not (old.is_leaf and old.requires_grad) or not target.isidentifier():
        return ""
    grads = [above.tid for above in model.ancestors(new.tid, _NEAR) if not above.requires_grad]
    if not any(model.grad_values.get(grad) == old.tid for grad in grads):
        return ""
    text = text_at(place)
    statement = text.statement(place)
    above = () if statement is None else text.source.parents(statement)
    loop = next((node for node in above if isinstance(node, ast.For)), None)
    if statement is None or loop is None or target not in _names(loop.target):
        return ""
    last = statement.end_lineno or statement.lineno
    later = text.source.within(last + 1, loop.end_lineno or last)
    read = {node.id for node in later if isinstance(node, ast.Name)}
    shared = len(text.row(statement).statements) > 1
    return "" if shared or target in read else target


def _arguments(place: Place) -> set[str]:
    """Return the names of the arguments of the function around a place."""
    node = text_at(place).node(place)
    around = None if node is None else source_at(place).function(node)
    return (
        set()
        if around is None
        else {part.arg for part in ast.walk(around.args) if isinstance(part, ast.arg)}
    )


def _read_in(place: Place) -> list[str]:
    """Return whose gradients the statement reads that a place is in."""
    text = text_at(place)
    statement = text.statement(place)
    nodes = [] if statement is None else ast.walk(statement)
    return [text.words(n.value) for n in nodes if isinstance(n, ast.Attribute) and n.attr == "grad"]


def _assigned_to(place: Place, variable: str) -> list[str]:
    """Return the names that the function around a place assigns to a variable as they are."""
    source = source_at(place)
    node = text_at(place).node(place)
    around = None if node is None else source.function(node)
    found: list[str] = []
    for other in source.nodes:
        if not isinstance(other, ast.Assign) or not isinstance(other.value, ast.Name):
            continue
        targets = [target.id for target in other.targets if isinstance(target, ast.Name)]
        if variable in targets and source.function(other) is around:
            found.append(other.value.id)
    return found


def _bound(record: TensorRecord, word: str, scope: str) -> int:
    """Return when a tensor got a name first; 0 where it is not known."""
    found = [name.ordinal for name in record.names if (name.scope, name.name) == (scope, word)]
    return min(found, default=0)
