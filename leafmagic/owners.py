"""Which module or container holds which tensor."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from leafmagic.autograd import is_leaf
from leafmagic.cell import is_user_file
from leafmagic.ledger import Ledger, tid_of
from leafmagic.looks import Event, Held, ModuleSeen, OptimizerSeen, Owned, Wired
from leafmagic.peeks import (
    given_to,
    inside,
    is_a,
    method_of,
    parts_of,
    registered_in,
    safely,
    spelt,
)
from leafmagic.sites import Sites

_MOST_ITEMS = 64
_MOST_HELD = 5_000
_MOST_CONTAINERS, _DEEPEST = 64, 4
_CONTAINERS = (list, tuple, dict)
_METHODS = ("forward", "__init__")


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
        if is_a(value, torch.nn.Module):
            yield from safely(_of_module(name, value))
        else:
            for path, item in safely(_all_items(name, value)):
                yield from safely(_of_item(path, item))


def _all_items(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the items of a container, those of containers in it, and leaves far down a list."""
    queue, seen = [(path, value)], {id(value)}
    for index, (at, container) in enumerate(queue):
        if index >= _MOST_CONTAINERS:
            return
        for where, item in _items(at, container):
            if type(item) in _CONTAINERS:
                if id(item) not in seen and where.count("[") < _DEEPEST:
                    seen.add(id(item))
                    queue.append((where, item))
            else:
                yield where, item
        if type(container) in (list, tuple):
            for number, item in enumerate(container[_MOST_ITEMS:_MOST_HELD], _MOST_ITEMS):
                if is_a(item, Tensor) and is_leaf(item) and item.requires_grad:
                    yield f"{at}[{number}]", item


def _items(path: str, value: Any) -> list[tuple[str, Any]]:
    """Return the items of a container that can be spelt; nothing of what is no container."""
    pairs: Any = ()
    if type(value) in (list, tuple):
        pairs = enumerate(value[:_MOST_ITEMS])
    elif type(value) is dict:
        pairs = list(value.items())[:_MOST_ITEMS]
    return [(f"{path}[{word}]", item) for key, item in pairs if (word := spelt(key)) is not None]


def _of_item(path: str, item: Any) -> Iterator[tuple[str, Tensor, bool]]:
    if is_a(item, Tensor):
        yield path, item, False
    elif is_a(item, torch.nn.Module):
        yield from _of_module(path, item)


def _of_module(path: str, module: torch.nn.Module) -> Iterator[tuple[str, Tensor, bool]]:
    start = f"{path}." if path else ""
    for name, parameter in registered_in(module, "_parameters"):
        yield start + name, parameter, True
    for name, buffer in registered_in(module, "_buffers"):
        yield start + name, buffer, True
    for prefix, part in parts_of(module):
        head = f"{start}{prefix}." if prefix else start
        for name, value in list(inside(part).items()):
            if is_a(value, Tensor):
                yield head + name, value, False


def own(namespace: Mapping[str, Any], ledger: Ledger) -> Iterator[tuple[str, int, bool]]:
    """Like `owned`, for the tensors that this ledger has met, with their numbers."""
    for path, tensor, registered in owned(namespace):
        if ledger.knows(tensor):
            yield path, tid_of(tensor), registered


def owned_events(
    namespace: Mapping[str, Any],
    ledger: Ledger,
    ordinal: Callable[[], int],
    label: Callable[[str], str] | None = None,
) -> list[Event]:
    """Return an `Owned` event for each tensor of the trace that something holds.

    Parameters
    ----------
    label : callable, optional
        From a file name to what the reader calls it. Given at the end of a trace, when a
        `Wired` event comes last.
    """
    found: list[Event] = [
        Owned(ordinal(), path, tid, known) for path, tid, known in own(namespace, ledger)
    ]
    if label is not None:
        found.append(wired(namespace, ledger, ordinal, label))
    return found


