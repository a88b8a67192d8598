"""What to say of a cut in the graph, and the code that mends it."""

from __future__ import annotations

import ast
from typing import TypeGuard

from leafmagic.cell import Place
from leafmagic.findings.ends import Cut
from leafmagic.findings.fixes import keyword
from leafmagic.findings.flows import Switch, names_in, switched_off
from leafmagic.findings.reaching import texts_at
from leafmagic.findings.source import source_at
from leafmagic.findings.texts import text_at
from leafmagic.model import Model
from leafmagic.records import Pass, TensorRecord, best_name

_SOFT = {
    "round": "straight through",
    "floor": "straight through",
    "ceil": "straight through",
    "trunc": "straight through",
    "sign": "straight through",
}
_COPYING = (
    "tensor",
    "as_tensor",
    "asarray",
    "new_tensor",
    "from_numpy",
    "array",
    "Tensor",
    "float",
)
"""What makes a constant of a number, or of an array."""
_COMPARED = ("gt", "lt", "ge", "le", "eq", "ne", "greater", "less")


def told(cut: Cut, word: str, switch: Switch | None) -> str:
    """Say what cuts the graph, and where."""
    call = call_of(cut.place)
    above = best_name(cut.above)
    whole = f"`{above}`" if above else "what comes before"
    line = "" if cut.place is None else f" at line {cut.place.line}"
    if cut.how == "no_grad":
        return _told_mode(cut, word, switch, line)
    if cut.how == "data":
        return f"`{call}`{line} gives the values of {whole} without its history."
    if cut.how == "detach":
        return f"`{call}`{line} cuts the graph on the way to the loss."
    if cut.how == "number":
        return f"`{call}`{line} makes a plain number, which autograd does not follow."
    if cut.how == "copy":
        return f"`{call}`{line} copies the numbers of {whole}; the copy has no history."
    op = cut.below.made.what
    if cut.how == "integer" and op in ("round", "sign", "floor", "ceil", "trunc"):
        return f"`{call}`{line} has no gradient but zero."
    if cut.how == "integer":
        kind = "true and false" if "bool" in str(cut.below.seen.dtype) else "integers"
        return (
            f"`{word}` cannot carry a gradient: `{call}`{line} gives {kind}, and turning them "
            "into floats does not bring the graph back."
        )
    return f"`{call}`{line} gives a result that is not connected to {whole}."


def _told_mode(cut: Cut, word: str, switch: Switch | None, line: str) -> str:
    """Say that grad mode was off, and what switched it."""
    if switch is None and _is_sample(cut):
        return f"`{call_of(cut.place)}`{line} draws a sample, and the draw has no graph."
    if switch is None:
        return f"`{word}` was computed{line} with grad mode off."
    where = f"line {switch.place.line}"
    if switch.how == "decorator":
        return f"`{word}` was computed under `@{switch.words}` ({where}), which records no graph."
    return f"`{word}` was computed{line} under the `{switch.words}` of {where}, without a graph."


def call_of(place: Place | None) -> str:
    """Return the source of an op, if it is short."""
    if place is None:
        return "an op"
    source = " ".join(place.source.split())
    if not source:
        return place.statement[:60]
    if len(source) > 60 and place.attribute:
        return f".{place.attribute}()" if place.kind == "Call" else f".{place.attribute}"
    return source if len(source) <= 60 else source[:59] + "…"


def mended(cut: Cut, word: str, switch: Switch | None, symptom: Place | None = None) -> str:
    """Return the code without the cut, or what to do.

    Parameters
    ----------
    symptom : Place, optional
        Of the backward pass that was refused.
    """
    place = cut.place
    if place is None:
        return "compute with the tensor itself"
    if cut.how == "no_grad":
        return _with_grad(cut, place, word, switch, symptom)
    if cut.how in ("detach", "data") and place.owner and place.attribute in ("detach", "data"):
        if ".numpy()" in place.text:
            return f"compute line {place.line} with torch, on `{place.owner}` itself, not in NumPy"
        return _replaced(place, place.owner)
    if cut.how == "copy":
        return joined(cut, word)
    if cut.how == "number":
        return _as_it_is(place)
    if cut.how == "integer":
        return _softened(cut, place)
    return f"compute `{word}` with ops that have a gradient, in place of line {place.line}"


