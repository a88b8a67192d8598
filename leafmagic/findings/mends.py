"""What to say of a cut in the graph, and the code that mends it."""

from __future__ import annotations

import ast
from typing import TypeGuard

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes, restructure
from leafmagic.findings.ends import Cut
from leafmagic.findings.fixes import keyword
from leafmagic.findings.flows import Switch, names_in, switched_off
from leafmagic.findings.inline import Mend, parsed, put, replaced
from leafmagic.findings.reaching import texts_at
from leafmagic.findings.source import source_at
from leafmagic.findings.texts import text_at
from leafmagic.records import best_name

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


def mended(cut: Cut, word: str, switch: Switch | None, symptom: Place | None = None) -> Mend:
    """Return the code without the cut, with its edits, or what to do.

    Parameters
    ----------
    symptom : Place, optional
        Of the backward pass that was refused.
    """
    place = cut.place
    if place is None:
        return Mend("compute with the tensor itself")
    if cut.how == "no_grad":
        return _with_grad(cut, place, word, switch, symptom)
    if cut.how in ("detach", "data") and place.owner and place.attribute in ("detach", "data"):
        if ".numpy()" in place.text:
            return Mend(
                f"compute line {place.line} with torch, on `{place.owner}` itself, not in NumPy"
            )
        return put(place, place.owner)
    if cut.how == "copy":
        return joined(cut, word)
    if cut.how == "number":
        return _as_it_is(place)
    if cut.how == "integer":
        return _softened(cut, place)
    return Mend(f"compute `{word}` with ops that have a gradient, in place of line {place.line}")


def _as_it_is(place: Place) -> Mend:
    """Mend a line that takes a number: code if no copy is made of it there, else words."""
    tensor = _tensor_of(place)
    text = text_at(place)
    node, statement = text.node(place), text.statement(place)
    source = parsed(place.source)
    if not tensor or statement is None or source is None:
        return Mend(f"compute with `{tensor or place.source}` as a tensor all the way")
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
                return Mend(
                    f"delete this line: `{tensor}` is a tensor already, with its graph",
                    fixes.remove_statement(place),
                )
            line = f"{target} = {tensor}"
            return Mend(
                f"{line}  # the tensor itself, without a copy",
                fixes.replace_statement(place, line),
            )
    if copying:
        return Mend(
            f"keep `{tensor}` a tensor: no number of it, and no `{ast.unparse(copying[0].func)}`; "
            "torch.stack or reshape give it another shape"
        )
    line = replaced(place, tensor)
    for other in source_at(place).nodes:
        if target and _is_copying(other) and target in names_in(other.args):
            made = ast.unparse(other.func)
            return Mend(f"keep the tensor, `{line}`, and use it as it is: `{made}` copies numbers")
    return put(place, tensor, "  # a tensor all the way")


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
) -> Mend:
    if switch is None and _is_sample(cut):
        new = place.source.replace(".sample(", ".rsample(")
        return put(place, new, "  # or use log_prob, where there is no rsample")
    if switch is None and cut.below.direct:
        return Mend(
            "torch.set_grad_enabled(True)  # it is off since an earlier cell, or in a caller"
        )
    if switch is None:
        return Mend(
            f"put line {place.line} under `with torch.enable_grad()`",
            fixes.wrap_statement(place, "with torch.enable_grad():"),
        )
    if switch.how == "decorator":
        return Mend(
            f"delete line {switch.place.line}, `@{switch.words}`",
            restructure.undecorated(switch.place),
        )
    if switch.how == "call":
        return Mend("torch.set_grad_enabled(True)  # before the forward pass")
    if switch.around:
        return Mend(
            f"take line {place.line} out of `with {switch.words}`; to freeze parameters call "
            "requires_grad_(False) on them",
            restructure.taken_out(place, switch.place),
        )
    near = symptom is None or symptom.line == place.line
    statement = _whole(place) if near else ""
    if statement:
        return Mend(
            f"with torch.enable_grad(): {statement}",
            fixes.wrap_statement(place, "with torch.enable_grad():"),
        )
    if symptom is not None and symptom.scope:
        around = symptom.function.rpartition(".")[2]
        return Mend(f"in `{around}`, compute `{word}` under `with torch.enable_grad()`")
    return Mend(f"call it outside of the `with` block of line {switch.place.line}")


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


def joined(cut: Cut, word: str) -> Mend:
    """Rewrite a copy of tensors' values so that the result stays connected."""
    place = cut.place
    call = None if place is None else parsed(place.source)
    if place is None or not isinstance(call, ast.Call) or not call.args:
        return Mend(f"{word} = torch.stack([...])  # of the tensors themselves")
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
        new = fixes.chained(source, "clone()")
    dtype = keyword(place, "dtype")
    if dtype:
        new = f"{new}.to({dtype})"
    edits = fixes.replace_expression(place, new)
    if place.targets and not place.unpacked:
        return Mend(f"{place.targets[0]} = {new}", edits)
    return Mend(new, edits)


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


def kept(sink: Place, made: Place | None) -> Mend:
    """Rewrite a line that takes a number so that it keeps the tensor."""
    if made is not None and made.line == sink.line:
        return _as_it_is(sink)
    mend = put(sink, _tensor_of(sink) or sink.source)
    if made is None:
        return mend
    op = made.attribute or "torch.tensor"
    copy = parsed(made.source)
    edits: tuple[Edit, ...] = ()
    if isinstance(copy, ast.Call) and len(copy.args) == 1 and sink.attribute != "numpy":
        inner = copy.args[0]
        if isinstance(inner, ast.Name | ast.Attribute | ast.BinOp):
            edits = fixes.together(mend.edits, put(made, ast.unparse(inner)).edits)
    line = f"{mend.fix}  # and at line {made.line} use it as it is, without `{op}`"
    return Mend(line, edits)


def _softened(cut: Cut, place: Place) -> Mend:
    op, call = cut.below.made.what, parsed(place.source)
    if op in _SOFT:
        tensor = _operand(place)
        if tensor:
            return put(place, f"{tensor} + ({place.source} - {tensor}).detach()")
    if op == "argmax" and isinstance(call, ast.Call):
        found = _soft_argmax(cut, place)
        if found is not None:
            return found
    if op in _COMPARED and len(place.operands) == 2:
        left, right = place.operands
        return Mend(f"compare softly where it is trained: torch.sigmoid({left} - {right})")
    return Mend(
        "replace it by something smooth, such as softmax weights; or let the gradient pass: "
        "soft + (hard - soft).detach()"
    )


def _operand(place: Place) -> str:
    words = [word for word in place.operands if word not in ("torch", "F")]
    return words[0] if words else ""


def _soft_argmax(cut: Cut, place: Place) -> Mend | None:
    """Return the mean index under softmax weights, where the last dimension is reduced."""
    tensor = _operand(place)
    shape = tuple(cut.above.seen.shape)
    words = place.operands[place.operands.index(tensor) + 1 :] if tensor else ()
    given = words[0] if words else ""
    if not tensor or not shape or given.lstrip("-").isdigit() is False:
        return None
    dim = int(given)
    if dim % len(shape) != len(shape) - 1:
        return None
    soft = f"({tensor}.softmax({dim}) * torch.arange({float(shape[-1]):g}.)).sum({dim})"
    statement = _parsed_statement(place.text)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        # What follows in the line turned the integers into floats.
        line = f"{statement.targets[0].id} = {soft}"
        return Mend(line, fixes.replace_statement(place, line))
    return Mend(soft, fixes.replace_expression(place, soft))


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
