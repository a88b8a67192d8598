"""Which module or container holds which tensor."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from leafmagic.ledger import Ledger, tid_of
from leafmagic.looks import Event, Owned
from leafmagic.sites import Sites

_MOST_ITEMS = 64


def is_users_name(name: str) -> bool:
    """Tell a variable of the user's from IPython's own (``_``, ``_3``, ``In``)."""
    return not name.startswith("_") and name not in {"In", "Out", "exit", "quit"}


def owned(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Tensor, bool]]:
    """List the tensors that modules and containers of a namespace hold.

    Yields
    ------
    path : str
        Such as ``"net.0.weight"``, ``"outs[2]"`` or ``"state['h']"``; of what has the
        empty name only the rest, such as ``"0.weight"``.
    tensor : Tensor
    registered : bool
        Whether a module lists it as a parameter or buffer.
    """
    for name, value in list(namespace.items()):
        if not is_users_name(name):
            continue
        if isinstance(value, torch.nn.Module):
            yield from _of_module(name, value)
        elif isinstance(value, list | tuple) and type(value) in (list, tuple):
            for index, item in enumerate(value[:_MOST_ITEMS]):
                yield from _of_item(f"{name}[{index}]", item)
        elif type(value) is dict:
            for key, item in list(value.items())[:_MOST_ITEMS]:
                yield from _of_item(f"{name}[{key!r}]", item)


def _of_item(path: str, item: Any) -> Iterator[tuple[str, Tensor, bool]]:
    if isinstance(item, Tensor):
        yield path, item, False
    elif isinstance(item, torch.nn.Module):
        yield from _of_module(path, item)


def _of_module(path: str, module: torch.nn.Module) -> Iterator[tuple[str, Tensor, bool]]:
    start = f"{path}." if path else ""
    for name, parameter in module.named_parameters():
        yield start + name, parameter, True
    for name, buffer in module.named_buffers():
        yield start + name, buffer, True
    for prefix, part in module.named_modules():
        head = f"{start}{prefix}." if prefix else start
        for name, value in list(part.__dict__.items()):
            if isinstance(value, Tensor):
                yield head + name, value, False


def own(namespace: Mapping[str, Any], ledger: Ledger) -> Iterator[tuple[str, int, bool]]:
    """Like `owned`, for the tensors that this ledger has met, with their numbers."""
    for path, tensor, registered in owned(namespace):
        if ledger.knows(tensor):
            yield path, tid_of(tensor), registered


def owned_events(
    namespace: Mapping[str, Any], ledger: Ledger, ordinal: Callable[[], int]
) -> list[Event]:
    """Return an `Owned` event for each tensor of the trace that something holds."""
    return [Owned(ordinal(), path, tid, known) for path, tid, known in own(namespace, ledger)]


def root_module(frame: FrameType | None) -> torch.nn.Module | None:
    """Find the outermost module whose call is running.

    Only frames of ``Module._call_impl`` are looked into: asking a frame for its locals
    keeps them alive, and these end with the call.
    """
    found: torch.nn.Module | None = None
    call = torch.nn.Module._call_impl.__code__
    while frame is not None:
        if frame.f_code is call:
            candidate = frame.f_locals.get("self")
            if isinstance(candidate, torch.nn.Module):
                found = candidate
        frame = frame.f_back
    return found


def call_text(sites: Sites, frame: FrameType | None) -> str:
    """Return what the user's code calls the outermost module: ``model`` of ``model(x)``."""
    call = torch.nn.Module._call_impl.__code__
    outside = frame
    while frame is not None:
        if frame.f_code is call:
            outside = frame.f_back
        frame = frame.f_back
    site, _, _ = sites.find(outside)
    place = sites.place(site)
    if place is None or place.kind != "Call":
        return ""
    callee = place.source.partition("(")[0]
    return callee if callee and callee.replace(".", "").replace("_", "").isalnum() else ""


class ParameterPaths:
    """Finds the paths of parameters when they are first used.

    Parameters
    ----------
    sites : Sites
    namespace : callable
        Gives the namespace of the traced code.
    """

    def __init__(self, sites: Sites, namespace: Callable[[], Mapping[str, Any]]) -> None:
        self._sites = sites
        self._namespace = namespace
        # With a weak reference: an ``id()`` is used again when its tensor is gone.
        self._paths: dict[int, tuple[weakref.ref[Tensor], str]] = {}

    def find(self, frame: FrameType | None, new: list[tuple[int, Tensor]]) -> list[tuple[int, str]]:
        """Return the number and path of each new parameter that something holds.

        Parameters
        ----------
        frame : FrameType
            Where it is used: a module that is local there is found by its call.
        new : list of (tid, Tensor)
        """
        if any(self._path(tensor) is None for _, tensor in new):
            self._look(frame)
        found = [(tid, self._path(tensor)) for tid, tensor in new]
        return [(tid, path) for tid, path in found if path is not None]

    def _path(self, tensor: Tensor) -> str | None:
        known = self._paths.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else None

    def _look(self, frame: FrameType | None) -> None:
        modules = {
            name: value
            for name, value in list(self._namespace().items())
            if isinstance(value, torch.nn.Module)
        }
        root = root_module(frame)
        if root is not None and not any(root is module for module in modules.values()):
            text = call_text(self._sites, frame)
            if text and text not in modules:
                modules = {text: root, **modules}
        self._paths = {
            id(tensor): (weakref.ref(tensor), path)
            for path, tensor, known in owned(modules)
            if known
        }
