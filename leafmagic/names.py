"""Which variable points to which tensor.

The names of the cell are looked up each time its code arrives at a new statement;
modules and containers of the namespace are looked through once at the end.
"""

from __future__ import annotations

import contextlib
import difflib
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from leafmagic.ledger import REFS, Ledger, tid_of
from leafmagic.log import EventLog
from leafmagic.looks import AttributeStored, Bound, Event
from leafmagic.owners import is_users_name
from leafmagic.peeks import is_a
from leafmagic.retaining import retain_if_possible
from leafmagic.sites import Sites
from leafmagic.statements import Statement, attribute_stores

_MISSING = object()


class NameWatch:
    """Reports when names of a namespace come to point to other tensors.

    Parameters
    ----------
    sites : Sites
    ledger : Ledger
    log : EventLog
    retain : tuple of str
        Names whose tensors get ``retain_grad()`` as soon as they can have it.
    """

    def __init__(
        self,
        sites: Sites,
        ledger: Ledger,
        log: EventLog,
        retain: tuple[str, ...] = (),
    ) -> None:
        self._sites = sites
        self._ledger = ledger
        self._log = log
        self._retain = frozenset(retain)
        self._pointed: dict[str, int] = {}
        self._repeats: dict[str, Any] = {}
        self._last: dict[str, int] = {}

    def start(self, namespace: Mapping[str, Any]) -> None:
        """Take down what the names point to before the cell runs."""
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
            if name in self._retain:
                retain_if_possible(value, tid, self._log)

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


def stray_attributes(
    text: str, label: str, namespace: Mapping[str, Any], ordinal: Callable[[], int]
) -> list[Event]:
    """Find attributes that a cell stored and that torch ignores.

    ``p.require_grad = False`` is a new Python attribute, and so is
    ``module.requires_grad = False``: both change nothing. The source says where they
    might be, the objects whether they are.
    """
    found: list[Event] = []
    for owner, name, line in attribute_stores(text):
        if not difflib.get_close_matches(name, ["requires_grad"], cutoff=0.85):
            continue
        held = _resolve(owner, namespace.get(owner.split(".")[0].split("[")[0]))
        if held is None:
            held = _holder(name, namespace)
        if _is_stray(held, name):
            tid = tid_of(held) if is_a(held, Tensor) else -1
            found.append(AttributeStored(ordinal(), owner, name, tid, line, label))
    return found


def _holder(name: str, namespace: Mapping[str, Any]) -> Any:
    """Find a module or parameter of the namespace that has a stray attribute."""
    for value in list(namespace.values()):
        if isinstance(value, torch.nn.Module):
            for held in [*value.modules(), *value.parameters()]:
                if _is_stray(held, name):
                    return held
    return None


def _is_stray(held: Any, name: str) -> bool:
    if isinstance(held, torch.nn.Module):
        return name in held.__dict__ and not hasattr(type(held), name)
    if isinstance(held, Tensor):
        return name != "requires_grad" and name in getattr(held, "__dict__", {})
    return False


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