def wired(
    namespace: Mapping[str, Any],
    ledger: Ledger,
    ordinal: Callable[[], int],
    label: Callable[[str], str],
) -> Wired:
    """Describe what the modules and optimizers of a namespace hold.

    Of modules that the trace did not meet nothing is said.
    """
    modules = [
        (path, module, [*safely(_deep(path, module))])
        for path, module in _things(namespace, torch.nn.Module)
    ]
    met = [all_ for all_ in modules if any(ledger.knows(tensor) for _, tensor, _ in all_[2])]
    optimizers = [*_things(namespace, torch.optim.Optimizer)]
    owners: dict[int, list[int]] = {}
    for _, optimizer in optimizers:
        for tensor in given_to(optimizer):
            owners.setdefault(id(tensor), []).append(id(optimizer))
    everything = [tensor for _, tensor, _ in owned(namespace)]
    everything += [tensor for _, tensor in _things(namespace, Tensor)]
    everything += [tensor for _, _, tensors in modules for _, tensor, _ in tensors]
    alive = {id(tensor) for tensor in everything}
    held = [
        _held(name, path, tensor, ledger, registered, tuple(owners.get(id(tensor), ())))
        for path, _, tensors in met
        for name, tensor, registered in tensors[:_MOST_HELD]
    ]
    seen = tuple(
        OptimizerSeen(
            id(optimizer),
            path,
            type(optimizer).__name__,
            len(given_to(optimizer)),
            sum(id(tensor) not in alive for tensor in given_to(optimizer)),
        )
        for path, optimizer in optimizers
    )
    return Wired(ordinal(), tuple(held), tuple(_homes(met, label)), seen)


def _things(namespace: Mapping[str, Any], kind: Any) -> Iterator[tuple[str, Any]]:
    """Yield what is of a kind: variables, items of containers, attributes of objects."""
    seen: set[int] = set()
    for name, value in list(namespace.items()):
        if not is_users_name(name):
            continue
        found: list[tuple[str, Any]] = [(name, value), *_items(name, value)]
        if is_user_file(_file_of(type(value))):
            found += [(f"{name}.{k}", item) for k, item in _attributes(value)]
        for path, item in found:
            if is_a(item, kind) and id(item) not in seen:
                seen.add(id(item))
                yield path, item


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """Return the attributes of an object of the user's that is no module."""
    if is_a(value, torch.nn.Module | Tensor | type):
        return []
    return list(inside(value).items())[:_MOST_ITEMS]


def _deep(path: str, module: torch.nn.Module) -> Iterator[tuple[str, Tensor, bool]]:
    """Like `_of_module`, and with what lists, dicts and objects of the user's in it hold."""
    seen: set[int] = set()
    for where, tensor, registered in _of_module(path, module):
        seen.add(id(tensor))
        yield where, tensor, registered
    for prefix, part in parts_of(module):
        head = f"{path}.{prefix}." if prefix else f"{path}."
        for name, value in list(inside(part).items()):
            if name.startswith("_"):
                continue
            found = _items(f"{head}{name}", value)
            if is_user_file(_file_of(type(value))):
                found += [(f"{head}{name}.{k}", item) for k, item in _attributes(value)]
            for at, item in found:
                for where, tensor, _ in safely(_of_item(at, item)):
                    if id(tensor) not in seen:  # What is registered has its path already.
                        yield where, tensor, False


def _held(
    path: str, root: str, tensor: Tensor, ledger: Ledger, registered: bool, owners: tuple[int, ...]
) -> Held:
    try:
        leaf, filled = tensor.is_leaf, tensor.is_leaf and tensor.grad is not None
    except Exception:
        # A view that torch forbids to look at, or an odd subclass.
        leaf, filled = False, False
    try:
        needs, parameter = tensor.requires_grad, isinstance(tensor, torch.nn.Parameter)
        shape = tuple(tensor.shape)
    except Exception:
        needs, parameter, shape = False, False, ()
    return Held(
        path,
        root,
        tid_of(tensor) if ledger.knows(tensor) else -1,
        registered,
        parameter,
        needs,
        leaf,
        filled,
        owners,
        shape,
    )


def _file_of(kind: type) -> str:
    """Return the file of the code of a class; empty where it has none of its own."""
    for name in ("forward", "__init__", "__call__"):
        code = method_of(kind, name)
        if code is not None:
            return str(code.co_filename)
    return ""


def _homes(
    roots: list[tuple[str, torch.nn.Module, Any]], label: Callable[[str], str]
) -> Iterator[ModuleSeen]:
    for root, module, _ in roots:
        for prefix, part in parts_of(module):
            kind = type(part)
            mine = [method_of(kind, name) for name in _METHODS]
            code = next((one for one in mine if one is not None), None)
            if code is not None and is_user_file(code.co_filename):
                path = f"{root}.{prefix}" if prefix else root
                filename = str(code.co_filename)
                yield ModuleSeen(
                    path, kind.__name__, filename, label(filename), code.co_firstlineno
                )


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
            if is_a(candidate, torch.nn.Module):
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
            if is_a(value, torch.nn.Module)
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
