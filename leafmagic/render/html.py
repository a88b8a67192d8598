"""The payload as HTML: a page of its own, and the static twin of the widget."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from leafmagic.render.html_css import page_css
from leafmagic.render.svg import render_svg
from leafmagic.render.training import PARAMETER_TITLES, odd_first, parameter_rows, told, training_of
from leafmagic.render.words import (
    counts,
    facts,
    finding_lines,
    graph_label,
    plural,
    tensor_rows,
    underline,
    xml_safe,
)

Payload = Mapping[str, Any]

TWIN_BYTES = 60_000
"""The twin, text and picture together, is never longer than this."""

_COPY = """<script>
for (const b of document.querySelectorAll("button.copy")) {
  b.hidden = false;
  b.onclick = async () => {
    try { await navigator.clipboard.writeText(b.value); }
    catch {
      const t = document.createElement("textarea");
      t.value = b.value; b.after(t); t.select();
      document.execCommand("copy"); t.remove(); b.focus();
    }
    b.textContent = "copied";
    setTimeout(() => { b.textContent = "copy"; }, 1400);
  };
}
</script>"""

_TWIN_FINDINGS = 12
_TWIN_BOXES = 160
_PAGE_FINDINGS = 200
_PAGE_ROWS = 400
_PAGE_BOXES = 1200


def render_html(payload: Payload) -> str:
    """Return a page that needs nothing else: the graph, the warnings, the tensors.

    The page loads nothing; it is light or dark as the reader prefers. Its only script
    is that of the buttons that copy a fix, which are not there without it.
    """
    label = _text(graph_label(payload))
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>{label} · leafmagic</title>",
        f"<style>{page_css()}</style></head><body><main>",
        f"<h1>{label}</h1><p class='sub'>{_text(counts(payload))}</p>",
        *[f"<p class='note'>{_text(note)}</p>" for note in facts(payload)],
        _findings(payload, _PAGE_FINDINGS),
        _pictures(payload),
        _training(payload),
        _table(payload),
        _source(payload),
        f"<footer>{_text(_versions(payload))}</footer></main>",
        _COPY if any(finding.get("diff") for finding in payload.get("findings") or ()) else "",
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def render_twin(payload: Payload, twin_id: str) -> str:
    """Return what stands in for the widget where no kernel runs.

    An ``<img>`` and plain tags survive the sanitizer of an untrusted notebook, which
    strips an inline ``<svg>`` to its text.

    Parameters
    ----------
    payload : mapping
        With the level ``names``.
    twin_id : str
        Becomes the class ``lm-twin-ID``, by which the living widget hides its twin.
        Anything but letters, digits, ``-`` and ``_`` is left out.
    """
    safe_id = re.sub(r"[^A-Za-z0-9_-]", "", twin_id)
    words = _twin_findings(payload)
    alt = f"Autograd graph of {graph_label(payload)}: {counts(payload)}"
    frame = f'<div class="lm-twin lm-twin-{safe_id}"><img alt="{_text(alt)}" src="">{words}</div>'
    room = (TWIN_BYTES - 400 - len(frame.encode())) * 3 // 4
    picture = render_svg(payload, max_boxes=_TWIN_BOXES, max_bytes=room, tooltips=False)
    coded = base64.b64encode(picture.encode()).decode()
    return frame.replace('src=""', f'src="data:image/svg+xml;base64,{coded}"', 1)


def _prose(value: object) -> str:
    """Escape a sentence and set what stands in backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", _text(value))


def _text(value: object) -> str:
    return escape(xml_safe(value))


def _twin_findings(payload: Payload) -> str:
    """Say the findings in tags that need no style to be understood."""
    found = list(payload.get("findings") or ())
    parts = []
    for finding in found[:_TWIN_FINDINGS]:
        head = f"<b>{_text(finding['severity'])}</b>: {_prose(_short(finding['message'], 400))}"
        where, code = finding_lines(finding)
        if code:
            code = [_short(line, 160) for line in code]
            head += f"<br>{_text(where)}<pre>{_text(chr(10).join(code))}</pre>"
        elif where:
            head += f" ({_text(where)})<br>"
        fix, diff = finding.get("fix"), finding.get("diff")
        if fix and not (diff and diff["says_fix"]):
            head += f"Fix: <code>{_text(_short(fix, 400))}</code>"
        elif diff:
            head += "Fix:"
        parts.append(f"<li>{head}{_twin_diff(diff) if diff else ''}</li>")
    if len(found) > _TWIN_FINDINGS:
        parts.append(f"<li>and {plural(len(found) - _TWIN_FINDINGS, 'more finding')}</li>")
    said = [*facts(payload)[:6], *told(training_of(payload))]
    notes = "".join(f"<p>{_text(_short(note, 300))}</p>" for note in said)
    return f"{notes}<ul>{''.join(parts)}</ul>" if parts else notes


def _twin_diff(diff: Mapping[str, Any]) -> str:
    lines = []
    for sign, _, before, marked, after in diff["rows"]:
        bold = f"<b>{_text(_short(marked, 160))}</b>" if marked else ""
        lines.append(f"{sign} {_text(_short(before, 160))}{bold}{_text(_short(after, 160))}")
    return f"<pre>{chr(10).join([*lines, *_more(diff)])}</pre>"


def _more(diff: Mapping[str, Any]) -> list[str]:
    return [f"  and {plural(diff['more'], 'more line')}"] if diff["more"] else []


