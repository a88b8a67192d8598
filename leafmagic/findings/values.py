"""Gradients that are no numbers, and gradients that a function takes away."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from leafmagic.breaks import GradientBroke
from leafmagic.cell import Place
from leafmagic.findings import fixes
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.pieces import place_of
from leafmagic.model import Model
from leafmagic.records import NodeRecord, TensorRecord, best_name

_WHY = {
    ("Sqrt", "zero"): "the derivative of sqrt at 0 is infinite",
    ("Sqrt", "negative"): "sqrt of a negative number is nan",
    ("Rsqrt", "zero"): "it divides by sqrt(0)",
    ("Rsqrt", "negative"): "rsqrt of a negative number is nan",
    ("Reciprocal", "zero"): "it divides by 0",
    ("Div", "zero"): "it divides by 0",
    ("Log", "zero"): "log(0) is -inf and its derivative 1/0",
    ("Log", "negative"): "log of a negative number is nan",
    ("Pow", "zero"): "the derivative of this power at 0 is infinite",
    ("Pow", "negative"): "a fractional power of a negative number is nan",
    ("Exp", "overflow"): "exp overflowed to inf",
    **dict.fromkeys(
        [(stem, "overflow") for stem in ("Pow", "Mul", "MseLoss", "Mm", "Addmm")],
        "what it makes of finite numbers is too large, and becomes inf",
    ),
    ("Acos", "edge"): "acos has a finite derivative only between -1 and 1",
    ("Asin", "edge"): "asin has a finite derivative only between -1 and 1",
    ("Atan2", "zero"): "atan2(0, 0) has no derivative",
    ("Std", "single"): "std of a single value is nan",
    ("Softmax", "empty"): "softmax of a row that is all -inf is nan",
    ("LogSoftmax", "empty"): "softmax of a row that is all -inf is nan",
}
"""By the start of a node's name and what it saved."""

_TINY = "1e-12"
_ROUNDING = frozenset({"round", "floor", "ceil", "trunc", "sign"})


