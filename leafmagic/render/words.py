"""Small phrases that several renderers say in the same way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from leafmagic.render.style import STATE_STYLES

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_safe(text: object) -> str:
    """Replace the characters that XML cannot hold, even escaped."""
    return _NOT_XML.sub("�", str(text))


def plural(count: int, one: str, many: str = "") -> str:
    """Return ``"1 op"`` or ``"2 ops"``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def state_of(node: Mapping[str, Any]) -> str:
    """Return the state a node is drawn in; an unknown one is drawn as non-leaf."""
    if node.get("kind") == "op":
        return "op"
    state = str(node.get("state"))
    return state if state in STATE_STYLES else "non-leaf"


def counts(payload: Mapping[str, Any]) -> str:
    """Return ``"3 tensors · 2 ops · 1 backward · 1 warning"``."""
    ops = sum(node["kind"] == "op" for node in payload["nodes"])
    parts = [plural(len(payload["nodes"]) - ops, "tensor"), plural(ops, "op")]
    steps = payload.get("status", {}).get("steps") or 0
    if steps:
        parts.append(plural(steps, "backward pass", "backward passes"))
    found = [str(f["severity"]) for f in payload.get("findings") or ()]
    for severity, one in (("error", "error"), ("warning", "warning"), ("info", "hint")):
        if severity in found:
            parts.append(plural(found.count(severity), one))
    return " · ".join(parts)
