"""Where a tensor was made: in this trace, or in the one that saw it made."""

from __future__ import annotations

from leafmagic.cell import Place
from leafmagic.model import Model
from leafmagic.records import TensorRecord


def whence(model: Model, record: TensorRecord) -> Place | None:
    """Return where a tensor was made; of an earlier trace the line is known, and no more."""
    place = model.place(record.made.site)
    if place is not None:
        return place
    made = model.session.made.get(record.tid)
    if made is None or made.line is None:
        return None
    label = model.session.label(made.run) or made.label
    source = made.source
    return Place("", label, "<module>", made.line, made.line, statement=source, text=source)
