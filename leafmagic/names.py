"""Which variable points to which tensor.

The names of the cell are looked up each time its code arrives at a new statement;
modules and containers of the namespace are looked through once at the end.
"""

from __future__ import annotations

import contextlib
import difflib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from leafmagic.events import OpCalled
from leafmagic.ledger import REFS, Ledger, tid_of
from leafmagic.log import EventLog
from leafmagic.looks import AttributeStored, Bound, Event
from leafmagic.owners import is_users_name
from leafmagic.peeks import inside, is_a, method_of, parts_of, registered_in
from leafmagic.retaining import Retainer
from leafmagic.sites import Sites
from leafmagic.statements import AttributeStore, Statement, attribute_stores

_MISSING = object()


class NameWatch:
    """Reports when names of a namespace come to point to other tensors.

    Parameters
    ----------
    sites : Sites
    ledger : Ledger
    log : EventLog
    retainer : Retainer
        What keeps the gradients of names that were asked for.
    """

    def __init__(
        self,
        sites: Sites,
        ledger: Ledger,
        log: EventLog,
        retainer: Retainer,
    ) -> None:
        self._sites = sites
        self._ledger = ledger
        self._log = log
        self._retainer = retainer
        self._pointed: dict[str, int] = {}
        self._repeats: dict[str, Any] = {}
        self._last: dict[str, int] = {}
        self._strays: set[int] = set()
        """The ids of objects that had a stray attribute before."""

    def start(self, namespace: Mapping[str, Any], text: str = "") -> None:
        """Take down what the names point to before the cell of this text runs."""
        words = {word for word in re.findall(r"\.\s*(\w+)", text) if _is_near(word)}
        stores = [AttributeStore("", word, 0) for word in words]
        if stores:
            self._strays = {
                id(held) for held in _objects(namespace) if any(_is_stray(held, s) for s in stores)
            }
        for name, value in list(namespace.items()):
            if is_a(value, Tensor) and is_users_name(name):
                self._pointed[name] = id(value)
                # An odd subclass is left out; the other names are not.
                with contextlib.suppress(Exception):
                    self._report(name, self._ledger.tensor(value), None, None)

    def arrive(self, frame: FrameType, statement: int) -> None:
        """Look at the names that may have been bound on the way to a statement."""
        filename = frame.f_code.co_filename
        last = self._last.get(filename, 0)
        self._last[filename] = statement
        for passed in self._sites.between(filename, last, statement):
            for name in passed.names:
                value = frame.f_globals.get(name, _MISSING)
                self._look(name, value, passed, filename)

    def finish(self, namespace: Mapping[str, Any], filename: str | None) -> None:
        """Look at every name once more, at the end."""
        binding: dict[str, Statement] = {}
        if filename is not None:
            for statement in self._sites.statements(filename):
                binding.update(dict.fromkeys(statement.names, statement))
        for name, value in list(namespace.items()):
            if name in binding or name in self._pointed:
                self._look(name, value, binding.get(name), filename, final=True)
        for name in {*self._pointed, *binding} - set(namespace):
            self._look(name, _MISSING, binding.get(name), filename, final=True)

    def stray_attributes(
        self, text: str, label: str, namespace: Mapping[str, Any]
    ) -> list[AttributeStored]:
        """Find attributes that a cell stored and that torch ignores.

        ``p.require_grad = False`` is a new Python attribute, and so is
        ``module.requires_grad = False``: both change nothing. The source says where they
        might be, the objects whether they are. A local variable is gone; what it pointed to
        is known where one object has the attribute since now, and one statement can be why.
        """
        stores = [s for s in attribute_stores(text) if _is_near(s.name) and not s.own]
        found: list[AttributeStored] = []
        open_: dict[str, list[AttributeStore]] = {}
        for store in stores:
            root = re.split(r"[.\[]", store.owner)[0]
            held = None if store.local else _resolve(store.owner, namespace.get(root))
            if not _settled(store, held):
                open_.setdefault(store.name, []).append(store)
            elif _is_stray(held, store):
                found.append(self._stray(store, label, held))
        for left in open_.values():
            for held in _objects(namespace):
                may_be = [store for store in left if _is_stray(held, store)]
                if len(may_be) == 1 and id(held) not in self._strays:
                    found.append(self._stray(may_be[0], label, held))
                    left.remove(may_be[0])
        return found

    def _stray(self, store: AttributeStore, label: str, held: Any) -> AttributeStored:
        module = not is_a(held, Tensor)
        tid = -1 if module else tid_of(held)
        ordinal = self._log.next_ordinal()
        what = store.owner, store.name, tid, store.line, label, store.value, module
        return AttributeStored(ordinal, *what)

    def _look(
        self,
        name: str,
        value: Any,
        statement: Statement | None,
        filename: str | None,
        *,
        final: bool = False,
    ) -> None:
        if not is_users_name(name):
            return
        if not is_a(value, Tensor):
            if self._pointed.pop(name, None) is not None or final:
                self._report(name, -1, statement, filename)
            return
        try:
            tid = self._ledger.tensor(value)
        except Exception:
            return  # As above.
        if self._pointed.get(name) != tid:
            self._pointed[name] = tid
            repeat = REFS[id(value)].repeat
            again = repeat is not None and self._repeats.get(name) is repeat
            self._repeats[name] = repeat
            self._report(name, tid, statement, filename, again=again)
            self._retainer.keep(name, value)

    def _report(
        self,
        name: str,
        tid: int,
        statement: Statement | None,
        filename: str | None,
        *,
        again: bool = False,
    ) -> None:
        line = None if statement is None else statement.line
        source = "" if statement is None else statement.value
        label = self._sites.label(filename) if filename else ""
        seen = self._ledger.take()
        event = Bound(self._log.next_ordinal(), "", name, tid, line, label, source, *seen)
        if again and not seen[0]:
            self._log.replace((Bound, name, line), event)
        else:
            self._log.emit(event)


