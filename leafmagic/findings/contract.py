"""What backward and optimizers ask for: a scalar, gradients that fit, real and dense ones."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from typing import Any

from leafmagic.cell import Place, is_module_word
from leafmagic.events import BackwardReturned, OpCalled
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.fixes import chained, replace_expression, replace_statement
from leafmagic.findings.whence import whence
from leafmagic.looks import Raised
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import TensorRecord, best_name

_MISMATCH = re.compile(r"grad_output\[(\d+)\] has a shape of torch.Size\(\[([\d, ]*)\]\)")
_SIZES = re.compile(r"size '\[([\d, ]*)\]' to a tensor of size '\[([\d, ]*)\]'")
_CASTS = frozenset({"to", "float", "double", "half", "bfloat16", "type", "type_as", "copy_"})
_MOST_PASSES = 20


@register
class NotScalar(Rule):
    """A backward pass begins at a vector, without a gradient to begin with.

    Backward multiplies a gradient with Jacobians, from the end to the leaves. For one
    real number the gradient to begin with is 1. For several numbers torch cannot know
    how much each of them counts, and refuses.

    Failing cell::

        w = torch.ones(3, requires_grad=True)
        y = w * 2
        y.backward()           # RuntimeError

    Fixed::

        w = torch.ones(3, requires_grad=True)
        y = w * 2
        y.sum().backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    kind = "backward_contract"
    code = "LM921"
    severity = "error"
    events = (Raised,)

    def check(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Look at what torch says when it refuses a root or its gradient."""
        if event.op not in ("backward", "grad"):
            return
        roots = [model.tensor(tid) for tid in event.inputs]
        if event.text.startswith("grad can be implicitly created only for"):
            for root in roots:
                if root is not None and (math.prod(root.seen.shape) != 1 or _is_complex(root)):
                    yield self._not_scalar(event, model, root)
                    return
        elif (said := _MISMATCH.search(event.text)) and int(said[1]) < len(roots):
            root = roots[int(said[1])]
            if root is not None:
                yield self._unfit(event, model, root, said[2])

    def _not_scalar(self, event: Raised, model: Model, root: TensorRecord) -> Finding:
        place = model.place(event.site)
        variable = _root_name(place, event, root)
        shape = list(root.seen.shape)
        code = _from_a_scalar(place, event, root, variable)
        start = chained(variable, _reduced(root)) if variable else "its sum"
        what = f"has shape {shape}" if math.prod(root.seen.shape) != 1 else "is complex"
        return self.finding(
            f"`{variable or 'the result'}` {what}; without a gradient to begin with, `{event.op}` "
            "takes one real number.",
            fix=code or f"begin at {start}, or give a gradient",
            variable=variable,
            cause=whence(model, root) or place,
            symptom=None if place is None else place.line,
            record=root,
            edits=replace_expression(place, code) if place is not None and code else (),
        )

    def _unfit(self, event: Raised, model: Model, root: TensorRecord, given: str) -> Finding:
        place = model.place(event.site)
        variable = _root_name(place, event, root)
        return self.finding(
            f"the gradient given to `{event.op}` has shape [{given}]; `{variable or 'the result'}` "
            f"has shape {list(root.seen.shape)}.",
            fix=f"give a gradient such as torch.ones_like({variable})"
            if variable
            else "give a gradient of the shape of the result",
            variable=variable,
            cause=place,
            record=root,
        )


def _is_complex(record: TensorRecord) -> bool:
    return str(record.seen.dtype).startswith("torch.complex")


def _root_name(place: Place | None, event: Raised, root: TensorRecord) -> str:
    if place is not None and event.direct and event.op == "backward" and place.owner:
        owner = place.owner if place.attribute == "backward" else ""
        if owner and owner != "autograd" and not is_module_word(owner):
            return owner
    return best_name(root)


def _from_a_scalar(place: Place | None, event: Raised, root: TensorRecord, variable: str) -> str:
    """Rewrite a backward pass to begin at a sum; empty where that is not known."""
    reduced = _reduced(root)
    if place is not None and variable and event.direct and "…" not in place.source:
        at = place.source.rfind(".backward(")
        if variable == place.owner and at >= 0:
            return chained(variable, reduced) + place.source[at:]
        name = rf"(?<![\w.]){re.escape(variable)}(?![\w.\[(])"
        if event.op == "grad" and variable.isidentifier():
            return re.sub(name, f"{variable}.{reduced}", place.source, count=1)
    return ""


def _reduced(root: TensorRecord) -> str:
    return "real.sum()" if _is_complex(root) else "sum()"


@register
class UnfitGrad(Rule):
    """Something is assigned to ``.grad`` that does not fit the tensor.

    A gradient has the shape, the dtype and the device of its tensor. Broadcasting does
    not help: an optimizer adds the two element by element.

    Failing cell::

        p = torch.nn.Parameter(torch.zeros(5))
        p.grad = torch.ones(1, 5)      # RuntimeError

    Fixed::

        p = torch.nn.Parameter(torch.zeros(5))
        p.grad = torch.ones(1, 5).reshape(p.shape)

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html
    """

    kind = "backward_contract"
    code = "LM922"
    severity = "error"
    events = (Raised,)

    def check(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Look at refused assignments."""
        record = model.tensor(event.inputs[0]) if event.op == "set_grad" and event.inputs else None
        if record is None:
            return
        place = model.place(event.site)
        spelt = place is not None and place.attribute == "grad"
        variable = place.owner if place is not None and spelt else best_name(record)
        told = _misfit(event, variable or "the tensor")
        if told is not None:
            message, repair = told
            code = _assigned(place, variable, repair)
            words = "assign a tensor with the shape, dtype and device of "
            yield self.finding(
                message,
                fix=code or words + (variable or "the parameter"),
                variable=variable,
                cause=place,
                record=record,
                edits=replace_statement(place, code) if place is not None and code else (),
            )


def _misfit(event: Raised, variable: str) -> tuple[str, str] | None:
    """Return what is wrong with a value assigned to ``.grad``, and the call that mends it."""
    sizes = _SIZES.search(event.text)
    if sizes is not None:
        given, wanted = (_numbers(text) for text in sizes.groups())
        told = f"the value has shape {given}, `{variable}` has {wanted}; a gradient has its shape."
        if math.prod(given) == math.prod(wanted):
            return told, f"reshape({variable}.shape)"
        if math.prod(given) > math.prod(wanted) and _broadcasts(wanted, given):
            return told, f"sum_to_size({variable}.shape)"
        if math.prod(given) < math.prod(wanted) and _broadcasts(given, wanted):
            return told, f"expand_as({variable}).clone()"
        return told, ""
    if "with dtype" in event.text:
        return f"the value has another dtype than `{variable}`.", f"to({variable}.dtype)"
    if "with device type" in event.text:
        return f"the value is on another device than `{variable}`.", f"to({variable}.device)"
    if event.error == "TypeError" and "assigned grad expected" in event.text:
        kind = event.text.rpartition("of type ")[2]
        return f"the value is a {kind}; `{variable}.grad` takes a tensor or None.", "tensor"
    return None


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part.strip()]