def _short(text: object, limit: int) -> str:
    flat = str(text)
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def _findings(payload: Payload, limit: int) -> str:
    found = list(payload.get("findings") or ())
    if not found:
        return ""
    items = [_finding(finding) for finding in found[:limit]]
    if len(found) > limit:
        items.append(f"<p class='note'>and {plural(len(found) - limit, 'more finding')}</p>")
    return f"<section><h2>Warnings</h2>{''.join(items)}</section>"


def _finding(finding: Mapping[str, Any]) -> str:
    severity = finding["severity"]
    css = severity if severity in ("error", "warning", "info") else "info"
    where, _ = finding_lines(finding)
    code = ""
    if finding.get("source"):
        before, marked, after = underline(finding)
        code = f"<pre>{_text(before)}<u>{_text(marked)}</u>{_text(after)}</pre>"
    fix, diff = finding.get("fix"), finding.get("diff")
    words = "" if diff and diff["says_fix"] else f" <code>{_text(fix or '')}</code>"
    fix = f"<p class='fix'><b>Fix</b>{words}</p>" if fix or diff else ""
    fix += _diff(diff) if diff else ""
    return (
        f"<article class='{css}'><p><b class='sev'>{_text(severity)}</b> "
        f"{_prose(finding['message'])}</p><p class='note'>{_text(where)} "
        f"<span class='code'>{_text(finding.get('code') or '')}</span></p>{code}{fix}</article>"
    )


def _diff(diff: Mapping[str, Any]) -> str:
    """Show the lines that go and those that come; the button appears where scripts run."""
    tags = {"-": "del", "+": "ins", " ": "span"}
    says = {"-": "removed: ", "+": "added: ", " ": ""}
    rows = []
    for sign, line, before, marked, after in diff["rows"]:
        number = f"<i>{'' if line is None else line}</i>"
        told = f"<span class='told'>{says[sign]}</span>" if says[sign] else ""
        bold = f"<mark>{_text(marked)}</mark>" if marked else ""
        words = (
            f"{number}<b aria-hidden='true'>{sign}</b> {told}{_text(before)}{bold}{_text(after)}"
        )
        rows.append(f"<{tags[sign]}>{words}</{tags[sign]}>")
    where = f"<p class='note'>in {_text(diff['cell'])}</p>" if diff["cell"] else ""
    button = (
        f"<button type='button' class='copy' hidden value=\"{_text(diff['copy'])}\" "
        "aria-label='Copy the new lines'>copy</button>"
    )
    return f"{where}<div class='diff'>{button}<pre>{''.join([*rows, *_more(diff)])}</pre></div>"


def _pictures(payload: Payload) -> str:
    """Show the levels side by side in the page, one at a time, switched without a script."""
    levels = [level for level in ("names", "ops") if level in payload["levels"]]
    buttons, pictures = [], []
    for at, level in enumerate(levels):
        checked = " checked" if at == 0 else ""
        word = {"names": "Names", "ops": "All operations"}[level]
        buttons.append(
            f"<input type='radio' name='level' id='level-{level}'{checked}>"
            f"<label for='level-{level}'>{word}</label>"
        )
        picture = render_svg(payload, level, max_boxes=_PAGE_BOXES)
        pictures.append(f"<div class='picture {level}'>{picture}</div>")
    return f"<section><h2>Graph</h2>{''.join(buttons)}{''.join(pictures)}</section>"


def _row(cells: Iterable[str], tag: str = "td") -> str:
    return f"<tr>{''.join(f'<{tag}>{_text(cell)}</{tag}>' for cell in cells)}</tr>"


def _table(payload: Payload) -> str:
    rows = tensor_rows(payload)
    if not rows:
        return ""
    body = "".join(_row(row) for row in rows[:_PAGE_ROWS])
    head = _row(("name", "shape", "dtype", "state", "grad", "made at"), "th")
    more = len(rows) - _PAGE_ROWS
    note = f"<p class='note'>and {plural(more, 'more tensor')}</p>" if more > 0 else ""
    return (
        f"<section><h2>Tensors</h2><div class='wide'><table><thead>{head}</thead>"
        f"<tbody>{body}</tbody></table></div>{note}</section>"
    )


def _training(payload: Payload) -> str:
    """Say how the loop went, and list the parameters, those without a gradient first."""
    training = training_of(payload)
    rows = odd_first(parameter_rows(training))
    if not rows:
        return ""
    said = "".join(f"<p class='note'>{_text(line)}</p>" for line in told(training))
    body = "".join(_row(row) for row in rows[:_PAGE_ROWS])
    more = len(rows) - _PAGE_ROWS
    note = f"<p class='note'>and {plural(more, 'more parameter')}</p>" if more > 0 else ""
    return (
        f"<section><h2>Training</h2>{said}<div class='wide'><table><thead>"
        f"{_row(PARAMETER_TITLES, 'th')}</thead><tbody>{body}</tbody></table></div>{note}</section>"
    )


def _source(payload: Payload) -> str:
    source = str(payload.get("cell", {}).get("source") or "")
    if not source.strip():
        return ""
    lines = source.splitlines()
    pad = len(str(len(lines)))
    numbered = "\n".join(f"{at:>{pad}}  {line}" for at, line in enumerate(lines, 1))
    return f"<section><h2>Source</h2><pre class='source'>{_text(numbered)}</pre></section>"


def _versions(payload: Payload) -> str:
    return f"leafmagic {payload.get('leafmagic', '')} · torch {payload.get('torch', '')}"
