"""How far the steps of a loop move its leaves."""

from __future__ import annotations

import weakref

import torch
from torch import Tensor

from leafmagic.counting import readable
from leafmagic.readout import Readout, spread

_SAMPLE = 1_024
"""So many elements, evenly spread, stand for all."""
_MOST_LEAVES = 2_000


class Drift:
    """Keeps a few values of each leaf from one pass, until the leaf was changed.

    The leaves themselves are referenced weakly.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, weakref.ref[Tensor], int, int, Tensor]] = []

    def __bool__(self) -> bool:
        """Tell whether there is anything to compare with."""
        return bool(self._waiting)

    def take(self, leaves: list[tuple[int, Tensor | None]]) -> None:
        """Take down values of leaves, by their numbers, at the end of a pass."""
        waiting = {tid for tid, *_ in self._waiting}
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for tid, leaf in leaves[:_MOST_LEAVES]:
                if leaf is None or tid in waiting or not _has_values(leaf):
                    continue
                entry = (
                    tid,
                    weakref.ref(leaf),
                    leaf._version,
                    leaf.data_ptr(),
                    spread(leaf.detach(), _SAMPLE).clone(),
                )
                self._waiting.append(entry)

    def read(self, readout: Readout) -> None:
        """Compare the leaves that were changed since, and forget those."""
        left = []
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for entry in self._waiting:
                tid, ref, version, at, before = entry
                leaf = ref()
                if leaf is None or not _has_values(leaf):
                    continue
                if leaf._version == version and leaf.data_ptr() == at:
                    left.append(entry)
                    continue
                now = spread(leaf.detach(), _SAMPLE)
                if now.device == before.device and now.shape == before.shape:
                    readout.moved(tid, before, now)
        self._waiting = left

    def clear(self) -> None:
        """Forget all."""
        self._waiting = []


def _has_values(leaf: Tensor) -> bool:
    """Tell whether a leaf has memory of its own that can be read."""
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor(leaf)
    return not wrapped and bool(readable((leaf,))) and leaf.numel() > 0
