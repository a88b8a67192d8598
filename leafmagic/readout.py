"""Numbers about tensors, kept on their devices until they are fetched together."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from leafmagic.breaks import Measured
from leafmagic.counting import readable

Key = tuple[str, int]

_SAMPLE = 4_096
"""So many elements, evenly spread, stand for all in a histogram."""
LOWEST, HIGHEST = -8, 3
"""Powers of ten at the ends of a histogram; what lies beyond is counted there."""
BINS = HIGHEST - LOWEST + 1


class Readout:
    """Measures tensors, and fetches what it measured in one transfer for each device."""

    def __init__(self) -> None:
        self._rows: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
        self._owners: dict[tuple[torch.device, torch.dtype], list[tuple[Any, int]]] = {}
        self._sizes: dict[Key, int] = {}
        self.transfers = 0

    def begin(self, root: Tensor | None) -> None:
        """Take down the value that a pass begins at, if it is one number."""
        if root is not None and root.numel() == 1 and readable((root,)) and not root.is_complex():
            self._put("root", root.detach().reshape(1))

    def add(self, key: Key, grad: Tensor, *, histogram: bool) -> bool:
        """Measure a gradient.

        Parameters
        ----------
        key : tuple of (str, int)
            What is measured; the first measurement of a key counts.
        grad : Tensor
            Strided, of floating or complex numbers.
        histogram : bool
            Whether elements are counted by their power of ten, too.

        Returns
        -------
        bool
            Whether all elements are known to be finite already.
        """
        if key in self._sizes or not grad.numel():
            return True
        self._sizes[key] = grad.numel()
        grad = grad.detach()
        if grad.is_complex():
            grad = torch.view_as_real(grad.resolve_conj())
        low, high = torch.aminmax(grad)
        wide = torch.float64 if grad.dtype is torch.float64 else torch.float32
        norm = torch.linalg.vector_norm(grad, dtype=wide)
        filled = torch.count_nonzero(grad)
        facts = [norm, low.to(wide), high.to(wide), grad.mean(dtype=wide), filled.to(wide)]
        self._put(key, torch.stack(facts))
        if histogram:
            self._put(("histogram", *key), _histogram(grad).to(wide))
        here = grad.device.type == "cpu"
        if here and math.isfinite(norm.item()):
            return True
        self._put(("bad", *key), torch.isfinite(grad).logical_not_().sum().to(wide).reshape(1))
        if here:
            # The sum of squares may be too large for its type where no element is.
            self._put(("large", *key), torch.linalg.vector_norm(grad.to(torch.float64)).reshape(1))
        return False

    def moved(self, tid: int, before: Tensor, now: Tensor) -> None:
        """Compare the values of a leaf with those from before a step."""
        wide = torch.float64 if now.dtype is torch.float64 else torch.float32
        change = torch.linalg.vector_norm((now - before), dtype=wide)
        size = torch.linalg.vector_norm(before, dtype=wide)
        self._put(("moved", tid), torch.stack([change, size]))

    def _put(self, owner: Any, row: Tensor) -> None:
        key = row.device, row.dtype
        self._rows.setdefault(key, []).append(row)
        self._owners.setdefault(key, []).append((owner, row.numel()))

    def fetch(self) -> tuple[float | None, dict[Key, Measured], list[tuple[int, float]]]:
        """Return the value of the root, what was measured, and how far leaves moved."""
        numbers: dict[Any, list[float]] = {}
        for key, rows in self._rows.items():
            device = key[0]
            if device.type != "cpu":
                # Hooks may have run on other streams.
                torch.accelerator.synchronize(device)
            flat = torch.cat(rows).tolist()
            self.transfers += 1
            at = 0
            for owner, size in self._owners[key]:
                numbers[owner] = flat[at : at + size]
                at += size
        sizes = dict(self._sizes)
        self.clear()
        value = numbers.get("root", [None])[0]
        found = {key: _measured(key, size, numbers) for key, size in sizes.items()}
        moved = [
            (owner[1], _ratio(*pair)) for owner, pair in numbers.items() if owner[0] == "moved"
        ]
        return value, found, moved

    def clear(self) -> None:
        """Forget what was not fetched."""
        self._rows, self._owners, self._sizes = {}, {}, {}


def _ratio(change: float, size: float) -> float:
    if size > 0:
        return change / size
    return 0.0 if change == 0 else math.inf


def _measured(key: Key, size: int, numbers: dict[Any, list[float]]) -> Measured:
    norm, low, high, mean, filled = numbers[key]
    bad = int(numbers.get(("bad", *key), [0.0])[0])
    if math.isinf(norm) and not bad:
        norm = numbers.get(("large", *key), [norm])[0]
    histogram = tuple(map(int, numbers.get(("histogram", *key), ())))
    largest = low if math.isnan(low) else max(abs(low), abs(high))
    return Measured(norm, largest, mean, 1 - filled / size, bad, size, histogram)


def _histogram(grad: Tensor) -> Tensor:
    """Count elements by their power of ten; zeros and what is not finite are left out."""
    flat = grad.reshape(-1)
    step = -(-flat.numel() // _SAMPLE)
    powers = flat[::step].abs().to(torch.float32).log10().floor().clamp(LOWEST, HIGHEST)
    sizes = torch.arange(LOWEST, HIGHEST + 1, device=grad.device, dtype=torch.float32)
    sound = torch.isfinite(flat[::step]) & (flat[::step] != 0)
    return ((powers.unsqueeze(0) == sizes.unsqueeze(1)) & sound.unsqueeze(0)).sum(1)
