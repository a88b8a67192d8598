"""Cutting a state off the graph of the step before: what to paste, and where."""

from __future__ import annotations

import re

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes
from leafmagic.findings.pieces import Told
from leafmagic.model import Model
from leafmagic.records import TensorRecord

_ITEM = re.compile(r"([\w.]+)\[\d+\]")
_VARIABLE = re.compile(r"[^\W\d][\w.]*(\['[^']*'\])?")


def cut_at_entry(
    told: Told, model: Model, when: str = "step", then: str = ""
) -> tuple[str, tuple[Edit, ...]]:
    """Return the fix that detaches a state where a step takes it over, and its edits.

    Parameters
    ----------
    when : str
        What is run again: ``step``, or ``run`` of a cell.
    then : str
        What else is to be done, in words. Without it the fix has edits.

    Notes
    -----
    The place is the one where the step uses the state, and the name is one that stands
    there: pasted in the line above, it is known.
    """
    users = told.piece.users
    used = model.place(users[0].made.site) if users else told.place
    states = [(told.name, told.record), *told.others]
    words = [
        "" if used is None else _word_at(used, name, record)
        for name, record in states
        if name in told.distinct
    ]
    if used is not None and not set(words) <= set(used.targets):
        # What the line binds anew is not what it takes over, if there is something else.
        words = [word for word in words if word not in used.targets]
    cuts = [_cut(word) if word else "" for word in dict.fromkeys(words)]
    tail = f"; {then}" if then else ""
    if used is None or not all(cuts) or len(cuts) > 3:
        it = "it goes" if len(told.distinct) == 1 else "they go"
        return f"detach {told.names} before {it} into the next {when}{tail}", ()
    text = f"{'; '.join(cuts)}  # at the start of each {when}, before line {used.line}{tail}"
    edits = fixes.insert_before(used, "\n".join(cuts)) if used.filename and not then else ()
    return text, edits


def _cut(word: str) -> str:
    item = _ITEM.fullmatch(word)
    if item is not None:
        whole = item.group(1)
        return f"{whole} = tuple(part.detach() for part in {whole})"
    return f"{word} = {word}.detach()" if _VARIABLE.fullmatch(word) else ""


def _word_at(place: Place, name: str, record: TensorRecord | None) -> str:
    """Return what an expression calls a tensor that it takes over from the step before.

    Of two names the one that the statement does not bind anew is it.
    """
    known = [name, *([] if record is None else [one.name for one in record.names])]
    there = [word for word in dict.fromkeys(known) if _is_in(place, word)]
    there.sort(key=lambda word: word in place.targets)
    return there[0] if there else ""


def _is_in(place: Place, word: str) -> bool:
    item = _ITEM.fullmatch(word)
    whole = item.group(1) if item is not None else word.partition("[")[0]
    return bool(whole) and bool(re.search(rf"(?<![\w.]){re.escape(whole)}(?!\w)", place.source))
