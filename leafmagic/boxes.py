"""What a box says of its node, in a few words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Level = Literal["names", "ops"]
NodeDict = Mapping[str, Any]

_LABEL_CHARS = 24
_SUB_CHARS = 36
_WIDEST_GRAD = "grad 1.23e-05"


@dataclass(frozen=True, slots=True)
class Box:
    """A node as one level shows it: `label` is printed big, `sub` small.

    `widest` is what `sub` may become without a change of the graph: a box whose numbers
    change while the cell runs must not move its neighbours.
    """

    id: str
    kind: str
    state: str
    label: str
    sub: str
    widest: str = ""


def short_op(node: NodeDict) -> str:
    """Return an operation as the source would call it: ``"mul"`` for MulBackward0."""
    if node.get("op"):
        return str(node["op"])
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", op_title(node)).lower()


def op_title(node: NodeDict) -> str:
    """Return an autograd node's name without its suffix: ``"Mul"`` for MulBackward0."""
    name = str(node.get("name") or node.get("op") or "op").rsplit("::", 1)[-1]
    return re.sub(r"Backwards?\d*$", "", name) or name


def shape_text(node: NodeDict) -> str:
    """Return ``"[3, 4]"``, ``"scalar"``, or nothing where the shape is unknown."""
    shape = node.get("shape")
    if shape is None:
        return ""
    return f"[{', '.join(map(str, shape))}]" if shape else "scalar"


def dtype_text(node: NodeDict) -> str:
    """Return the dtype without ``torch.``."""
    return str(node.get("dtype") or "").removeprefix("torch.")


def grad_text(node: NodeDict) -> str:
    """Return ``"grad 3.2e-01"``, ``"grad"`` where it was not measured, or nothing.

    Zeros that are left of a gradient are ``"grad cleared"``.
    """
    if not node.get("has_grad"):
        return ""
    norm = node.get("grad_norm")
    if norm == 0 and node.get("grad_state") == "cleared":
        return "grad cleared"
    return "grad" if norm is None else f"grad {float(norm):.3g}"


def version_text(node: NodeDict) -> str:
    """Return ``"version 1"`` where an in-place write is worth seeing, or nothing.

    A trainable leaf is written in place by every step of a training loop, which is right.
    """
    trained = node.get("is_leaf") and node.get("requires_grad")
    version = node.get("version") or 0
    return f"version {version}" if version and node.get("writes") and not trained else ""


def name_of(node: NodeDict) -> str:
    """Return the name a tensor is known by, a past one if it lost its last."""
    if node.get("name"):
        return str(node["name"])
    names = node.get("names") or ()
    return str(names[-1]["name"]) if names else str(node.get("module") or "")


def elide(text: str, limit: int) -> str:
    """Shorten `text` to `limit` characters on one line, keeping both ends."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    tail = (limit - 1) // 3
    return f"{flat[: limit - 1 - tail]}…{flat[len(flat) - tail :]}"


def varying_shape(node: NodeDict) -> str:
    """Return ``"[17…32, 4]"`` where the shape differs from step to step, else the shape."""
    shapes = node.get("shapes") or ()
    if len(shapes) < 2:
        return shape_text(node)
    if len({len(shape) for shape in shapes}) > 1:
        return f"{shape_text(node)} varies"
    sides = [(min(side), max(side)) for side in zip(*shapes, strict=True)]
    return f"[{', '.join(str(a) if a == b else f'{a}…{b}' for a, b in sides)}]"


def make_box(node: NodeDict, level: Level, *, running: bool = False) -> Box:
    """Return the box of a document's node, its two lines of text included.

    While the cell runs, the gradient of a leaf comes and goes with each step: its newest
    norm stays on the box until the end.
    """
    if node["kind"] == "op":
        line = node.get("line")
        sub = f"line {line}" if line is not None and level == "ops" else ""
        return Box(node["id"], "op", "op", elide(op_title(node), _LABEL_CHARS), sub)
    label = name_of(node) or str(node.get("op") or "") or "tensor"
    dtype, grad = dtype_text(node), grad_text(node)
    filled = node.get("retains_grad") or (node.get("is_leaf") and node.get("requires_grad"))
    stats = node.get("stats") if filled else None
    if stats and (grad == "grad" or (running and not grad)):
        grad = f"grad {float(stats['norm']):.3g}"
    parts = [varying_shape(node), "" if dtype == "float32" else dtype, grad, version_text(node)]
    facts = " · ".join(part for part in parts if part)
    parts[2] = _WIDEST_GRAD if stats or grad else ""
    widest = " · ".join(part for part in parts if part)
    computed = node.get("state") in ("non-leaf", "retained", "constant")
    source = str(node.get("source") or "") if level == "names" and computed else ""
    if source and source != label:
        source = elide(source, max(_SUB_CHARS - len(widest), 14))
        facts, widest = (" · ".join(p for p in (source, text) if p) for text in (facts, widest))
    return Box(
        node["id"],
        "tensor",
        str(node.get("state") or "non-leaf"),
        elide(label, _LABEL_CHARS),
        elide(facts, _SUB_CHARS + 8),
        elide(widest, _SUB_CHARS + 8),
    )
