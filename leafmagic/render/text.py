"""The payload as text: the warnings, a table of the tensors, the graph as a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leafmagic.boxes import elide
from leafmagic.render.training import PARAMETER_TITLES, odd_first, parameter_rows, told, training_of
from leafmagic.render.words import (
    cells,
    counts,
    facts,
    finding_lines,
    graph_label,
    plural,
    short_name,
    state_of,
    tensor_rows,
    written,
    xml_safe,
)

Payload = Mapping[str, Any]

_MAX_FINDINGS = 20
_MAX_ROWS = 40
_MAX_LINES = 60
_MAX_PARAMETERS = 12
_MAX_DEPTH = 24
_TITLES = ("tensor", "shape", "dtype", "state", "grad", "made at")

_SEVERITY_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}
_STATE_TERMINAL = {
    "leaf": "green",
    "retained": "blue",
    "phantom leaf": "red",
    "dead name": "magenta",
    "frozen leaf": "bright_black",
    "constant": "bright_black",
}


def render_text(payload: Payload, width: int = 100, color: bool = False) -> str:
    """Return the payload as text of a bounded length.

    Parameters
    ----------
    payload : mapping
        What `leafmagic.render.payload.build_payload` returns.
    width : int
        Columns.
    color : bool
        Whether to use ANSI colours; without, the text is plain.
    """
    out = StringIO()
    console = Console(
        file=out,
        width=max(width, 40),
        force_terminal=color,
        force_jupyter=False,  # in a kernel rich would display each line, and not write it to out
        no_color=not color,
        color_system="standard" if color else None,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
    )
    console.print(_wrap(f"{graph_label(payload)}: {counts(payload)}", "bold"))
    for fact in facts(payload):
        console.print(_wrap(fact, ""))
    _print_findings(console, payload)
    _print_training(console, payload)
    _print_table(console, payload)
    _print_graph(console, payload)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _wrap(text: str, style: str) -> Text:
    return Text(xml_safe(text), style=style, overflow="fold")


def _line(console: Console, text: Text) -> None:
    """Print one line that is cut off rather than wrapped."""
    console.print(text, no_wrap=True, overflow="ellipsis", crop=True)


def _print_findings(console: Console, payload: Payload) -> None:
    found = list(payload.get("findings") or ())
    for finding in found[:_MAX_FINDINGS]:
        console.print()
        style = _SEVERITY_STYLES.get(finding["severity"], "bold")
        text = Text(f"{finding['severity']}: ", style=style, overflow="fold")
        code = f" [{finding['code']}]" if finding.get("code") else ""
        text.append(xml_safe(elide(finding["message"], 600)), style="bold").append(code, "dim")
        console.print(text)
        where, lines = finding_lines(finding)
        if where:
            console.print(_wrap(f"  {where}", "dim"))
        for at, line in enumerate(lines):
            _line(console, Text(f"    {xml_safe(line)}", style=style if at else ""))
        if finding.get("fix"):
            fix = Text("  fix: ", style="green", overflow="fold")
            console.print(fix.append(xml_safe(elide(finding["fix"], 600)), style="not green"))
    if len(found) > _MAX_FINDINGS:
        console.print()
        console.print(_wrap(f"and {plural(len(found) - _MAX_FINDINGS, 'more finding')}", "dim"))


def _print_training(console: Console, payload: Payload) -> None:
    """Say how a loop goes, and list its parameters, those without a gradient first."""
    training = training_of(payload)
    if (training.get("steps") or 0) < 2:
        return
    console.print()
    for line in told(training):
        console.print(_wrap(line, ""))
    rows = odd_first(parameter_rows(training))
    if not rows:
        return
    table, shown = _table_of(console, PARAMETER_TITLES, rows[:_MAX_PARAMETERS])
    for name, *rest in shown:
        odd = "bold red" if rest[-1] == "never reached" else ""
        table.add_row(Text(name, style="bold"), *map(Text, rest[:-1]), Text(rest[-1], style=odd))
    console.print(table)
    if len(rows) > _MAX_PARAMETERS:
        console.print(_wrap(f"and {plural(len(rows) - _MAX_PARAMETERS, 'more parameter')}", "dim"))


def _table_of(
    console: Console, titles: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[Table, list[tuple[str, ...]]]:
    """Return an empty table as wide as its rows need, the last column as there is room."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    safe = [tuple(xml_safe(value) for value in row) for row in rows]
    shown = [(short_name(name, 32), elide(shape, 18), *rest) for name, shape, *rest in safe]
    room = console.width
    for at, title in enumerate(titles):
        need = max(len(title), *(cells(row[at]) for row in shown))
        room -= need + 2
        width = need if at < len(titles) - 1 else max(min(need, room + need + 2), 8)
        table.add_column(title, no_wrap=True, overflow="ellipsis", width=width)
    return table, shown


