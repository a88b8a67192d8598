"""A payload's level as Graphviz DOT source; Graphviz itself is not needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leafmagic.render.style import EDGE_DASHES, SEVERITY_COLORS, STATE_STYLES, THEMES
from leafmagic.render.words import counts, graph_label, state_of, xml_safe


def render_dot(payload: Mapping[str, Any], level: str = "names") -> str:
    """Return a level as DOT source, data flowing downwards.

    Parameters
    ----------
    payload : mapping
        What `leafmagic.render.payload.build_payload` returns.
    level : {"names", "ops"}
        The level to write.
    """
    drawn = payload["levels"][level]
    details = {node["id"]: node for node in payload["nodes"]}
    look = THEMES["light"]
    lines = [
        "digraph leafmagic {",
        f"  label={quote(f'{graph_label(payload)}: {counts(payload)}')}; labelloc=t;",
        '  rankdir=TB; node [fontname="monospace" fontsize=11]; '
        f'edge [color="{look["edge"]}" fontname="monospace" fontsize=9];',
    ]
    for node in drawn["nodes"]:
        detail = details[node["id"]]
        marker = drawn.get("markers", {}).get(node["id"])
        lines.append(f"  {quote(node['id'])} [{_node_look(node, state_of(detail), marker)}];")
    for edge in drawn["edges"]:
        attributes = [f"label={quote(edge['label'])}"] if edge["label"] else []
        if edge["carried"] or EDGE_DASHES.get(edge["kind"]):
            attributes.append("style=dashed")
        if edge["carried"]:
            attributes.append("constraint=false")
        tail = f" [{' '.join(attributes)}]" if attributes else ""
        lines.append(f"  {quote(edge['target'])} -> {quote(edge['source'])}{tail};")
    return "\n".join([*lines, "}"]) + "\n"


def _node_look(node: Mapping[str, Any], state: str, marker: str | None) -> str:
    style = STATE_STYLES[state]
    if state == "op":
        text = [node["label"], node["sub"]]
        return f"label={_label(text)} shape=ellipse color={quote(style.light)}"
    corner = ["rounded"] if style.radius > 5 else []
    border = [str(style.border)] if style.border in ("dashed", "dotted") else []
    filled = ["filled"] if marker else []
    words = ",".join(corner + border + filled)
    looks = [f'style="{words}"'] if words else []
    if style.border == "double":
        looks.append("peripheries=2")
    if marker:
        looks.append(f'xlabel="!" fillcolor="{SEVERITY_COLORS.get(marker, "#56B4E9")}"')
    text = [node["label"], node["sub"], f"({style.tag})"]
    looks += ["shape=box", f"color={quote(style.light)}", f"penwidth={style.border_px}"]
    return f"label={_label(text)} {' '.join(looks)}"


def quote(text: object) -> str:
    """Return a DOT string: quoted, with quotes and backslashes escaped."""
    return f'"{_escape(text)}"'


def _label(lines: list[str]) -> str:
    return '"' + "\\n".join(_escape(line) for line in lines if line) + '"'


def _escape(text: object) -> str:
    escaped = xml_safe(text).replace("\\", "\\\\").replace('"', '\\"')
    return escaped.replace("\r", "").replace("\n", "\\n")