@register
class DegenerateGrad(Rule):
    """A gradient that is nan or inf, or that a clamp or a step function takes away.

    Backward multiplies derivatives. Where one of them is infinite, a gradient of 0 that
    meets it becomes nan, and nan goes on to every leaf behind: masking the result does
    not help, the argument must be made safe before the function is called. Where a
    clamp saturates, the derivative is 0, and backward gives the value no gradient.

    Failing cell::

        d = torch.zeros(3, requires_grad=True)
        length = torch.sqrt((d * d).sum())   # the derivative of sqrt at 0 is infinite
        length.backward()
        print(d.grad)                        # nan

    Fixed::

        d = torch.zeros(3, requires_grad=True)
        length = torch.linalg.vector_norm(d) # knows what to do at 0
        length.backward()
        print(d.grad)

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html#gradients-for-non-differentiable-functions
    """

    kind = "degenerate_grad"
    code = "LM901"
    events = (GradientBroke,)

    def check(self, event: GradientBroke, model: Model) -> Iterator[Finding]:
        """Say which function broke the gradient, and whose."""
        node = model.nodes.get(event.nid)
        leaves = [record for record in map(model.tensor, event.leaves) if record is not None]
        if event.how in ("cut", "saturated", "step", "guarded"):
            yield from self._taken_away(event, model, node, leaves)
            return
        place = _place_of(model, node) or _earlier_place(model, event.nid)
        words = _words(event)
        names = _names(leaves)
        where = _where(place, model.place(event.site)) if place is not None else ""
        custom = event.name.endswith("Backward")
        large, root = _is_too_large(event), model.trends.roots.get(event.site)
        sound = 0 if root is None else root.steps
        if custom or not where:
            where = f"{event.name} of {where}" if where else event.name
        if event.how == "forward":
            why = words or "it overflows"
            what = f"Backward starts from nan or inf, because of {where}: {why}{_share(event)}."
            ends = f" {_listed(names)} lies behind it." if names else ""
            if large and sound:
                ends = f" It is so from step {sound + 1} on: the steps before may be too large."
        else:
            what = f"Backward makes {event.how} in {where}"
            what += f": {words}{_share(event)}." if words else "."
            masked = event.masked and event.how == "nan"
            ends = (
                " Masking the result does not help: the gradient comes back as 0, "
                "and 0 * inf is nan."
                if masked
                else ""
            )
            ends += f" It reaches {_listed(names)}." if names else ""
        safe = ""
        if place is not None and event.cause and not large:
            safe = _rewritten(place, _stem(event))
        yield self.finding(
            what + ends,
            fix=_SMALLER if large and sound else safe or _fix(event),
            edits=fixes.replace_expression(place, safe) if place is not None and safe else (),
            variable=names[0] if names else None,
            cause=place or model.place(event.site),
            symptom=model.line(event.site),
            record=leaves[0] if leaves else None,
            # What overflows in half precision is what a GradScaler steps over.
            severity="info" if event.half and event.how == "inf" else None,
        )

    def _taken_away(
        self,
        event: GradientBroke,
        model: Model,
        node: NodeRecord | None,
        leaves: list[TensorRecord],
    ) -> Iterator[Finding]:
        place = _place_of(model, node)
        if node is None or place is None:
            return
        made = model.tensor(node.outputs[0]) if node.outputs else None
        if event.how != "step" and made is not None and _is_quantised(model, made):
            return
        names = _names(leaves)
        result = best_name(made) if made is not None else ""
        result = result or (place.targets[0] if len(place.targets) == 1 else "")
        variable = result or (names[0] if names else "")
        # An activation of a net: its zeros come and go.
        layer = event.how == "saturated" and event.name.startswith("Hard")
        if event.how == "step":
            op = node.op or event.name
            message = (
                f"`{op}` at line {place.line} has derivative 0 everywhere, so that the "
                f"gradient of {_listed(names) or 'what is behind it'} is exactly 0."
            )
            fix = "use a smooth function, or pass the gradient straight through: "
            fix += "y = x + (f(x) - x).detach()"
        else:
            some = event.how == "cut" and event.bad < event.total
            which = f"{event.bad} of {event.total}" if some else "All"
            bounds = "the clamp" if "Clamp" in event.name else f"`{node.op or 'hardtanh'}`"
            whose = f" of `{variable}`" if variable else ""
            rest = f" of {_listed(names)}" if names else ""
            message = (
                f"{which} elements{whose} lie outside the bounds of {bounds} at line "
                f"{place.line}: backward gives these elements{rest} no gradient."
            )
            own = any(link.to in leaves for link in node.links)
            if not result and not own:
                message = (
                    f"All that goes into {bounds} at line {place.line} lies outside the bounds: "
                    f"backward gives {_listed(names) or 'what is behind it'} no gradient there."
                )
            fix = "clamp only what is shown, after backward; for a bounded value use "
            fix += "torch.sigmoid, or clamp the leaf itself after each step under torch.no_grad()"
            if layer:
                fix = "bring what goes in between the bounds, with a normalisation or smaller "
                fix += "weights; or use a function without flat ends, such as torch.tanh"
        yield self.finding(
            message,
            fix=fix,
            variable=variable or None,
            cause=place,
            symptom=model.line(event.site),
            record=made or leaves[0],
            severity="info" if layer or event.how == "guarded" else None,
        )


def _is_quantised(model: Model, clamped: TensorRecord) -> bool:
    """Tell whether what was clamped is rounded, and the gradient passed straight through.

    ``q + (q.round() - q).detach()``: the clamp is the range of a quantiser, and that what is
    beyond it gets no gradient is the usual choice.
    """
    for record in model.tensors.values():
        if record.nid < 0 or clamped.tid not in record.inputs:
            continue
        for tid in record.inputs:
            other = model.tensor(tid)
            if other is None or other.nid >= 0 or other.made.what not in ("detach", "detach_"):
                continue
            behind = list(model.ancestors(tid))
            if clamped in behind and any(one.made.what in _ROUNDING for one in behind):
                return True
    return False


def _place_of(model: Model, node: NodeRecord | None) -> Place | None:
    """Return where a node was made; None where only its graph was met."""
    if node is None or not (node.op or node.inputs or node.outputs or node.made.what):
        return None
    return model.place(node.made.site)


def _earlier_place(model: Model, nid: int) -> Place | None:
    """Return where an earlier trace saw a node made, if it is that of a tensor that lives."""
    for record in model.tensors.values():
        made = model.session.made.get(record.tid) if nid and record.nid == nid else None
        if made is not None and made.line is not None:
            return place_of(made)
    return None


def _where(place: Place, backward: Place | None) -> str:
    """Return what stands at a place, and its line, with the cell where that is another."""
    cell = f" of {place.label}" if backward is not None and backward.label != place.label else ""
    return f"`{place.source or place.statement}` (line {place.line}{cell})"


