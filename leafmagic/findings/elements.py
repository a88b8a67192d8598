"""Updates of what a list or a dict holds: by a comprehension, or by the variable of a loop."""

from __future__ import annotations

import ast
import re

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes
from leafmagic.findings.leaves import made_at
from leafmagic.findings.texts import Text, text_at
from leafmagic.model import Model

Fix = tuple[str, tuple[Edit, ...]]
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

_NEAR = 60
_HEAD = "with torch.no_grad():"
_STEP = "    "
_CLEARED = re.compile(r"\.grad(\.zero_\(|\s*=\s*None)|zero_grad\(")


def updated_element(model: Model, tid: int) -> str:
    """Return what the code calls the leaf whose place in a container an update took, or ''.

    ``ps = [p - 0.1 * p.grad for p in ps]``, ``{k: v - 0.1 * v.grad for k, v in ps.items()}``
    and ``for i, w in enumerate(ws): ws[i] = w - 0.1 * w.grad``. The text says that the new
    tensor is put where the leaf came from, the flow of the gradient whose update it is.
    """
    new = model.tensor(tid) if model.grad_values else None
    place = None if new is None else made_at(model, new)
    if new is None or place is None or place.unpacked or len(place.targets) > 1:
        return ""
    target = place.targets[0] if place.targets else ""
    if target.isidentifier() or not (target or _is_in_comprehension(place)):
        return ""
    above = {record.tid: record for record in model.ancestors(new.tid, _NEAR)}
    grads = [record for record in above.values() if not record.requires_grad]
    olds = [model.tensor(model.grad_values.get(grad.tid, -1)) for grad in grads]
    if not any(o is not None and o.tid in above and o.is_leaf and o.requires_grad for o in olds):
        return ""
    if any(record.made.what == "sign" for record in above.values()):
        return ""
    text = text_at(place)
    words = [word for word in place.operands if word.isidentifier()]
    if target:
        return target if any(comes_from(text, place, word) for word in words) else ""
    comp = comprehension(text, place)
    statement = text.statement(place)
    if comp is None or not isinstance(statement, ast.Assign) or statement.value is not comp:
        return ""
    bound = {text.words(one) for one in statement.targets}
    loop = comp.generators[0]
    if not bound & _names(loop.iter):
        return ""
    return next((word for word in words if word in _names(loop.target)), "")


def _is_in_comprehension(place: Place) -> bool:
    # A statement is known by its first line.
    several = place.statement.rstrip().endswith(("[", "{", "(", ","))
    return several or any(" for " in words for words in (place.statement, place.text))


def comes_from(text: Text, place: Place, word: str) -> bool:
    """Tell whether a name stands for an element of what the statement puts a value into."""
    statement = text.statement(place)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Subscript):
        return False
    whole, container = text.words(target), text.words(target.value)
    for above in text.source.parents(statement):
        if not isinstance(above, ast.For):
            continue
        if word in _names(above.target) and container in _whole_words(text, above.iter):
            return True
        for node in text.source.within(above.lineno, statement.lineno - 1):
            if isinstance(node, ast.Assign) and text.words(node.value) == whole:
                return [text.words(one) for one in node.targets] == [word]
    return False


def comprehension(text: Text, place: Place) -> Comprehension | None:
    """Return the comprehension whose element, or value, is what is made at a place."""
    node = text.node(place)
    above = None if node is None else next(text.source.parents(node), None)
    if not isinstance(above, Comprehension):
        return None
    made = above.value if isinstance(above, ast.DictComp) else above.elt
    loop = above.generators[0]
    return above if made is node and len(above.generators) == 1 and not loop.ifs else None


def update(made: Place, variable: str, grad_enabled: bool, *, cleared: bool) -> Fix:
    """Rewrite a comprehension of updates as a loop that updates in place.

    Parameters
    ----------
    variable : str
        What the comprehension calls the weight.
    """
    text = text_at(made)
    comp, statement = comprehension(text, made), text.statement(made)
    node = text.node(made)
    if comp is None or statement is None or node is None:
        return "", ()
    loop = comp.generators[0]
    if variable not in _names(loop.target):
        return "", ()
    inner = [fixes.in_place_update(made, variable, grad_enabled=False)]
    if not cleared and f"{variable}.grad" in inner[0] and not _CLEARED.search(text.source.text):
        inner.append(f"{variable}.grad = None")
    lines = [f"for {text.words(loop.target)} in {text.words(loop.iter)}:"]
    lines += [_STEP + line for line in inner]
    if grad_enabled:
        lines = [_HEAD, *(_STEP + line for line in lines)]
    whole = getattr(statement, "value", None)
    if whole is not comp or not isinstance(statement, ast.Assign | ast.Return):
        return "\n".join(lines), ()
    held = _names(loop.iter)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if not (len(targets) == 1 and text.words(targets[0]) in held):
        # What the loop is over is what it was to give.
        if not isinstance(loop.iter, ast.Name) or not isinstance(comp, ast.ListComp):
            return "\n".join(lines), ()
        names = [text.words(one) for one in targets]
        lines.append(f"{' = '.join(names)} = {loop.iter.id}" if names else f"return {loop.iter.id}")
    return "\n".join(lines), fixes.replace_statement(made, "\n".join(lines))


def _whole_words(text: Text, node: ast.AST) -> set[str]:
    return {text.words(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)}


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
