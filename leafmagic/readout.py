"""Numbers about tensors, kept on their devices until they are fetched together."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from leafmagic.breaks import Measured
from leafmagic.counting import readable

Key = tuple[str, int]
Kind = tuple[torch.device, torch.dtype]

_SAMPLE = 4_096
"""So many elements, evenly spread, stand for all in a histogram."""
LOWEST, HIGHEST = -8, 3
"""Powers of ten at the ends of a histogram; what lies beyond is counted there."""
BINS = HIGHEST - LOWEST + 1


class Readout:
    """Measures tensors, and fetches what it measured in one transfer for each device.

    Attributes
    ----------
    transfers : int
        How many there were.
    """

    def __init__(self) -> None:
        self._numbers: dict[Kind, list[Tensor]] = {}
        """Tensors of no dimension, stacked when they are fetched."""
        self._owners: dict[Kind, list[tuple[Any, int]]] = {}
        self._sizes: dict[Key, int] = {}
        self.transfers = 0

    def begin(self, root: Tensor | None) -> None:
        """Take down the value that a pass begins at, if it is one number."""
        if root is not None and root.numel() == 1 and readable((root,)) and not root.is_complex():
            self._put("root", root.detach().reshape(()))

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
        grad = grad.detach()
        if grad.is_complex():
            grad = torch.view_as_real(grad.resolve_conj())
        self._sizes[key] = grad.numel()
        wide = _wide(grad)
        norm = torch.linalg.vector_norm(grad, dtype=wide)
        low, high = torch.aminmax(grad)
        self._put(key, norm, low.to(wide), high.to(wide), grad.sum(dtype=wide))
        self._put(("filled", *key), torch.count_nonzero(grad))
        if histogram:
            self._put(("histogram", *key), *_histogram(grad).unbind())
        here = grad.device.type == "cpu"
        if here and math.isfinite(norm.item()):
            return True
        self._put(("bad", *key), torch.isfinite(grad).logical_not_().sum())
        if here:
            # The sum of squares may be too large for its type where no element is.
            self._put(("large", *key), torch.linalg.vector_norm(grad.to(torch.float64)))
        return False

    def moved(self, tid: int, before: Tensor, now: Tensor) -> None:
        """Compare the values of a leaf with those from before a step."""
        norm, wide = torch.linalg.vector_norm, _wide(now)
        self._put(("moved", tid), norm(now - before, dtype=wide), norm(before, dtype=wide))

    def _put(self, owner: Any, *numbers: Tensor) -> None:
        kind = numbers[0].device, numbers[0].dtype
        self._numbers.setdefault(kind, []).extend(numbers)
        self._owners.setdefault(kind, []).append((owner, len(numbers)))

    def fetch(self) -> tuple[float | None, dict[Key, Measured], list[tuple[int, float]]]:
        """Return the value of the root, what was measured, and how far leaves moved."""
        found: dict[Any, list[float]] = {}
        for device in {device for device, _ in self._numbers}:
            kinds = [kind for kind in self._numbers if kind[0] == device]
            flat = self._bring(device, kinds)
            at = 0
            for owner, size in (owned for kind in kinds for owned in self._owners[kind]):
                found[owner] = flat[at : at + size]
                at += size
        sizes = dict(self._sizes)
        self.clear()
        value = found.get("root", [None])[0]
        measured = {key: _measured(key, size, found) for key, size in sizes.items()}
        moved = [(key[1], _ratio(*pair)) for key, pair in found.items() if key[0] == "moved"]
        return value, measured, moved

    def _bring(self, device: torch.device, kinds: list[Kind]) -> list[float]:
        """Fetch all numbers that lie on a device."""
        if device.type != "cpu":
            # Hooks may have run on other streams.
            torch.accelerator.synchronize(device)
        double = device.type == "cpu" or any(dtype is torch.float64 for _, dtype in kinds)
        wide = torch.float64 if double else torch.float32
        self.transfers += 1
        flat = torch.cat([torch.stack(self._numbers[kind]).to(wide) for kind in kinds])
        numbers: list[float] = flat.tolist()
        return numbers

    def clear(self) -> None:
        """Forget what was not fetched."""
        self._numbers, self._owners, self._sizes = {}, {}, {}


def _wide(tensor: Tensor) -> torch.dtype:
    return torch.float64 if tensor.dtype is torch.float64 else torch.float32


def _ratio(change: float, size: float) -> float:
    if size > 0:
        return change / size
    return 0.0 if change == 0 else math.inf


def _measured(key: Key, size: int, numbers: dict[Any, list[float]]) -> Measured:
    norm, low, high, total = numbers[key]
    filled = numbers[("filled", *key)][0]
    bad = int(numbers.get(("bad", *key), [0.0])[0])
    if math.isinf(norm) and not bad:
        norm = numbers.get(("large", *key), [norm])[0]
    histogram = tuple(map(int, numbers.get(("histogram", *key), ())))
    largest = low if math.isnan(low) else max(abs(low), abs(high))
    return Measured(norm, largest, total / size, 1 - filled / size, bad, size, histogram)


def spread(tensor: Tensor, most: int) -> Tensor:
    """Return so many elements, evenly spread, or all where there are few."""
    flat = tensor.reshape(-1)
    return flat[:: -(-flat.numel() // most)]


def _histogram(grad: Tensor) -> Tensor:
    """Count elements by their power of ten; zeros and what is not finite are left out."""
    some = spread(grad, _SAMPLE)
    powers = some.abs().to(torch.float32).log10().floor().clamp(LOWEST, HIGHEST)
    sizes = torch.arange(LOWEST, HIGHEST + 1, device=grad.device, dtype=torch.float32)
    sound = torch.isfinite(some) & (some != 0)
    return ((powers.unsqueeze(0) == sizes.unsqueeze(1)) & sound.unsqueeze(0)).sum(1)