def _is_near(name: str) -> bool:
    return bool(difflib.get_close_matches(name, ["requires_grad"], cutoff=0.85))


def _settled(store: AttributeStore, held: Any) -> bool:
    """Tell whether an object is the one that a statement gave an attribute."""
    if is_a(held, Tensor) and store.name == "requires_grad":
        return True
    return held is not None and store.name in inside(held)


def _objects(namespace: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the tensors and modules of a namespace, and what is in them."""
    for value in list(namespace.values()):
        if is_a(value, Tensor):
            yield value
        elif is_a(value, torch.nn.Module):
            yield from [part for _, part in parts_of(value)]
            yield from [tensor for _, tensor in registered_in(value, "_parameters")]


def _is_stray(held: Any, store: AttributeStore) -> bool:
    """Tell whether an attribute is a mistake for certain: torch ignores it, and all code does.

    A module may have a setting of that name. It is no mistake where its class knows it.
    """
    if store.name not in inside(held) or not _agrees(store.value, inside(held)[store.name]):
        return False
    if is_a(held, Tensor):
        return store.name != "requires_grad"
    if not is_a(held, torch.nn.Module) or type(inside(held)[store.name]) is not bool:
        return False
    for kind in type(held).__mro__:
        if kind is torch.nn.Module:
            break
        if store.name in vars(kind) or any(
            store.name in code.co_names
            for code in (method_of(kind, name) for name in vars(kind))
            if code is not None
        ):
            return False
    return True


def _agrees(source: str, value: Any) -> bool:
    """Tell whether a value may be what a source says; of a literal that is known."""
    return value is (source == "True") if source in ("True", "False") else True


def _resolve(owner: str, value: Any) -> Any:
    """Follow ``net.layers[1]`` by attribute and index only; nothing is called."""
    parts = owner.replace("]", "").replace("[", ".[").split(".")
    for part in parts[1:]:
        try:
            if part.startswith("["):
                key = part[1:]
                value = value[int(key) if key.lstrip("-").isdigit() else key.strip("'\"")]
            else:
                value = getattr(value, part)
        except Exception:
            return None
    return value


def _caller(depth: int) -> FrameType | None:
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("leafmagic"):
        frame = frame.f_back
    return frame


def caller_namespace() -> dict[str, Any]:
    """Return the globals of the code that called into leafmagic."""
    frame = _caller(2)
    return frame.f_globals if frame is not None else {}


def caller_file() -> str:
    """Return the file name of the code that called into leafmagic."""
    frame = _caller(2)
    return frame.f_code.co_filename if frame is not None else ""


def adopted(
    tensors: tuple[Tensor, ...],
    namespace: dict[str, Any],
    ledger: Ledger,
    ordinal: Callable[[], int],
) -> Iterator[Event]:
    """Take in tensors that exist, with the names that a namespace has for what lies behind them.

    Yields
    ------
    Event
        What a trace would have seen of them.
    """
    tids = tuple(ledger.tensor(tensor) for tensor in tensors)
    yield OpCalled(ordinal(), 0, "", False, tids, (), *ledger.take(), True, ())
    for name, value in list(namespace.items()):
        if issubclass(type(value), Tensor) and is_users_name(name):
            tid = tid_of(value)
            if tid >= 0 and ledger.knows(value):
                yield Bound(ordinal(), "", name, tid, None, "", "", (), ())
