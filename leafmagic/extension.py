"""Load and unload leafmagic in an IPython shell.

Everything that is put into a shell is put there by `Extension.load` and taken out
again by `Extension.unload`, so that a shell is afterwards what it was before.
"""

from __future__ import annotations

import re
import sys
import weakref
from types import FrameType
from typing import Any

from IPython.core.inputtransformer2 import cell_magic

from leafmagic.cellrun import CellRunner
from leafmagic.guard import note
from leafmagic.magics import LeafMagic, make_magics

NAME = "autograd"
SPARE_NAME = "leafmagic"
_EVENTS = ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell")
_KINDS = ("line", "cell")
_HELP = re.compile(r"%%\w+\?")

_loaded: weakref.WeakKeyDictionary[Any, Extension] = weakref.WeakKeyDictionary()
_left_on: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
"""By shell, always-on mode as it was when `%reload_ext` unloaded."""


class TracedCell:
    """Input transformer: turn ``%%autograd ARGS`` into an ordinary cell.

    Line 1 becomes one call that begins the trace and every other line stays where
    it is. So await, tracebacks, ``Out[n]`` and a stop on error work as without us.
    """

    # The function is pure. But IPython skips a transformer that says otherwise where it
    # only asks whether the input is complete, and there a cell magic has to be seen as
    # one: in a terminal it ends at a blank line, not after its first statement.
    has_side_effects = True

    def __init__(self, magics: LeafMagic, shell: Any) -> None:
        self.magics = magics
        self.shell = shell

    def __call__(self, lines: list[str]) -> list[str]:
        """Return the lines, the first one swapped where it is ours."""
        head = f"%%{self.magics.name}"
        if not lines or not lines[0].startswith(head) or _HELP.match(lines[0]):
            return lines
        args = lines[0][len(head) :]
        if args.strip() and not args[0].isspace():
            return lines
        if not any(line.strip() for line in lines[1:]) or not self.magics.owns("cell"):
            return lines
        call = f"get_ipython().magics_manager.registry['LeafMagic'].begin({args.strip()!r})"
        # A traceback may show this line: the comment says what the reader wrote there.
        call += f"  # {lines[0].strip()}\n"
        # Another cell magic below is, from here on, a call like any other.
        return [call, *cell_magic(lines[1:])]


class Extension:
    """What leafmagic has put into one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.replaced: dict[str, Any] = {}

    def load(self) -> None:
        """Register the magics, the input transformer, the events and the completer."""
        shell = self.shell
        name = self._free_name()
        self.magics = make_magics(shell, note)
        self.magics.take_name(name)
        tables = shell.magics_manager.magics
        self.replaced = {kind: tables[kind].get(name) for kind in _KINDS}
        self.registry_entry = shell.magics_manager.registry.get("LeafMagic")
        shell.register_magics(self.magics)
        self.transformer = TracedCell(self.magics, shell)
        shell.input_transformers_cleanup.append(self.transformer)
        self.runner: CellRunner = self.magics.runner
        for event in _EVENTS:
            shell.events.register(event, getattr(self.runner, event))
        shell.Completer.custom_matchers.append(self.magics.complete)

    def unload(self) -> None:
        """Take out all that `load` put in, and nothing that came from elsewhere."""
        shell = self.shell
        self.runner.end_all()
        self.runner.warm_up.wait()
        self.magics.always_on = None
        if self.transformer in shell.input_transformers_cleanup:
            shell.input_transformers_cleanup.remove(self.transformer)
        for event in _EVENTS:
            if getattr(self.runner, event) in shell.events.callbacks[event]:
                shell.events.unregister(event, getattr(self.runner, event))
        if self.magics.complete in shell.Completer.custom_matchers:
            shell.Completer.custom_matchers.remove(self.magics.complete)
        self._drop_magics()
        if self.magics in shell.configurables:
            shell.configurables.remove(self.magics)

    def _free_name(self) -> str:
        for kind in _KINDS:
            there = self.shell.magics_manager.magics[kind].get(NAME)
            if there is None or _is_lazy_leafmagic(there):
                continue
            owner = getattr(there, "__module__", None) or "another extension"
            note(
                f"%{NAME} belongs to {owner} already and stays theirs; "
                f"use %{SPARE_NAME} and %%{SPARE_NAME} instead"
            )
            return SPARE_NAME
        return NAME

    def _drop_magics(self) -> None:
        manager, name = self.shell.magics_manager, self.magics.name
        for kind in _KINDS:
            if not self.magics.owns(kind):
                if name in manager.magics[kind]:
                    mark = "%" if kind == "line" else "%%"
                    note(f"{mark}{name} was taken over by another extension and stays theirs")
            elif self.replaced[kind] is not None:
                manager.magics[kind][name] = self.replaced[kind]
            else:
                del manager.magics[kind][name]
        if manager.registry.get("LeafMagic") is self.magics:
            if self.registry_entry is None:
                manager.registry.pop("LeafMagic")
            else:
                manager.registry["LeafMagic"] = self.registry_entry


def _is_lazy_leafmagic(magic: Any) -> bool:
    """Whether a magic is only IPython's placeholder that will load leafmagic."""
    spec = getattr(magic, "spec", None)
    return isinstance(spec, str) and spec.partition(":")[0].partition(".")[0] == "leafmagic"


def load(shell: Any) -> None:
    """Load the extension; a second time changes nothing."""
    if shell not in _loaded:
        extension = Extension(shell)
        extension.load()
        extension.magics.always_on = _left_on.pop(shell, None)
        _loaded[shell] = extension


def unload(shell: Any) -> None:
    """Unload the extension; where it is not loaded nothing happens."""
    extension = _loaded.pop(shell, None)
    if extension is not None:
        _left_on.pop(shell, None)
        if extension.magics.always_on is not None and _is_reloading(sys._getframe(1)):
            _left_on[shell] = extension.magics.always_on
        extension.unload()


def _is_reloading(frame: FrameType | None) -> bool:
    """Tell whether `%reload_ext` unloads, which will load again; nothing else says so."""
    while frame is not None:
        if frame.f_code.co_name == "reload_extension":
            return frame.f_globals.get("__name__") == "IPython.core.extensions"
        frame = frame.f_back
    return False
