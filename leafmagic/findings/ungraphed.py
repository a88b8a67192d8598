"""What backward is called on though nothing behind it requires grad, gradients among them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from leafmagic.cell import Place
from leafmagic.findings import fixes
from leafmagic.findings.ends import named
from leafmagic.findings.frozen import froze, thawed
from leafmagic.findings.inline import Mend, put
from leafmagic.findings.leaves import made_at
from leafmagic.findings.texts import text_at
from leafmagic.model import Model
from leafmagic.records import Pass, TensorRecord, best_name


def _is_done(known: Pass) -> bool:
    return bool(known.finished) and not known.failed and not known.create_graph


def _given_by(record: TensorRecord, done: list[Pass], model: Model) -> tuple[Pass | None, str]:
    """Return the newest call of ``autograd.grad`` that gave a tensor its name, and that name."""
    lines = {(name.line, name.label): name.name for name in record.names}
    for known in reversed(done):
        at = model.place(known.site) if known.what == "grad" else None
        name = "" if at is None else lines.get((at.line, at.label), "")
        if at is not None and not name and at.scope:
            bound = _bound_by(at)
            name = next((n.name for n in record.names if n.scope and n.name in bound), "")
        if name:
            return known, name
    return None, ""


def _bound_by(place: Place) -> set[str]:
    """Return the names that a statement inside of a function binds."""
    statement = text_at(place).statement(place)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def _constant(record: TensorRecord, model: Model) -> tuple[Pass | None, str]:
    """Return the pass that was to give a tensor a graph, and gave it none; and its name."""
    done = [known for known in model.passes if known.create_graph and known.finished]
    if record.requires_grad:
        return None, ""
    leaf = model.tensor(model.grad_values.get(record.tid, -1))
    if leaf is not None:
        made = next((known for known in reversed(done) if known.what == "backward"), None)
        return made, f"{best_name(leaf)}.grad"
    return _given_by(record, done, model)


def gradient_of(record: TensorRecord, model: Model) -> tuple[str, Place, Mend] | None:
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
    return word, place, put(place, new)


class Ungraphed(NamedTuple):
    """Why a result has no graph, without anything that cuts it.

    Attributes
    ----------
    why, nothing : str
        Two halves of the message.
    mend : Mend
    name : str
    cause : Place
    record : TensorRecord
    line : int or None
        Of the cause, where that is known without its place.
    """

    why: str
    nothing: str
    mend: Mend
    name: str
    cause: Place
    record: TensorRecord
    line: int | None = None


def without_grad(behind: Sequence[TensorRecord], place: Place, model: Model) -> Ungraphed | None:
    """Say why a result has no graph: it is a gradient, or no leaf behind it requires grad.

    Parameters
    ----------
    behind : sequence of TensorRecord
        What it was computed from, itself first.
    place : Place
        Of the pass that was refused.
    """
    for record in behind:
        gradient = gradient_of(record, model)
        if gradient is not None:
            word, cause, mend = gradient
            why = (
                f"`{word}` is a gradient that was computed without `create_graph=True`: it has "
                "no graph of its own."
            )
            return Ungraphed(why, "nothing to go back through", mend, word, cause, record)
    own = any(node.seen.name.endswith("Backward") for node in model.nodes.values())
    for record in behind:
        made, word = _constant(record, model)
        at = None if made is None else model.place(made.site)
        if made is None or at is None:
            continue
        if own:
            return None  # The rules on custom functions know why its backward gave a constant.
        root = model.name_of(made.roots[0])
        what = f"`{root}`" if root else "what was differentiated"
        why = (
            f"`{word}` is a constant, even with `create_graph=True`: {what} is linear in what it "
            "was differentiated by."
        )
        advice = Mend("leave this out: the derivative of a constant is zero")
        return Ungraphed(why, "no graph, and nothing to go back to", advice, word, at, record)
    return _leaf_without_grad(behind, place, model)


def _frozen(leaf: TensorRecord, at: Place, off: list[TensorRecord], model: Model) -> Ungraphed:
    """Tell of leaves that one line froze."""
    name = best_name(leaf)
    inside = leaf.seen.parameter and leaf.path == name
    here = [r for r in off if froze(r, model) == at]
    line = f"line {at.line}" if at.filename else f"line {at.line} of {at.label}"
    return Ungraphed(
        f"nothing behind this result requires grad: {line} freezes {named(here)}.",
        "no graph to go back through",
        thawed(at, name.split(".", maxsplit=1)[0] if inside else name),
        name,
        at,
        leaf,
    )


def _leaf_without_grad(
    behind: Sequence[TensorRecord], place: Place, model: Model
) -> Ungraphed | None:
    leaves = [r for r in behind if not r.inputs and best_name(r)]
    parameters = [r for r in leaves if r.seen.parameter]
    off = [r for r in leaves if froze(r, model) is not None]
    leaf = next(iter(off or parameters or leaves), None)
    if leaf is None or leaf.requires_grad:
        return None
    at = froze(leaf, model)
    if at is not None:
        return _frozen(leaf, at, off, model)
    name, made = best_name(leaf), made_at(model, leaf)
    mend = Mend(f"{name}.requires_grad_()  # before line {place.line} computes with it")
    if parameters and "." in name:
        whole = name.split(".", maxsplit=1)[0]
        mend = Mend(f"{whole}.requires_grad_(True)  # before the forward pass")
    elif made is not None and made.targets == (name,) and not made.unpacked:
        mend = Mend(mend.fix, fixes.insert_after(made, f"{name}.requires_grad_()"))
    verb = "do" if len(parameters or leaves) > 1 else "does"
    return Ungraphed(
        f"nothing behind this result requires grad: {named(parameters or leaves)} {verb} not.",
        "no graph to go back through",
        mend,
        name,
        made or place,
        leaf,
        next((n.line for n in leaf.names if n.line is not None), None) if made is None else None,
    )
