"""The style sheet inside an SVG picture, written from the tables in `style`."""

from __future__ import annotations

from collections.abc import Collection

from leafmagic.render.heat import HEAT
from leafmagic.render.style import (
    BADGE_TEXT,
    EDGE_DASHES,
    GRAD_COLOR,
    HOOK_COLORS,
    LABEL_PX,
    OP_PX,
    SEVERITY_COLORS,
    STATE_STYLES,
    SUB_PX,
    TAG_PX,
    THEMES,
    Theme,
)

_MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_SANS = "system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif"


def style_sheet(states: Collection[str], *, dark: bool, measured: bool = False) -> str:
    """Return the rules for the states that are drawn.

    Parameters
    ----------
    states : collection of str
        Keys of `leafmagic.render.style.STATE_STYLES`.
    dark : bool
        Dark colours only; otherwise light ones, and dark ones where the viewer
        prefers them.
    measured : bool
        Whether gradients are shown.
    """
    used = [state for state in STATE_STYLES if state in states]
    rules = _shapes(used, measured)
    if dark:
        return rules + _colors(used, "dark")
    night = _colors(used, "dark")
    return f"{rules}{_colors(used, 'light')}@media(prefers-color-scheme:dark){{{night}}}"


def _shapes(used: list[str], measured: bool) -> str:
    rules = [
        f".lm text{{font-family:{_MONO};text-anchor:middle}}",
        f".lm .n{{font-size:{LABEL_PX}px;font-weight:700}}",
        f".lm .s{{font-size:{SUB_PX}px}}",
        f".lm .t,.lm .b{{font-size:{TAG_PX}px}}",
        ".lm .t{text-anchor:start}.lm .p{stroke-width:4px}",
        ".lm .b{font-weight:700}",
        f".lm .st{{font-size:{SUB_PX}px;text-anchor:end}}",
        f".lm .el{{font-size:{SUB_PX}px;paint-order:stroke;stroke-width:4px}}",
        f".lm .head{{font:700 15px {_SANS};text-anchor:start}}",
        f".lm .note{{font:400 12px {_SANS};text-anchor:start}}",
        ".lm .e{fill:none;stroke-width:1.3px}",
        f".lm .op .n{{font-size:{OP_PX}px;font-weight:400}}.lm .op .s{{font-size:{TAG_PX}px}}",
        ".lm .carried{stroke-dasharray:1 3;stroke-linecap:round}",
        f".lm .m+.b{{font-size:{SUB_PX}px}}",
        f".lm .mt,.lm .bgt{{fill:{BADGE_TEXT}}}.lm .bg{{fill:{GRAD_COLOR};stroke:none}}",
        ".lm .bh{stroke:none}.lm .m{stroke:none}",
    ]
    if measured:
        rules += [f".lm .g{i}{{fill:{color}}}" for i, color in enumerate(HEAT)]
        rules += [
            f".lm .bad,.lm .al{{fill:{SEVERITY_COLORS['error']}}}.lm .alt{{fill:{BADGE_TEXT}}}",
            ".lm .sp,.lm .c{fill:none;stroke-width:1.2px;stroke-linejoin:round}",
            ".lm .ra{text-anchor:end}.lm .old{opacity:.5}",
        ]
    rules += [f".lm .{kind}{{stroke-dasharray:{d}}}" for kind, d in EDGE_DASHES.items() if d]
    rules += [f".lm .m.{word}{{fill:{color}}}" for word, color in SEVERITY_COLORS.items()]
    for state in used:
        style = STATE_STYLES[state]
        look = f"stroke-width:{style.border_px}px"
        if style.dash:
            look += f";stroke-dasharray:{style.dash}"
        if style.border == "dotted":
            look += ";stroke-linecap:round"
        rules.append(f".lm .{style.css} rect:first-of-type{{{look}}}")
        if style.border == "double":
            rules.append(f".lm .{style.css} .in{{fill:none;stroke-width:1px}}")
            rules.append(f".lm .{style.css} .p{{stroke-width:9px}}")
        if style.strike:
            rules.append(f".lm .{style.css} .n{{text-decoration:line-through}}")
    return "".join(rules)


def _colors(used: list[str], theme: Theme) -> str:
    look = THEMES[theme]
    blue = STATE_STYLES["retained"]
    rules = [
        f".lm .page{{fill:{look['page']};stroke:{look['rule']}}}",
        f".lm .rule{{stroke:{look['rule']}}}",
        f".lm .n,.lm .head{{fill:{look['text']}}}",
        f".lm .s,.lm .note,.lm .st,.lm .el{{fill:{look['muted']}}}",
        f".lm .p,.lm .el{{stroke:{look['page']}}}",
        f".lm .e{{stroke:{look['edge']}}}.lm .h{{fill:{look['edge']}}}",
        f".lm .fl{{fill:{look['text']}}}.lm .flt{{fill:{look['page']}}}",
        f".lm .sp{{stroke:{look['muted']}}}.lm .ra{{fill:{look['muted']}}}",
        f".lm .c{{stroke:{blue.light if theme == 'light' else blue.dark}}}",
        f".lm .bh{{fill:{HOOK_COLORS[theme]}}}.lm .bht{{fill:{look['page']}}}",
    ]
    for state in used:
        style = STATE_STYLES[state]
        border = style.light if theme == "light" else style.dark
        text = style.light_text if theme == "light" else style.dark_text
        fill = look["op"] if state == "op" else look["box"]
        rules.append(f".lm .{style.css} rect:first-of-type{{fill:{fill};stroke:{border}}}")
        rules.append(f".lm .{style.css} .t{{fill:{text}}}")
        if style.border == "double":
            rules.append(f".lm .{style.css} .in{{stroke:{border}}}")
    return "".join(rules)
