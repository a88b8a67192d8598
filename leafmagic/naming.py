"""Which name points, and pointed, to which tensor."""

from __future__ import annotations

from functools import lru_cache

from leafmagic.cell import Place, is_module_word
from leafmagic.events import Accessed, OpCalled
from leafmagic.looks import Rebound
from leafmagic.records import LONGEST_HISTORY, Name, OpSlot, TensorRecord

Key = tuple[str, str]
"""Scope and name; the scope of the cell's own variables is empty."""


class NameBook:
    """The names of a trace and their history.

    Parameters
    ----------
    tensors : dict
        The model's records by tid; read here, never changed.

    Attributes
    ----------
    names : dict
        From (scope, name) to the tid it points to; -1 for something else.
    history : dict
        Per name the (tid, line, ordinal) of its bindings, the newest last.
    rebound : list of Rebound
        Leaves whose names were taken away; whoever reads them takes them out.
    """

    def __init__(self, tensors: dict[int, TensorRecord]) -> None:
        self.names: dict[Key, int] = {}
        self.history: dict[Key, list[tuple[int, int | None, int]]] = {}
        self.rebound: list[Rebound] = []
        self._tensors = tensors
        self._pending: tuple[int, int | None] | None = None

    def bind(
        self,
        scope: str,
        name: str,
        tid: int,
        line: int | None,
        label: str,
        ordinal: int,
        source: str = "",
    ) -> None:
        """Note that a name now points to a tensor (-1: to something else)."""
        key = (scope, name)
        before = self.names.get(key)
        if before == tid or (before is None and tid < 0):
            return
        self.names[key] = tid
        old = self._tensors.get(before) if before is not None else None
        record = self._tensors.get(tid)
        past = self.history.setdefault(key, [])
        if old is not None and past and (old is record or (record is None and tid >= 0)):
            # The next step bound the same name at the same place. What the op made last
            # may be told after it: then it is not known yet.
            past[-1] = (tid, line, ordinal)
            return
        if old is not None:
            if old.is_leaf and old.requires_grad and tid >= 0:
                self.rebound.append(Rebound(ordinal, scope, name, old.tid, tid))
            for known in old.names:
                if (known.scope, known.name) == key:
                    known.current = False
        past.append((tid, line, ordinal))
        if len(past) > LONGEST_HISTORY:
            del past[1]
        if record is not None:
            self._add_name(record, Name(scope, name, line, label, ordinal, source=source))

    def _add_name(self, record: TensorRecord, name: Name) -> None:
        for known in record.names:
            if (known.scope, known.name, known.line) == (name.scope, name.name, name.line):
                known.current, known.ordinal = True, name.ordinal
                return
        record.names.append(name)
        if len(record.names) > LONGEST_HISTORY:
            del record.names[1]

    def _unbind_last(self, key: tuple[str, str]) -> None:
        record = self._tensors.get(self.names.get(key, -1))
        if record is not None and record.names:
            record.names.pop()
        if self.history.get(key):
            self.history[key].pop()

    def by_source(self, event: OpCalled, slot: OpSlot, place: Place | None) -> None:
        """Name tensors by what the source calls them.

        Inside functions nothing else can. At the top the names themselves are looked up,
        and this only comes earlier.
        """
        if place is None:
            return
        if event.direct:
            self._hint_operands(event, place)
        if not place.targets or not event.outputs:
            return
        made = self._tensors.get(event.outputs[0])
        if not event.direct and (not event.inputs or made is None or made.seen.parameter):
            # What a library makes for itself, such as the memory of a parameter.
            return
        scope = place.scope
        if not place.unpacked:
            if scope or _is_path(place.targets[0]):
                slot.key = (scope, place.targets[0])
                slot.line, slot.label = place.line, place.label
        elif event.direct and scope:
            for name, tid in zip(place.targets, event.outputs, strict=False):
                self.bind(scope, name, tid, place.line, place.label, event.ordinal)

    def returned(self, event: Accessed, place: Place | None) -> None:
        """Name a tensor whose method returned it, by what the source binds that to."""
        if place is None or place.unpacked or len(place.targets) != 1:
            return
        if place.attribute != event.what:
            return  # A library did it, on the way to what the name is for.
        if place.scope or _is_path(place.targets[0]):
            target, line = place.targets[0], place.line
            self.bind(place.scope, target, event.tid, line, place.label, event.ordinal)

    def output(self, site: int, direct: bool, tid: int, slot: OpSlot, ordinal: int) -> None:
        """Bind the name that the source gives an op's output.

        A module call runs several ops at one place. Each in turn is taken for the
        value; the last one is.
        """
        key = slot.key
        if key is None:
            return
        before = self.names.get(key)
        if before is not None and self._tensors.get(before) is self._tensors.get(tid):
            self.names[key] = tid
            self.history[key][-1] = (tid, self.history[key][-1][1], ordinal)
            return
        if not direct and self._pending == (site, before):
            self._unbind_last(key)
        self.bind(*key, tid, slot.line, slot.label, ordinal)
        self._pending = (site, tid)

    def _hint_operands(self, event: OpCalled, place: Place) -> None:
        words = _operand_names(place.operands)
        if len(words) != len(event.inputs):
            return
        for word, tid in zip(words, event.inputs, strict=True):
            record = self._tensors.get(tid)
            if record is None or not _is_path(word):
                continue
            record.hint = record.hint or word
            scope = place.scope
            if self.names.get((scope, word)) == tid or not (scope or "." in word) or "[" in word:
                continue
            if not any(n.name == word and not n.scope and n.current for n in record.names):
                # An argument, an attribute, or bound by something that is not seen.
                self.bind(scope, word, tid, None, place.label, event.ordinal)


@lru_cache(maxsize=1024)
def _operand_names(operands: tuple[str, ...]) -> list[str]:
    return [word for word in operands if not _is_literal_or_module(word)]


@lru_cache(maxsize=1024)
def _is_literal_or_module(word: str) -> bool:
    if is_module_word(word) or word in ("True", "False", "None"):
        return True
    if word.startswith(("'", '"', "(", "[")):
        return True
    try:
        float(word)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1024)
def _is_path(word: str) -> bool:
    return all(part.isidentifier() for part in word.replace("]", "").replace("[", ".i").split("."))