def _as_it_is(place: Place) -> str:
    """Mend a line that takes a number: code if no copy is made of it there, else words."""
    tensor = _tensor_of(place)
    text = text_at(place)
    node, statement = text.node(place), text.statement(place)
    source = _parsed(place.source)
    if not tensor or statement is None or source is None:
        return f"compute with `{tensor or place.source}` as a tensor all the way"
    value = getattr(statement, "value", None)
    around = [] if node is None else text.source.parents(node)
    copying = [above for above in around if _is_copying(above)]
    whole = isinstance(statement, ast.Assign) and len(statement.targets) == 1 and value is not None
    target = ast.unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    for call in copying:
        if len(call.args) != 1:
            continue
        if call is value and whole and ast.dump(call.args[0]) == ast.dump(source):
            if target == tensor:
                return f"delete this line: `{tensor}` is a tensor already, with its graph"
            return f"{target} = {tensor}  # the tensor itself, without a copy"
    if copying:
        return (
            f"keep `{tensor}` a tensor: no number of it, and no `{ast.unparse(copying[0].func)}`; "
            "torch.stack or reshape give it another shape"
        )
    line = _replaced(place, tensor)
    for other in source_at(place).nodes:
        if target and _is_copying(other) and target in names_in(other.args):
            made = ast.unparse(other.func)
            return f"keep the tensor, `{line}`, and use it as it is: `{made}` copies numbers"
    return f"{line}  # a tensor all the way"


def _is_copying(node: ast.AST) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute | ast.Name)
        and (node.func.id if isinstance(node.func, ast.Name) else node.func.attr) in _COPYING
    )


def _is_sample(cut: Cut) -> bool:
    """Tell whether a line draws from a distribution, which torch does without a graph."""
    place = cut.place
    return place is not None and not cut.below.direct and place.attribute == "sample"


def _with_grad(
    cut: Cut, place: Place, word: str, switch: Switch | None, symptom: Place | None
) -> str:
    if switch is None and _is_sample(cut):
        line = _replaced(place, place.source.replace(".sample(", ".rsample("))
        return f"{line}  # or use log_prob, where there is no rsample"
    if switch is None and cut.below.direct:
        return "torch.set_grad_enabled(True)  # it is off since an earlier cell, or in a caller"
    if switch is None:
        return f"put line {place.line} under `with torch.enable_grad()`"
    if switch.how == "decorator":
        return f"delete line {switch.place.line}, `@{switch.words}`"
    if switch.how == "call":
        return "torch.set_grad_enabled(True)  # before the forward pass"
    if switch.around:
        return (
            f"take line {place.line} out of `with {switch.words}`; to freeze parameters call "
            "requires_grad_(False) on them"
        )
    near = symptom is None or symptom.line == place.line
    statement = _whole(place) if near else ""
    if statement:
        return f"with torch.enable_grad(): {statement}"
    if symptom is not None and symptom.scope:
        around = symptom.function.rpartition(".")[2]
        return f"in `{around}`, compute `{word}` under `with torch.enable_grad()`"
    return f"call it outside of the `with` block of line {switch.place.line}"


def _whole(place: Place) -> str:
    """Return the statement of a line, if it is a simple one that stands on its own."""
    text = place.text.strip()
    if text.startswith("def ") and ":" in text:
        text = text.partition("):")[2].strip() if "):" in text else ""
    try:
        body = ast.parse(f"def f():\n with a: {text}").body
    except SyntaxError:
        return ""
    return text if body and text and place.end_line == place.line else ""


def _replaced(place: Place, by: str) -> str:
    """Return the line with another expression in place of one."""
    text = place.text.strip()
    if place.line != place.end_line or place.source not in text:
        return by
    node = _parsed(by)
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.IfExp) and text != place.source:
        by = by if by.startswith("(") else f"({by})"
    return text.replace(place.source, by, 1)


def _parsed(source: str) -> ast.expr | None:
    try:
        return ast.parse(source.strip(), mode="eval").body
    except SyntaxError:
        return None


def _tensor_of(place: Place) -> str:
    """Return the tensor whose number is taken: ``h.sum()`` of ``h.sum().item()``."""
    if place.attribute in ("item", "tolist", "numpy") and place.owner:
        owner = place.owner
        for tail in (".detach()", ".cpu()", ".data"):
            owner = owner.removesuffix(tail)
        return owner
    if place.kind == "Call" and len(place.operands) == 1:
        return place.operands[0]
    return ""


