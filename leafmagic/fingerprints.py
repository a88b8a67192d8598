"""Writes that torch does not count: through ``.data``, and through NumPy.

Such a write to memory that a node saved for backward gives wrong gradients, and no error.
Writes that torch runs are noted with their place. What NumPy holds is remembered by a
checksum of its bytes, compared whenever the cell comes to a new statement.
"""

from __future__ import annotations

import ctypes
import zlib
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from leafmagic.autograd import KNOWN_TYPES, grad_fn_of
from leafmagic.ledger import tid_of
from leafmagic.marks import ACCUMULATE_GRAD

_MOST_BYTES = 4_000_000
"""Larger memory is not summed up."""
_BUDGET = 64_000_000
"""So many bytes are summed up in one trace, some 50 ms."""
_MOST_SUMS = 1_500
_PIECES = 256
_LEAST_PIECE = 16
_MOST_KEPT = 16
_MOST_WRITES = 200
_MOST_MET = 10_000
_MOST_NODES = 2_000

_sequence: Any = torch._C._autograd._get_sequence_nr


class Span(NamedTuple):
    """A piece of the memory of a storage, held weakly."""

    storage: Any
    start: int
    end: int

    @property
    def step(self) -> int:
        """The size of a piece, as it is summed up."""
        return max(_LEAST_PIECE, -(-(self.end - self.start) // _PIECES))

    def part(self, one: tuple[int, ...], other: tuple[int, ...]) -> Span:
        """Return the memory between the first and the last piece that differ."""
        differ = [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
        first, last = self.start + differ[0] * self.step, self.start + (differ[-1] + 1) * self.step
        return Span(self.storage, first, min(last, self.end))

    def same_as(self, other: Span) -> bool:
        """Tell whether it is the same piece of the same storage."""
        return (self.storage.cdata, *self[1:]) == (other.storage.cdata, *other[1:])

    def meets(self, tensor: Tensor) -> bool:
        """Tell whether a tensor lies, in part, in this memory."""
        if self.storage.expired() or tensor.untyped_storage()._cdata != self.storage.cdata:
            return False
        start, end = _bounds(tensor)
        return start < self.end and self.start < end


@dataclass(slots=True)
class Write:
    """A write that the version counter of the saved tensor does not show.

    Attributes
    ----------
    how : str
        ``data``, ``set_data``, ``numpy`` or ``from_numpy``.
    site : int
        Of the write; for NumPy of where the memory was handed over.
    tid : int
        The tensor whose memory it is.
    sequence : int
        Nodes with a smaller number were made before.
    first, last : int
        For NumPy the lines between which the write was noticed; 0 where unknown.
    """

    how: str
    site: int
    tid: int
    sequence: int
    span: Span | None
    first: int = 0
    last: int = 0


@dataclass(slots=True)
class Alias:
    """Memory that NumPy holds, and what it summed up to when it was last looked at."""

    write: Write
    span: Span
    sums: tuple[int, ...] | None
    """One for each piece; None until the next look."""
    changed: bool = False


class Overwritten(NamedTuple):
    """What a node saved and what was written over it; see `leafmagic.breaks.MemoryChanged`."""

    how: str
    wrote: int
    tid: int
    first: int
    last: int
    node: Any
    slot: str


class MemoryWatch:
    """Remembers writes past the version counters.

    Attributes
    ----------
    aliases : list of Alias
        What NumPy holds.
    writes : int
        How often an op wrote in place, in whatever way.
    earlier : tuple of Write
        Those of earlier traces; their sites are negative.
    """

    def __init__(self) -> None:
        self.writes = 0
        self.earlier: tuple[Write, ...] = ()
        self.aliases: list[Alias] = []
        self._lent: dict[int, int] = {}
        """From the tid of a ``.data`` to that of its tensor."""
        self._writes: dict[tuple[str, int, int], Write] = {}
        self._met: set[int] = set()
        self._bytes = _BUDGET
        self._sums = _MOST_SUMS

    # Noting ------------------------------------------------------------------------

    def lend(self, data: int, tid: int) -> None:
        """Note that a tensor is the ``.data`` of another."""
        self._lent[data] = tid
        if len(self._lent) > 1_000:
            del self._lent[next(iter(self._lent))]

    def replaced(self, tensor: Tensor, site: int, value: int = -1) -> None:
        """Note that a tensor was given other memory, by an assignment to ``.data``.

        Parameters
        ----------
        value : int
            tid of the new one. ``x.data *= 2`` assigns what it wrote to, and that is noted.
        """
        tid = tid_of(tensor)
        if self._lent.get(value) == tid:
            return
        self._note(Write("set_data", site, tid, _sequence(), None))

    def wrote(self, targets: list[Tensor], site: int, index: Any = None) -> None:
        """Note a write, to all of some tensors or to elements of one, if it goes through ``.data``.

        Parameters
        ----------
        index : optional
            Of the elements.
        """
        self.writes += 1
        if not self._lent:
            return
        for target in targets:
            lent = self._lent.get(tid_of(target), -1)
            base = target._base if lent < 0 else None
            if base is not None:
                lent = self._lent.get(tid_of(base), -1)
            span = _span(_part(target, index)) if lent >= 0 else None
            if span is not None:
                self._note(Write("data", site, lent, _sequence(), span))
                self._refresh(span)

    def _note(self, write: Write) -> None:
        key = write.how, write.site, write.tid
        self._writes.pop(key, None)
        self._writes[key] = write
        if len(self._writes) > _MOST_WRITES:
            del self._writes[next(iter(self._writes))]

    def noted(self) -> list[Write]:
        """Return the writes through ``.data`` of this trace whose memory is still there."""
        return [one for one in self._writes.values() if is_there(one)]

    def hand_over(self, tensor: Tensor, site: int, how: str = "numpy") -> None:
        """Note that NumPy shares the memory of a tensor."""
        span = _span(tensor)
        if span is None or span.end - span.start > _MOST_BYTES:
            return
        self.aliases = [a for a in self.aliases if not a.span.storage.expired()]
        if any(a.span.same_as(span) for a in self.aliases):
            return
        sums = self._sum(span)
        if sums is not None:
            write = Write(how, site, tid_of(tensor), _sequence(), span)
            self.aliases = [*self.aliases, Alias(write, span, sums)][-_MOST_KEPT:]

    def meet(self, tids: tuple[int, ...], tensors: list[Tensor]) -> None:
        """Look at what an op is called with: NumPy may have given its memory."""
        for tid, tensor in zip(tids, tensors, strict=True):
            if tid in self._met or len(self._met) >= _MOST_MET:
                continue
            self._met.add(tid)
            plain = _is_plain(tensor) and tensor.device.type == "cpu"
            if plain and tensor.is_floating_point() and not tensor.untyped_storage().resizable():
                self.hand_over(tensor, 0, "from_numpy")

    # Comparing ---------------------------------------------------------------------

    def compare(self, line: int) -> None:
        """Look whether NumPy wrote since the last time; `line` is about to run."""
        again: list[Alias] = []
        for alias in self.aliases:
            if alias.changed:
                continue
            sums = self._sum(alias.span)
            if sums is None:
                continue
            write, before = alias.write, alias.sums
            if before is None or sums == before:
                alias.sums = sums
                write.sequence, write.first = _sequence(), line
            else:
                alias.changed, write.last = True, line
                new = replace(write, sequence=_sequence(), first=line, last=0)
                write.span = alias.span.part(before, sums)
                again.append(Alias(new, alias.span, sums))
        if again:
            self.aliases = [*self.aliases, *again][-_MOST_KEPT:]

    def _refresh(self, span: Span) -> None:
        """Take the memory as it is once a write of torch's is done."""
        for alias in self.aliases:
            if alias.span.storage.cdata == span.storage.cdata and not alias.changed:
                alias.sums = None

    def _sum(self, span: Span) -> tuple[int, ...] | None:
        """Sum up the bytes of memory, by pieces; None where that is too much, or it is gone."""
        size = span.end - span.start
        if self._sums <= 0 or self._bytes < size or span.storage.expired():
            return None
        storage: Any = torch.UntypedStorage._new_with_weak_ptr(span.storage.cdata)
        if storage is None or storage.nbytes() < span.end:
            return None
        self._sums -= 1
        self._bytes -= size
        # Not a copy: the storage lives as long as this does.
        memory = memoryview((ctypes.c_char * size).from_address(storage.data_ptr() + span.start))
        step = span.step
        return tuple([zlib.crc32(memory[at : at + step]) for at in range(0, size, step)])

    # Before a pass -----------------------------------------------------------------

    def overwritten(self, roots: list[Tensor]) -> list[Overwritten]:
        """Return what the nodes behind `roots` saved and what was written over since."""
        if self.aliases:
            self.compare(0)
        writes = [*self.earlier, *self._writes.values()]
        writes += [alias.write for alias in self.aliases if alias.changed]
        if not writes:
            return []
        found: dict[tuple[str, int, int], Overwritten] = {}
        newest = max([write.sequence for write in writes])
        for node in _nodes_behind(roots):
            sequence = int(node._sequence_nr())
            if sequence >= newest:
                continue
            late = [write for write in writes if sequence < write.sequence]
            for slot, tensor in _saved(node) if late else ():
                for write in filter(partial(_spoils, tensor), late):
                    how, site, tid = write.how, write.site, write.tid
                    found.setdefault(
                        (how, site, tid),
                        Overwritten(how, site, tid, write.first, write.last, node, slot),
                    )
        return list(found.values())


def is_there(write: Write) -> bool:
    """Tell whether the memory that was written to still exists, as far as that is known."""
    return write.span is None or not write.span.storage.expired()


def _spoils(tensor: Tensor, write: Write) -> bool:
    """Tell whether a write changed what a saved tensor holds."""
    if write.span is not None:
        return write.span.meets(tensor)
    # A leaf is saved as it is, and so is what becomes of it.
    return tid_of(tensor) == write.tid


def _nodes_behind(roots: list[Tensor]) -> list[Any]:
    """Return the nodes behind tensors; none where there are too many."""
    nodes = [node for root in roots if (node := grad_fn_of(root)) is not None]
    seen = {id(node) for node in nodes}
    for node in nodes:
        for child, _ in node.next_functions:
            if child is None or type(child) is ACCUMULATE_GRAD or id(child) in seen:
                continue
            seen.add(id(child))
            nodes.append(child)
        if len(nodes) > _MOST_NODES:
            return []
    return nodes


def _saved(node: Any) -> list[tuple[str, Tensor]]:
    """Return the tensors that a node saved, where they can be read without a detour."""
    found: list[tuple[str, Tensor]] = []
    for name in dir(type(node)):
        if not name.startswith(("_saved_", "saved_tensors")):
            continue
        raws = getattr(node, "_raw_" + name.lstrip("_"), ())
        raws = raws if isinstance(raws, list | tuple) else (raws,)
        if any(getattr(raw, "unpack_hook", None) is not None for raw in raws):
            continue
        try:
            value = getattr(node, name)
        except RuntimeError:
            # torch knows that it was changed, or it is freed.
            continue
        slot = name.removeprefix("_saved_")
        values = value if isinstance(value, list | tuple) else (value,)
        found += [(slot, value) for value in values if _is_plain(value)]
    return found


def _is_plain(value: Any) -> bool:
    """Tell whether a value is a tensor with memory that can be looked at."""
    return (
        type(value) in KNOWN_TYPES
        and value.layout == torch.strided
        and value.device.type != "meta"
        and not torch._C._functorch.is_functorch_wrapped_tensor(value)
    )


def _part(tensor: Tensor, index: Any) -> Tensor:
    """Return the elements at an index, where that is a view; else the tensor itself."""
    parts = index if isinstance(index, tuple) else (index,)
    if index is None or not all(type(part) in (int, slice, type(...)) for part in parts):
        return tensor
    try:
        return tensor.detach()[index]
    except (IndexError, TypeError, ValueError):
        # The write itself will say so.
        return tensor


def _span(tensor: Tensor) -> Span | None:
    """Return the memory of a tensor; None where it has none that can be looked at."""
    if not _is_plain(tensor) or not tensor.numel():
        return None
    held: Any = StorageWeakRef
    return Span(held(tensor.untyped_storage()), *_bounds(tensor))


def _bounds(tensor: Tensor) -> tuple[int, int]:
    """Return the first byte of a tensor in its storage, and the one after the last."""
    size = tensor.element_size()
    start = int(tensor.storage_offset())
    last = start + sum(
        (n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True)
    )
    return start * size, (last + 1) * size if tensor.numel() else start * size