def _broadcasts(small: list[int], large: list[int]) -> bool:
    pairs = zip(reversed(small), reversed(large), strict=False)
    return len(small) <= len(large) and all(a in (1, b) for a, b in pairs)


def _assigned(place: Place | None, variable: str, repair: str) -> str:
    """Rewrite an assignment to ``.grad`` so that it fits; empty where that is not known."""
    if place is None or not repair:
        return ""
    try:
        statement = ast.parse(place.statement).body[0]
    except (SyntaxError, IndexError):
        return ""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target = ast.unparse(statement.targets[0])
    value = ast.get_source_segment(place.statement, statement.value) or ""
    if target != f"{variable}.grad":
        return ""
    if repair == "tensor":
        return f"{target} = torch.as_tensor({value}, dtype={variable}.dtype)"
    return f"{target} = {chained(value, repair)}"


@register
class ImaginaryDropped(Rule):
    """A complex tensor is cast to a real dtype on the way to a loss.

    The cast keeps the real part and drops the imaginary part, in backward as well: no
    gradient reaches it. torch warns, once per process. Where the real part is meant,
    ``.real`` says so.

    Failing cell::

        z = torch.tensor(1 + 2j, requires_grad=True)
        r = z.to(torch.float32)
        (r ** 2).backward()
        print(z.grad)          # 2 + 0j

    Fixed::

        z = torch.tensor(1 + 2j, requires_grad=True)
        r = z.abs()
        (r ** 2).backward()
        print(z.grad)

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html#autograd-for-complex-numbers
    """

    kind = "backward_contract"
    code = "LM923"
    ops = _CASTS
    events = (BackwardReturned,)

    def __init__(self) -> None:
        self._casts: dict[int, tuple[TensorRecord, str]] = {}
        self._passes = 0

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Note the casts; tell of those that a backward pass goes through."""
        if isinstance(event, OpCalled):
            self._note(event, model)
        elif self._casts and not event.failed and self._passes < _MOST_PASSES:
            self._passes += 1
            roots = next((p.roots for p in reversed(model.passes) if p.ordinal == event.began), ())
            reached = {node.nid for node in reach(model, roots).nodes}
            for index, (record, source) in list(self._casts.items()):
                if record.nid in reached:
                    del self._casts[index]
                    yield self._told(model, record, source, model.line(event.site))

    def _note(self, event: OpCalled, model: Model) -> None:
        made = model.tensor(event.outputs[0]) if event.outputs else None
        if made is None or not made.requires_grad or _is_complex(made):
            return
        for tid in event.inputs:
            given = model.tensor(tid)
            if given is not None and given.requires_grad and _is_complex(given):
                self._casts[made.index] = made, best_name(given)
                return

    def _told(
        self, model: Model, record: TensorRecord, source: str, symptom: int | None
    ) -> Finding:
        place = whence(model, record)
        if record.writes and (written := model.place(record.writes[-1].site)) is not None:
            place = written
        variable = best_name(record)
        whole = True
        given = source or (place.owner if place is not None else "") or "z"
        target = place.targets[0] if place is not None and len(place.targets) == 1 else ""
        if place is not None and place.attribute == "copy_" and len(place.operands) > 1:
            given = place.operands[1]
            code = f"{place.owner}.copy_({chained(given, 'abs()')})"
        elif target:
            code = f"{target} = {chained(given, 'abs()')}"
        else:
            code, whole = chained(given, "abs()"), False
        dtype = str(record.seen.dtype).removeprefix("torch.")
        return self.finding(
            f"`{variable or 'this'}` is `{given}` cast to {dtype}, which drops the imaginary part: "
            f"no gradient reaches the imaginary part of `{given}`.",
            fix=f"{code}  # or torch.view_as_real({given}); {chained(given, 'real')} if meant so",
            edits=replace_statement(place, code) if place is not None and whole else (),
            variable=variable or given,
            cause=place,
            symptom=symptom,
            record=record,
        )


@register
class SparseGradient(Rule):
    """An optimizer that needs dense gradients meets a sparse one.

    ``Embedding(..., sparse=True)`` gives a gradient with the rows that were looked up
    and nothing else. Few optimizers can use that: SGD, Adagrad and SparseAdam.

    Failing cell::

        emb = torch.nn.Embedding(4, 2, sparse=True)
        opt = torch.optim.Adam(emb.parameters())
        emb(torch.tensor([1])).sum().backward()
        opt.step()             # RuntimeError

    Fixed::

        emb = torch.nn.Embedding(4, 2, sparse=True)
        opt = torch.optim.SparseAdam(emb.parameters())
        emb(torch.tensor([1])).sum().backward()
        opt.step()

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html
    """

    kind = "backward_contract"
    code = "LM924"
    severity = "error"
    events = (Raised,)

    def check(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Look at what optimizers say when they refuse."""
        if "not support sparse gradients" not in event.text:
            return
        place = model.place(event.site)
        records = [r for r in map(model.tensor, event.inputs) if r is not None]
        name = event.text.split()[0]
        for record in records[:3]:
            variable = best_name(record)
            cause = _made_sparse(model, record) or place
            dense = _dense(cause)
            other = "SparseAdam" if name.startswith("Adam") else "SGD"
            yield self.finding(
                f"the gradient of `{variable or 'a parameter'}` is sparse, and {name} needs dense "
                "ones.",
                fix=_bound(cause, dense)
                or f"use torch.optim.{other}, or sparse=False for {variable}",
                variable=variable,
                cause=cause,
                symptom=None if place is None else place.line,
                record=record,
                edits=replace_expression(cause, dense) if cause is not None and dense else (),
            )


def _made_sparse(model: Model, record: TensorRecord) -> Place | None:
    """Return where it was asked for: the call that looks rows up, or the module's own."""
    made = whence(model, record)
    if made is not None and "sparse" in made.source:
        return made
    uses = [n.made.site for n in model.slots.node_records if record.tid in n.inputs]
    places = [place for place in map(model.place, uses) if place is not None]
    return next((place for place in places if "sparse" in place.source), made)


def _dense(place: Place | None) -> str:
    if place is None or "…" in place.source:
        return ""
    dense = re.sub(r"\b(sparse|sparse_grad)\s*=\s*True\b", r"\1=False", place.source)
    return "" if dense == place.source else dense


def _bound(place: Place | None, code: str) -> str:
    named = place is not None and len(place.targets) == 1 and bool(code)
    return f"{place.targets[0]} = {code}" if named and place is not None else code
