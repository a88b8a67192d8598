"""Snapshots that are none: what ``state_dict()`` returned and a variable keeps."""

from __future__ import annotations

from leafmagic.model import Model
from leafmagic.records import TensorRecord
from leafmagic.session import Snapshot


def snapshot_of(model: Model, record: TensorRecord) -> Snapshot | None:
    """Describe a tensor that ``state_dict()`` made, where its line binds it to a name.

    None of other tensors.
    """
    if record.made.what != "detach" or record.direct or not record.inputs:
        return None
    place = model.place(record.made.site)
    if place is None or place.attribute != "state_dict" or len(place.targets) != 1:
        return None
    if place.unpacked:
        return None
    of = record.inputs[0]
    changed = changed_since(model, of, record.made.ordinal)
    where = (place.targets[0], place.source, place.label, place.line, place.text.strip())
    return Snapshot(model.run, of, *where, changed)


def changed_since(model: Model, tid: int, ordinal: int, but: int = -1) -> str:
    """Say in a few words what wrote to a tensor after a moment; empty where nothing did.

    Parameters
    ----------
    but : int
        Ordinal of a write that does not count.
    """
    record = model.tensors.get(tid)
    for write in reversed(record.writes if record is not None else []):
        if write.ordinal <= ordinal:
            break
        place = model.place(write.site)
        if write.ordinal != but and place is not None:
            call = place.source if len(place.source) < 30 else f"{write.what}"
            return f"`{call}` ({place.label}, line {place.line})"
    return ""
