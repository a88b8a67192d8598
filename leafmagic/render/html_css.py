"""The style sheet of the HTML page."""

from __future__ import annotations

from leafmagic.render.style import SEVERITY_COLORS, THEMES

_RULES = """
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
font:16px/1.55 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}
main{max-width:1160px;margin:0 auto;padding:32px 24px}
h1{font-size:26px;margin:0}h2{font-size:18px;margin:32px 0 12px}
.sub,.note,footer{color:var(--muted)}.sub{margin:2px 0 0}.note{margin:4px 0;font-size:14px}
.code{opacity:.8}pre,table,code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,
'DejaVu Sans Mono',monospace;font-size:13.5px}
article{border:1px solid var(--rule);border-left:5px solid;border-radius:6px;
padding:10px 16px;margin:0 0 12px}article p{margin:2px 0}
article pre{margin:8px 0;padding:8px 12px;background:var(--op);border-radius:4px;overflow-x:auto}
u{text-decoration:underline wavy;text-decoration-color:var(--mark);text-underline-offset:4px;
font-weight:700}
.fix code{white-space:pre-wrap}
.diff{position:relative}.diff pre{padding:6px 0;white-space:pre}
.diff pre>*{display:block;padding:0 70px 0 12px;text-decoration:none;min-width:max-content}
.diff i{display:inline-block;min-width:2.4em;padding-right:1em;text-align:right;
color:var(--muted);font-style:normal;user-select:none}
.diff b{user-select:none}
.diff del{background:color-mix(in srgb,#D55E00 14%,transparent)}
.diff ins{background:color-mix(in srgb,#009E73 16%,transparent)}
.diff mark{color:inherit;font-weight:700;border-radius:2px;
background:color-mix(in srgb,#009E73 32%,transparent);
text-decoration:underline;text-underline-offset:3px}
.diff del mark{background:color-mix(in srgb,#D55E00 30%,transparent);
text-decoration-style:dotted}
.told{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.copy{position:absolute;right:8px;top:6px;font:inherit;font-size:13px;padding:1px 10px;
color:var(--text);background:var(--page);border:1px solid var(--edge);border-radius:4px;
cursor:pointer}
.copy:focus-visible{outline:2px solid var(--text);outline-offset:2px}
.copy[hidden]{display:none}
@media(forced-colors:active){.diff mark{background:none;color:inherit}}
.sev{text-transform:uppercase;font-size:12px;letter-spacing:.06em}
input[name=level]{position:absolute;opacity:0}
input[name=level]+label{display:inline-block;padding:4px 14px;margin:0 8px 12px 0;cursor:pointer;
border:1px solid var(--rule);border-radius:99px;font-size:14px}
input[name=level]:checked+label{background:var(--text);color:var(--page)}
input[name=level]:focus-visible+label{outline:2px solid var(--text);outline-offset:2px}
.picture{display:none;overflow:auto;max-height:90vh}.picture svg{display:block}
#level-names:checked~.names,#level-ops:checked~.ops{display:block}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:5px 14px 5px 0;border-bottom:1px solid var(--rule);
vertical-align:top;white-space:nowrap}th{color:var(--muted);font-weight:400}
.source{border:1px solid var(--rule);border-radius:6px;padding:12px 16px;overflow-x:auto}
footer{margin-top:36px;font-size:13px}
"""


def page_css() -> str:
    """Return the rules, with the colours of both themes as variables."""
    light = _variables(THEMES["light"])
    dark = _variables(THEMES["dark"])
    sides = "".join(
        f"article.{word}{{border-left-color:{color};--mark:{color}}}"
        for word, color in SEVERITY_COLORS.items()
    )
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media(prefers-color-scheme:dark){{:root{{{dark}}}}}{_RULES}{sides}"
    )


def _variables(look: dict[str, str]) -> str:
    return "".join(f"--{name}:{color};" for name, color in look.items())
