"""Small phrases that several renderers say in the same way."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from leafmagic.boxes import dtype_text, elide, grad_text, name_of, shape_text, version_text
from leafmagic.render.style import STATE_STYLES

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_DOTTED = re.compile(r"[\w.\[\]]+")
_MAX_WRITES = 4


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


def graph_label(payload: Mapping[str, Any]) -> str:
    """Return the cell's label, such as ``"Cell In[3]"``."""
    return str(payload.get("cell", {}).get("label") or "leafmagic")


def facts(payload: Mapping[str, Any]) -> list[str]:
    """Return what the reader must know of the recording itself."""
    status = payload.get("status", {})
    said = [f"The cell raised {status['error']}"] if status.get("error") else []
    if status.get("running"):
        said.append("Still running: this is what was seen so far.")
    if status.get("cut"):
        said.append("The recording was cut short: later operations are missing.")
    return said + [str(note) for note in status.get("notes") or ()]


def finding_lines(finding: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return where a finding is, and its source line with the culprit underlined."""
    parts = [str(finding["cell"])] if finding.get("cell") else []
    if finding.get("line") is not None:
        parts.append(f"line {finding['line']}")
    where = ", ".join(parts)
    if finding.get("symptom_line") not in (None, finding.get("line")):
        where += f", noticed at line {finding['symptom_line']}"
    if (finding.get("count") or 1) > 1:
        where += f", {finding['count']:,} times"
    if not finding.get("source"):
        return where, []
    before, marked, after = underline(finding)
    return where, [before + marked + after, " " * cells(before) + "^" * max(cells(marked), 1)]


def underline(finding: Mapping[str, Any]) -> tuple[str, str, str]:
    """Cut a finding's source line before, in and after what it is about.

    Without columns that is the whole line. The common indent goes.
    """
    line = (str(finding["source"]).splitlines() or [""])[0].expandtabs(1)
    start, end = finding.get("column"), finding.get("end_column")
    if start is None or not 0 <= start < len(line):
        start, end = 0, len(line)
    if end is None or end <= start:
        end = len(line)
    indent = len(line) - len(line.lstrip())
    start = max(start, indent)
    return line[indent:start], line[start:end].rstrip(), line[end:].rstrip()


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def tensor_rows(payload: Mapping[str, Any]) -> list[tuple[str, str, str, str, str, str]]:
    """Return name, shape, dtype, state, grad and place of every tensor worth a row."""
    worth = {node["id"] for level in payload["levels"].values() for node in level["nodes"]}
    return [
        (
            name_of(node) or str(node.get("op") or "") or "tensor",
            shape_text(node) or "?",
            dtype_text(node),
            state_of(node),
            grad_text(node).removeprefix("grad ") or "-",
            _made_at(node),
        )
        for node in payload["nodes"]
        if node["kind"] == "tensor" and node["id"] in worth
    ]


def _made_at(node: Mapping[str, Any]) -> str:
    source = elide(str(node.get("source") or ""), 60)
    line = "" if node.get("line") is None else f"line {node['line']}"
    made = ": ".join(part for part in (line, source) if part)
    return "; ".join(part for part in (made, written(node)) if part)


def written(node: Mapping[str, Any]) -> str:
    """Return ``"version 1, written at line 4"`` where a write is worth seeing, or nothing."""
    version = version_text(node)
    if not version:
        return ""
    lines = list(dict.fromkeys(str(line) for line in node["writes"]))
    more = ["…"] if len(lines) > _MAX_WRITES else []
    at = ", ".join(lines[:_MAX_WRITES] + more)
    return f"{version}, written at line{'s' if len(lines) > 1 else ''} {at}"


def short_name(name: str, limit: int) -> str:
    """Shorten a name; of a dotted one the end stays: ``"….3.first.weight"``.

    The parameters of a network begin alike. Where the layer's number does not fit with
    all that follows it, it is kept apart: ``"….3….weight"``.
    """
    parts = name.split(".")
    if len(name) <= limit or len(parts) < 2 or not _DOTTED.fullmatch(name):
        return elide(name, limit)
    number = max((i for i, part in enumerate(parts) if part.isdigit()), default=0)
    for start in range(1, len(parts)):
        head = f"….{parts[number]}…." if 0 < number < start else "…."
        short = head + ".".join(parts[start:])
        if len(short) <= limit:
            return short
    return elide(name, limit)