def joined(cut: Cut, word: str) -> str:
    """Rewrite a copy of tensors' values so that the result stays connected."""
    place = cut.place
    call = None if place is None else _parsed(place.source)
    if place is None or not isinstance(call, ast.Call) or not call.args:
        return f"{word} = torch.stack([...])  # of the tensors themselves"
    given = call.args[0]
    source = ast.get_source_segment(place.source.strip(), given) or ast.unparse(given)
    values = cut.below.inputs[cut.below.made.what == "new_tensor" :]
    several = len(values) > 1 or isinstance(given, ast.List | ast.Tuple | ast.ListComp)
    if isinstance(given, ast.List | ast.Tuple):
        new = _stacked(given)
    elif isinstance(given, ast.GeneratorExp):
        new = f"torch.stack(list{source})"
    elif several:
        new = f"torch.stack({source})"
    else:
        atom = isinstance(given, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        new = f"{source}.clone()" if atom else f"({source}).clone()"
    dtype = keyword(place, "dtype")
    if dtype:
        new = f"{new}.to({dtype})"
    if place.targets and not place.unpacked:
        return f"{place.targets[0]} = {new}"
    return new


def _stacked(given: ast.List | ast.Tuple) -> str:
    """Write a list of tensors and numbers as a stack, row by row."""
    parts = []
    for part in given.elts:
        if isinstance(part, ast.List | ast.Tuple):
            inner = ", ".join(map(_as_tensor, part.elts))
            parts.append(f"torch.stack([{inner}])")
        else:
            parts.append(_as_tensor(part))
    return f"torch.stack([{', '.join(parts)}])"


def _as_tensor(part: ast.expr) -> str:
    number = part.operand if isinstance(part, ast.UnaryOp) else part
    text = ast.unparse(part)
    return f"torch.tensor({text})" if isinstance(number, ast.Constant) else text


def kept(sink: Place, made: Place | None) -> str:
    """Rewrite a line that takes a number so that it keeps the tensor."""
    line = _replaced(sink, _tensor_of(sink) or sink.source)
    if made is None or made.line == sink.line:
        return line
    op = made.attribute or "torch.tensor"
    return f"{line}  # and at line {made.line} use it as it is, without `{op}`"


def _softened(cut: Cut, place: Place) -> str:
    op, call = cut.below.made.what, _parsed(place.source)
    if op in _SOFT:
        tensor = _operand(place)
        if tensor:
            return _replaced(place, f"({tensor} + ({place.source} - {tensor}).detach())")
    if op == "argmax" and isinstance(call, ast.Call):
        found = _soft_argmax(cut, place)
        if found:
            return found
    if op in _COMPARED and len(place.operands) == 2:
        left, right = place.operands
        return f"compare softly where it is trained: torch.sigmoid({left} - {right})"
    return (
        "replace it by something smooth, such as softmax weights; or let the gradient pass: "
        "soft + (hard - soft).detach()"
    )


def _operand(place: Place) -> str:
    words = [word for word in place.operands if word not in ("torch", "F")]
    return words[0] if words else ""


def _soft_argmax(cut: Cut, place: Place) -> str:
    """Return the mean index under softmax weights, where the last dimension is reduced."""
    tensor = _operand(place)
    shape = tuple(cut.above.seen.shape)
    words = place.operands[place.operands.index(tensor) + 1 :] if tensor else ()
    given = words[0] if words else ""
    if not tensor or not shape or given.lstrip("-").isdigit() is False:
        return ""
    dim = int(given)
    if dim % len(shape) != len(shape) - 1:
        return ""
    soft = f"({tensor}.softmax({dim}) * torch.arange({float(shape[-1]):g}.)).sum({dim})"
    statement = _parsed_statement(place.text)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        # What follows in the line turned the integers into floats.
        return f"{statement.targets[0].id} = {soft}"
    return soft


def _parsed_statement(text: str) -> ast.stmt | None:
    try:
        return ast.parse(text.strip()).body[0]
    except (SyntaxError, IndexError):
        return None


def is_reentrant(place: Place) -> bool:
    """Tell whether an op ran inside ``checkpoint(..., use_reentrant=True)``."""
    return "checkpoint(" in place.source and keyword(place, "use_reentrant") == "True"


def is_without_grad(place: Place) -> bool:
    """Tell whether the text around a line switches grad mode off."""
    switch = switched_off(texts_at(place), place)
    return switch is not None and switch.around


def _is_done(known: Pass) -> bool:
    return bool(known.finished) and not known.failed and not known.create_graph


def _given_by(record: TensorRecord, done: list[Pass], model: Model) -> tuple[Pass | None, str]:
    """Return the newest call of ``autograd.grad`` that gave a tensor its name, and that name."""
    lines = {(name.line, name.label): name.name for name in record.names}
    for known in reversed(done):
        at = model.place(known.site) if known.what == "grad" else None
        name = "" if at is None else lines.get((at.line, at.label), "")
        if name:
            return known, name
    return None, ""


def is_constant_gradient(record: TensorRecord, model: Model) -> bool:
    """Tell whether a tensor was computed with ``create_graph``, and has no graph even so."""
    done = [known for known in model.passes if known.create_graph and known.finished]
    return not record.requires_grad and _given_by(record, done, model)[0] is not None


def gradient_of(record: TensorRecord, model: Model) -> tuple[str, Place, str] | None:
    """Tell whether a tensor is a gradient without a graph: what, by which pass, and the fix."""
    done = [known for known in model.passes if _is_done(known)]
    leaf = model.tensor(model.grad_values.get(record.tid, -1))
    if leaf is not None:
        made = next((known for known in reversed(done) if known.what == "backward"), None)
        word = f"{best_name(leaf)}.grad"
    else:
        made, word = _given_by(record, done, model)
    place = None if made is None else model.place(made.site)
    if place is None or not place.source.endswith(")"):
        return None
    head = place.source[:-1].rstrip(", ")
    new = f"{head}{'' if head.endswith('(') else ', '}create_graph=True)"
    return word, place, _replaced(place, new)