def _print_table(console: Console, payload: Payload) -> None:
    rows = tensor_rows(payload)
    if not rows:
        return
    console.print()
    table, shown = _table_of(console, _TITLES, rows[:_MAX_ROWS])
    for name, *rest in shown:
        texts = [Text(name, style="bold"), *(Text(value) for value in rest)]
        texts[3].stylize(_STATE_TERMINAL.get(rest[2], ""))
        table.add_row(*texts)
    console.print(table)
    if len(rows) > _MAX_ROWS:
        console.print(_wrap(f"and {plural(len(rows) - _MAX_ROWS, 'more tensor')}", "dim"))


def _print_graph(console: Console, payload: Payload) -> None:
    level = payload["levels"].get("names")
    if not level or not level["edges"]:
        return
    console.print()
    console.print(_wrap("graph (a result, and indented under it what it was made from)", "dim"))
    lines = _tree(payload, level)
    for line in lines[:_MAX_LINES]:
        _line(console, line)
    if len(lines) >= _MAX_LINES:
        text = f"cut after {_MAX_LINES} lines; {plural(len(level['nodes']), 'box', 'boxes')} in all"
        console.print(_wrap(text, "dim"))


def _tree(payload: Payload, level: Mapping[str, Any]) -> list[Text]:
    """Return one line for each box; a box met again is only referred to."""
    details = {node["id"]: node for node in payload["nodes"]}
    labels = {node["id"]: node["label"] for node in level["nodes"]}
    below: dict[str, list[Mapping[str, Any]]] = {node_id: [] for node_id in labels}
    used = set()
    for edge in level["edges"]:
        below[edge["source"]].append(edge)
        if not edge["carried"]:
            used.add(edge["target"])
    roots = [i for i in reversed(below) if i not in used and below[i]] or list(below)[-1:]
    stack: list[tuple[str, int, str]] = [(root, 0, "") for root in reversed(roots)]
    seen: set[str] = set()
    lines: list[Text] = []
    while stack and len(lines) < _MAX_LINES:
        node_id, depth, how = stack.pop()
        line = _tree_line(details[node_id], labels[node_id], depth, how)
        again = node_id in seen and bool(below[node_id])
        lines.append(line.append("  (see above)", "dim") if again else line)
        if node_id not in seen:
            seen.add(node_id)
            deeper = reversed(below[node_id])
            stack.extend((edge["target"], depth + 1, _how(edge)) for edge in deeper)
    return lines


def _how(edge: Mapping[str, Any]) -> str:
    words = {"cut": "gradient stops here", "data": "gets no gradient", "base": "view of"}
    if edge["carried"]:
        return "from an earlier step"
    return words.get(edge["kind"], "")


def _tree_line(detail: Mapping[str, Any], label: str, depth: int, how: str) -> Text:
    deep = depth > _MAX_DEPTH
    indent = "  " * min(depth, _MAX_DEPTH) + (f"({depth} deep) " if deep else "")
    state = state_of(detail)
    line = Text(indent).append(xml_safe(label), style="bold")
    source = str(detail.get("source") or "")
    if source and state not in ("leaf", "frozen leaf"):
        line.append(f" = {xml_safe(elide(source, 48))}")
    line.append(f"  {state}", style=_STATE_TERMINAL.get(state, "dim"))
    for said in (how, written(detail)):
        if said:
            line.append(f", {said}", style="dim")
    return line
