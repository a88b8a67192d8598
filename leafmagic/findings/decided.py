"""A loss that counts right answers: what to train on in its place."""

from __future__ import annotations

from leafmagic.findings.ends import Cut
from leafmagic.findings.flows import words_in
from leafmagic.findings.inline import Mend, put
from leafmagic.findings.leaves import made_at
from leafmagic.model import Model
from leafmagic.records import TensorRecord

_COMPARED = ("eq", "ne")
_CHOSEN = ("argmax", "max")
_DECIDED = ("gt", "lt", "ge", "le", "greater", "less")
_SCORES = ("softmax", "log_softmax", "sigmoid")
_ENTROPY = "torch.nn.functional.cross_entropy"


def instead(cut: Cut, path: list[TensorRecord], model: Model) -> Mend | None:
    """Return a loss of the scores for one of decisions; None for a loss of another kind.

    A smooth decision does not help where it is compared with the right answer: the
    comparison has no gradient, either.

    Parameters
    ----------
    path : list of TensorRecord
        From the cut's result to the root of the pass.
    """
    compared = next((step for step in path if step.made.what in _COMPARED), None)
    if cut.how != "integer" or compared is None:
        return None
    op = cut.below.made.what
    scores, place = _scores(cut), cut.place
    if compared is cut.below:
        at = made_at(model, compared)
        given = () if at is None else at.operands
        two = " and ".join(f"`{word}`" for word in given) if len(given) == 2 else "the two"
        return Mend(
            f"compute the loss from the distance of {two}, such as their mse_loss: whether "
            "they are equal has no gradient"
        )
    if op in _CHOSEN and scores:
        loss = _cross_entropy(cut, scores, compared, path, model)
        if loss is not None:
            return loss
    what = f"`{scores}`" if scores else "the scores"
    line = "" if place is None else f" of line {place.line}"
    if op in _DECIDED:
        which = "binary_cross_entropy (of logits: binary_cross_entropy_with_logits)"
    else:
        which = "cross_entropy of its logits"
    return Mend(f"compute the loss from {what}{line}, not from the decisions: {which}")


def _scores(cut: Cut) -> str:
    """Return the source of what a decision was made from."""
    given = () if cut.place is None else cut.place.operands
    return next((word for word in given if word not in ("torch", "F")), "")


def _cross_entropy(
    cut: Cut, scores: str, compared: TensorRecord, path: list[TensorRecord], model: Model
) -> Mend | None:
    """Write the loss as cross entropy, where shapes and names are such that it can stand there."""
    place, root = cut.place, made_at(model, path[-1])
    at = made_at(model, compared)
    if place is None or root is None or at is None or len(at.operands) != 2:
        return None
    if len({(one.filename, one.function) for one in (place, at, root)}) > 1:
        return None
    if cut.above.made.what in _SCORES or not _are_classes(cut, compared, model):
        return None
    own = {name for step in path if (made := made_at(model, step)) for name in made.targets}
    mine = words_in(scores) | own
    chosen = mine | words_in(place.source)
    target = next((word for word in at.operands if not words_in(word) <= chosen), "")
    # What else the line weighs the loss by, or adds to it, would be lost.
    ops = {*_COMPARED, *_CHOSEN, "float", "double", "mean", "sum", "to", "dtype", "torch", "dim"}
    if not target or not words_in(root.source) <= chosen | words_in(target) | ops:
        return None
    note = "" if root.line == place.line else f"  # in line {root.line}"
    return put(root, f"{_ENTROPY}({scores}, {target})", note)


def _are_classes(cut: Cut, compared: TensorRecord, model: Model) -> bool:
    """Tell whether a decision is one among classes, and is compared with their numbers."""
    shape = tuple(cut.above.seen.shape)
    left = tuple(cut.below.seen.shape)
    if len(shape) < 2 or left != (shape[0], *shape[2:]):
        return False
    others = [model.tensor(tid) for tid in compared.inputs]
    return any(
        other is not None
        and other is not cut.below
        and not other.requires_grad
        and "int64" in str(other.seen.dtype)
        and tuple(other.seen.shape) == left
        for other in others
    )
