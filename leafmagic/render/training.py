"""What is said of a training loop, in the words that all renderers share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from leafmagic.render.words import plural

Training = Mapping[str, Any]


def training_of(payload: Mapping[str, Any]) -> Training:
    """Return what a document says of its loop; empty where no backward pass ran."""
    return payload.get("training") or {}


def number(value: object) -> str:
    """Return a number in at most seven characters, ``"-"`` where there is none."""
    if value is None:
        return "-"
    what = float(str(value))
    if not math.isfinite(what):
        return str(what)
    if what and not 1e-3 <= abs(what) < 1e5:
        return f"{what:.1e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{what:.4g}"


def progress_line(training: Training) -> str:
    """Return ``"step 1,234 · 35 steps/s · range line 4: 1,234 of 10,000"``."""
    steps = training.get("steps") or 0
    parts = [f"step {steps:,}"] if steps or not training.get("loops") else []
    if training.get("per_s"):
        parts.append(f"{number(round_rate(training['per_s']))} steps/s")
    loops = " > ".join(loop_words(loop) for loop in training.get("loops") or ())
    return " · ".join([*parts, loops] if loops else parts)


def round_rate(rate: float) -> float:
    """Return a rate with three digits at most."""
    return round(rate) if rate >= 10 else round(rate, 2 if rate < 1 else 1)


def loop_words(loop: Mapping[str, Any]) -> str:
    """Return ``"range line 4: 3 of 10"``; without a known length only how far it is."""
    line = "" if loop.get("line") is None else f" line {loop['line']}"
    what, done, total = loop.get("what") or "loop", loop.get("done"), loop.get("total")
    if done is None:
        return f"{what}{line}" + (f" of {total:,}" if total else "")
    return f"{what}{line}: {done:,}" + (f" of {total:,}" if total else "")


def root_words(root: Mapping[str, Any]) -> str:
    """Return ``"loss line 12: 0.693"``."""
    line = "" if root.get("line") is None else f" line {root['line']}"
    last = "" if root.get("last") is None else f": {number(root['last'])}"
    return f"{root.get('name') or 'backward'}{line}{last}"


def sampled_note(training: Training) -> str:
    """Return how much was measured, or nothing where all was or nothing was."""
    sampled = training.get("sampled") or {}
    of, passes, cut = (sampled.get(key) or 0 for key in ("of", "passes", "cut"))
    if not of or (passes == of and not cut):
        return ""
    note = f"gradients measured in {passes:,} of {of:,} passes"
    if sampled.get("share") is not None:
        share = 100 * sampled["share"]
        digits = 1 if share < 1 else 0
        spent = "less than 0.1 %" if share < 0.1 else f"{share:.{digits}f} %"
        note += f", {spent} of the time"
    return note + (f"; only at the {plural(cut, 'node')} nearest to the loss" if cut else "")


def told(training: Training) -> list[str]:
    """Return the sentences that stand for the charts where there are none."""
    if not training:
        return []
    roots = [
        root_words(root) for root in training.get("roots") or () if root.get("last") is not None
    ]
    said = [" · ".join([progress_line(training), *roots])]
    for state in ("never reached", "frozen"):
        names = [str(p["name"]) for p in training.get("parameters") or () if p["state"] == state]
        if names:
            more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
            said.append(f"{state.capitalize()}: {', '.join(names[:_NAMES])}{more}")
    note = sampled_note(training)
    return [*said, note[:1].upper() + note[1:]] if note else said


_NAMES = 4
PARAMETER_TITLES = ("parameter", "shape", "grad norm", "update", "passes", "state")


def parameter_rows(training: Training) -> list[tuple[str, str, str, str, str, str]]:
    """Return the cells of the table of parameters, in the order of the modules."""
    return [
        (
            str(row.get("name") or ""),
            f"[{', '.join(map(str, row.get('shape') or ()))}]" if row.get("shape") else "scalar",
            number(row.get("norm")),
            number(row.get("update")),
            "-" if row.get("passes", 0) is None else str(row.get("passes", 0)),
            str(row.get("state") or ""),
        )
        for row in training.get("parameters") or ()
    ]


def odd_first(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the rows with those first that get no gradient."""
    return sorted(rows, key=lambda row: row[-1] != "never reached")


def curve_path(points: Sequence[Sequence[Any]], width: int, height: int) -> tuple[str, bool]:
    """Return a curve as SVG path data, and whether its scale is logarithmic.

    Values that are not finite leave a gap. A curve that falls over more than one and a
    half decades is drawn on a logarithmic scale.
    """
    known = [(float(x), float(y)) for x, y in points if math.isfinite(float(y))]
    if len(known) < 2:
        return "", False
    values = [y for _, y in known]
    log = min(values) > 0 and max(values) / min(values) > 30
    low, high = (math.log10(v) if log else v for v in (min(values), max(values)))
    first, last = float(points[0][0]), float(points[-1][0])
    path, drawing = "", False
    for x, y in points:
        value = float(y)
        if not math.isfinite(value):
            drawing = False
            continue
        value = math.log10(value) if log else value
        across = round((float(x) - first) / ((last - first) or 1) * width)
        down = round((high - value) / (high - low) * height) if high > low else height // 2
        path += f"{'L' if drawing else 'M'}{across} {down}"
        drawing = True
    return path, log
