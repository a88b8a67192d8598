"""The live widget: traits, and the messages that keep a page up to date.

Importing this module imports anywidget; `import leafmagic` does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets

Payload = Mapping[str, Any]

STATIC = Path(__file__).parent / "static"
ESM_PATH = STATIC / "leafmagic.js"
TRAINING_PATH = STATIC / "training.js"
"""What draws a training loop; the two are sent as one module."""
CSS_PATH = STATIC / "leafmagic.css"
WIDGET_MIME = "application/vnd.jupyter.widget-view+json"


def slim(text: str) -> str:
    """Return an asset without indentation and whole-line comments.

    The text travels with every widget and is stored in every saved notebook. The two
    files keep no strings and no comments across lines, so this cannot change a meaning.
    """
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not _is_comment(line))


def _is_comment(line: str) -> bool:
    return line.startswith("//") or (line.startswith("/*") and line.endswith("*/"))


def compact(payload: Payload) -> dict[str, Any]:
    """Return the payload as it is sent: fields of nodes that say nothing are left out.

    A node has some forty fields, most of them empty in most nodes; the page takes a
    field that is not there as empty, and ``in_newest`` as true. What changes with every
    step is kept apart from what does not, and short.
    """
    sent = {**payload, "nodes": [_compact_node(node) for node in payload.get("nodes", ())]}
    if payload.get("training"):
        sent["training"] = _compact_training(payload["training"], payload.get("nodes", ()))
    return sent


def _compact_node(node: Payload) -> dict[str, Any]:
    kept = {k: v for k, v in node.items() if v or k == "id"}
    if kept.pop("in_newest", None) is None and "in_newest" in node:
        kept["in_newest"] = False
    if "trend" in kept:
        kept["trend"] = [_short(norm, 3) for norm in kept["trend"]]
    if "stats" in kept:
        kept["stats"] = {k: _short(v) for k, v in kept["stats"].items() if v is not None}
    return kept


def _short(value: Any, digits: int = 4) -> Any:
    """Return a number with as many digits as a page shows."""
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def _compact_training(training: Payload, nodes: Iterable[Payload]) -> dict[str, Any]:
    """Leave out of the parameters what their nodes say; keep the reach of roots apart."""
    measured = {node["id"] for node in nodes if node.get("stats")}
    rows = []
    for row in training.get("parameters", ()):
        told = row.get("id") in measured and row.get("norm") is not None
        rows.append({k: v for k, v in row.items() if not told or k not in _TOLD})
    roots = [{k: v for k, v in root.items() if k != "nodes"} for root in training.get("roots", ())]
    reach = {root["key"]: root.get("nodes", []) for root in training.get("roots", ())}
    return {**training, "roots": roots, "reach": reach, "parameters": rows}


_TOLD = ("norm", "update", "trend", "passes")


def diff(old: Payload, new: Payload) -> dict[str, Any]:
    """Return what a page that shows `old` must change to show `new`.

    Parameters
    ----------
    old, new : mapping
        Compacted payloads.

    Returns
    -------
    dict
        The keys of the payload that changed. Nodes, also those of a level, are given
        as ``{"set": [...], "del": [ids]}``, with the fields that changed, edges as
        ``{"at", "drop", "add"}`` (one splice), of ``training`` the keys that changed,
        everything else by its new value. Empty if nothing changed.
    """
    changes: dict[str, Any] = {}
    for key, value in new.items():
        before = old.get(key)
        if before == value:
            continue
        if key == "nodes":
            changes[key] = _keyed(before or (), value)
        elif key == "edges":
            changes[key] = _splice(before or (), value)
        elif key == "levels":
            known = before or {}
            levels = {name: diff(known.get(name, {}), level) for name, level in value.items()}
            changes[key] = {name: level for name, level in levels.items() if level}
        elif key == "training":
            known = before or {}
            changes[key] = {k: v for k, v in value.items() if known.get(k) != v}
        else:
            changes[key] = value
    return changes


def _keyed(old: Sequence[Payload], new: Sequence[Payload]) -> dict[str, Any]:
    """Return new nodes whole, and of others the fields that changed; None is a field gone."""
    before = {node["id"]: node for node in old}
    changed = []
    for node in new:
        known = before.pop(node["id"], None)
        if known is None:
            changed.append(node)
        elif known != node:
            fields = {k: v for k, v in node.items() if k == "id" or known.get(k) != v}
            changed.append(fields | dict.fromkeys(known.keys() - node.keys()))
    return {"set": changed, "del": list(before)}


def _splice(old: Sequence[Any], new: Sequence[Any]) -> dict[str, Any]:
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return {"at": head, "drop": len(old) - head - tail, "add": list(new[head : len(new) - tail])}


class GraphWidget(anywidget.AnyWidget):
    """Draws one payload in the notebook page.

    While a cell runs, the page is told by messages what has changed; the trait holds
    the state the page started from, and the whole of it once the cell has ended.

    Attributes
    ----------
    payload : dict
        A compacted payload (see `compact`).
    twin_id : str
        The static twin that the page hides while the widget is alive.
    """

    _esm = slim(
        ESM_PATH.read_text(encoding="utf-8") + "\n" + TRAINING_PATH.read_text(encoding="utf-8")
    )
    _css = slim(CSS_PATH.read_text(encoding="utf-8"))
    payload = traitlets.Dict().tag(sync=True)
    twin_id = traitlets.Unicode("").tag(sync=True)

    def bundle(self) -> dict[str, Any]:
        """Return the display bundle; it has no words where a page cannot show it.

        The twin, right below, says it all there.
        """
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        return {WIDGET_MIME: view, "text/plain": ""}
