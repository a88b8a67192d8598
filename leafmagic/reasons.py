"""The answer to: why is this tensor's ``.grad`` None."""

from __future__ import annotations

import torch
from torch import Tensor

from leafmagic import autograd
from leafmagic.build import state_of
from leafmagic.cell import Place
from leafmagic.ledger import tid_of
from leafmagic.recording import Trace
from leafmagic.records import Pass, TensorRecord
from leafmagic.tracing import Tracer


def why(tensor: Tensor, trace: Trace | None = None, name: str = "") -> str:
    """Say in a sentence or two why a tensor's ``.grad`` is None, and what to do.

    Parameters
    ----------
    tensor : Tensor
    trace : Trace, optional
        Where to look up what happened; the newest trace if left out.
    name : str, optional
        What to call the tensor.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If it is not a tensor.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"why takes a tensor, not {type(tensor).__name__}")
    word = f"`{name}`" if name else "this tensor"
    with torch._C.DisableTorchFunction():
        if autograd.can_be_read(tensor) and tensor.grad is not None:
            return f"{word}.grad is not None: it holds a gradient of shape {_shape(tensor)}."
        if not tensor.requires_grad:
            return _without_grad(tensor, trace, word)
        if not tensor.is_leaf:
            return _of_non_leaf(tensor, trace, word)
        return _of_leaf(tensor, trace, word)


def _shape(tensor: Tensor) -> str:
    return str(list(tensor.shape))


def _tracer(trace: Trace | None) -> Tracer | None:
    return trace if isinstance(trace, Tracer) else None


def _record(tracer: Tracer, tensor: Tensor) -> TensorRecord | None:
    tracer.drain()
    return tracer.model.tensor(tid_of(tensor))


def _made_at(tracer: Tracer, tensor: Tensor) -> Place | None:
    record = _record(tracer, tensor)
    return None if record is None else tracer.sites.place(record.made.site)


def _state(tracer: Tracer, tensor: Tensor) -> str:
    record = _record(tracer, tensor)
    return "" if record is None else state_of(tracer.model, record)


def _finished_passes(tracer: Tracer) -> list[Pass]:
    tracer.drain()
    passes = tracer.model.passes
    return [p for p in passes if p.finished and not p.failed and p.what == "backward"]


def _retained_late(tracer: Tracer, tensor: Tensor) -> bool:
    record = _record(tracer, tensor)
    if record is None or record.retained is None:
        return False
    done = [known.ordinal for known in _finished_passes(tracer)]
    return bool(done) and max(done) < record.retained.ordinal


def _cleared_at(tracer: Tracer, tensor: Tensor) -> int | None:
    """Return the line that set ``.grad`` to None after the last backward."""
    record = _record(tracer, tensor)
    if record is None or record.cleared is None:
        return None
    if any(known.ordinal > record.cleared.ordinal for known in tracer.model.passes):
        return None
    return tracer.model.line(record.cleared.site)


def _origin(tensor: Tensor, trace: Trace | None) -> str:
    """Return where the trace saw a tensor being made."""
    tracer = _tracer(trace)
    place = None if tracer is None else _made_at(tracer, tensor)
    return "" if place is None else f" (line {place.line}: {place.source})"


def _without_grad(tensor: Tensor, trace: Trace | None, word: str) -> str:
    tracer = _tracer(trace)
    state = "" if tracer is None else _state(tracer, tensor)
    if state == "constant":
        return (
            f"{word} was computed without grad{_origin(tensor, trace)}: the graph was cut there, "
            "by no_grad, detach, a number or an integer, and no gradient comes through."
        )
    if not (tensor.is_floating_point() or tensor.is_complex()):
        dtype = str(tensor.dtype).removeprefix("torch.")
        return f"{word} is {dtype}: only floating point and complex tensors can have a gradient."
    return (
        f"{word} does not require grad{_origin(tensor, trace)}. "
        "Call requires_grad_() on it before it is used."
    )


def _of_non_leaf(tensor: Tensor, trace: Trace | None, word: str) -> str:
    node = autograd.grad_fn_of(tensor)
    made = f" by {node.name()}" if node is not None else ""
    if not tensor.retains_grad:
        return (
            f"{word} is not a leaf: it was computed{made}{_origin(tensor, trace)}, and backward "
            "keeps gradients of leaves only. Call retain_grad() on it before backward."
        )
    tracer = _tracer(trace)
    if tracer is not None and _retained_late(tracer, tensor):
        return (
            f"retain_grad() was called on {word} after the last backward; it keeps the gradients "
            "of later backward passes only. Call it before backward."
        )
    return f"{word} retains its gradient, and no backward has reached it since."


def _of_leaf(tensor: Tensor, trace: Trace | None, word: str) -> str:
    base = tensor._base
    if base is not None and base.requires_grad:
        return (
            f"{word} is a view taken under no_grad: it says that it is a leaf and requires grad, "
            "but backward fills neither its .grad nor that of its base. "
            "Take the view with grad mode on."
        )
    tracer = _tracer(trace)
    if tracer is None:
        return f"{word} is a leaf that requires grad; no backward has reached it yet."
    passes = _finished_passes(tracer)
    if not passes:
        return f"{word} is a leaf that requires grad, but backward has not run yet in this trace."
    cleared = _cleared_at(tracer, tensor)
    if cleared is not None:
        return f"{word}.grad was set to None at line {cleared}, after the last backward."
    line = tracer.model.line(passes[-1].site)
    where = f" (line {line})" if line is not None else ""
    return (
        f"The last backward{where} did not reach {word}: no path of the graph leads from its root "
        f"to {word}, or the gradient was cleared since. Look for detach, no_grad, .item() or a "
        f"new tensor with the same name on the way."
    )