def _stem(event: GradientBroke) -> str:
    name = event.name.partition("Backward")[0]
    return "Log" if name in ("Log2", "Log10", "Log1p") else name


def _words(event: GradientBroke) -> str:
    stem = _stem(event)
    found = _WHY.get((stem, event.cause), "")
    return found or (_WHY[("Exp", "overflow")] if event.cause == "overflow" else "")


_SMALLER = "use a smaller learning rate, or clip gradients before the step"


def _is_too_large(event: GradientBroke) -> bool:
    """Tell whether a product or a power of finite numbers overflowed."""
    return event.how == "forward" and event.cause == "overflow" and _stem(event)[:3] != "Exp"


def _share(event: GradientBroke) -> str:
    if not event.number or event.total < 2:
        return ""
    return f" ({event.number} element{'' if event.number == 1 else 's'})"


def _names(leaves: list[TensorRecord]) -> list[str]:
    names = dict.fromkeys(best_name(leaf) for leaf in leaves)
    return [name for name in names if name]


def _listed(names: list[str]) -> str:
    shown = [f"`{name}`" for name in names[:3]]
    if len(names) > 3:
        shown.append(f"{len(names) - 3} more")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _fix(event: GradientBroke) -> str:
    """Return what to do, in words."""
    stem, cause = _stem(event), event.cause
    if cause == "factor":
        return "keep inf and nan out of both factors: mask the argument before the function"
    if cause == "empty":
        return "leave at least one entry of each row unmasked, or take such rows out first"
    if cause == "single":
        return "use std(correction=0), or more than one value"
    if event.name.endswith("Backward"):
        name = event.name.removesuffix("Backward")
        return f"look at {name}.backward: it made this of a finite gradient"
    if _is_too_large(event):
        return "scale what goes in, so that the result is not too large"
    if stem == "Div":
        return "keep the denominator away from 0; if it is a root, add a small number inside it"
    if event.half:
        return "use torch.amp.GradScaler or bfloat16, or compute this in float32"
    return "make the argument safe before the function is called, with clamp or torch.where"


_NAMES = {
    "Sqrt": ("sqrt", f"clamp(min={_TINY})"),
    "Rsqrt": ("rsqrt", f"clamp(min={_TINY})"),
    "Log": ("log", f"clamp(min={_TINY})"),
    "Pow": ("pow", f"clamp(min={_TINY})"),
    "Exp": ("exp", "clamp(max=80)"),
    "Acos": ("acos", "clamp(-1 + 1e-6, 1 - 1e-6)"),
    "Asin": ("asin", "clamp(-1 + 1e-6, 1 - 1e-6)"),
}
"""By the start of a node's name: the function, and what makes its argument safe."""


def _rewritten(place: Place, stem: str) -> str:
    """Rewrite one call or operator so that its argument is safe; empty where it is not one."""
    source = place.source.strip()
    try:
        node = ast.parse(source, mode="eval").body
    except SyntaxError:
        return ""
    if isinstance(node, ast.BinOp):
        return _operator_rewritten(source, node, stem)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _call_rewritten(source, node, node.func, stem)
    return ""


def _operator_rewritten(source: str, node: ast.BinOp, stem: str) -> str:
    left, right = _segment(source, node.left), _segment(source, node.right)
    if stem == "Pow" and isinstance(node.op, ast.Pow):
        return f"{fixes.chained(left, _NAMES[stem][1])} ** {right}"
    # What is computed may have a root in it, which masking its result does not help.
    plain = isinstance(node.right, ast.Name | ast.Attribute | ast.Subscript)
    if stem == "Div" and isinstance(node.op, ast.Div) and plain:
        return f"{left} / {right}.masked_fill({right} == 0, 1)"
    return ""


def _call_rewritten(source: str, node: ast.Call, func: ast.Attribute, stem: str) -> str:
    name, guard = _NAMES.get(stem, ("", ""))
    if not name or not func.attr.startswith(name):
        return ""
    owner = _segment(source, func.value)
    rest = [_segment(source, arg) for arg in node.args]
    rest += [f"{given.arg}={_segment(source, given.value)}" for given in node.keywords if given.arg]
    if owner in ("torch", "torch.special") and rest:
        return f"{owner}.{func.attr}({', '.join([fixes.chained(rest[0], guard), *rest[1:]])})"
    return f"{fixes.chained(owner, guard)}.{func.attr}({', '.join(rest)})"


def _segment(source: str, part: ast.expr) -> str:
    return ast.get_source_segment(source, part) or ast.unparse(part)
