"""What modules hold without registering it: where it is set, and the code that registers it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import NamedTuple

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes
from leafmagic.findings.homes import Setting, home_of, setting_in
from leafmagic.findings.inline import Mend
from leafmagic.findings.leaves import made_at
from leafmagic.findings.reaching import reaching
from leafmagic.findings.source import Function, Source, source_at
from leafmagic.findings.texts import text_at
from leafmagic.findings.whence import whence
from leafmagic.looks import Held, Wired
from leafmagic.model import Model

_SET = re.compile(r"\s*([\w.]+\.\w+)\s*=\s*(.+)")


class Kept(NamedTuple):
    """Where a module gets an attribute that holds tensors, and does not register them.

    Attributes
    ----------
    path : str
        Of the attribute: ``net.keys``.
    place : Place
        Of the statement.
    source : Source or None
        The text; None where no more than the line is known.
    setting : Setting or None
    """

    path: str
    place: Place
    source: Source | None
    setting: Setting | None

    @property
    def value(self) -> str:
        """The source of what is set; empty where that is not known."""
        if self.source is not None and self.setting is not None and self.setting.value is not None:
            return " ".join(self.source.words(self.setting.value).split())
        found = _SET.fullmatch(self.place.text) if self.source is None else None
        return "" if found is None else found.group(2).strip()

    @property
    def target(self) -> str:
        """What the statement calls the attribute."""
        if self.setting is not None:
            return self.setting.target
        found = _SET.fullmatch(self.place.text)
        return self.path if found is None else found.group(1)


def kept_at(held: Held, event: Wired, model: Model, near: Iterable[Place | None]) -> Kept | None:
    """Return where a module gets what it holds without registering it.

    Parameters
    ----------
    near : iterable of Place
        Places in texts that may set it, from outside of the module's class.
    """
    home = home_of(event.modules, held.path)
    if home is not None:
        path = f"{home[0].path}.{home[1]}"
        setting = home[0].setting(home[1])
        inside = f"{path}."
        other = any(one.registered and one.path.startswith(inside) for one in event.held)
        if setting is not None and not (held.path.startswith(inside) and other):
            source = home[0].source
            return Kept(path, source.place(setting.node), source, setting)
    return _set_outside(held, model, near)


def _set_outside(held: Held, model: Model, near: Iterable[Place | None]) -> Kept | None:
    """Look for ``net.keys = ...`` in the code that uses a module."""
    path = held.path.partition("[")[0]
    name, record = path.rpartition(".")[2], model.tensor(held.tid)
    if record is None or record.count > 1 or record.index in reaching(model).read:
        return None  # What is set for each batch, or looked at, is an input.
    made = made_at(model, record)
    targets = [path]
    if made is not None and len(made.targets) == 1 and made.targets[0].endswith(f".{name}"):
        targets.append(made.targets[0])
    for place in (made, *near):
        if place is None:
            continue
        source = source_at(place)
        for target in targets:
            setting = setting_in(source, source.tree, target)
            if setting is not None and source.function(setting.node) is None:
                return Kept(path, source.place(setting.node), source, setting)
    place = None if made is not None else whence(model, record)
    found = None if place is None else _SET.fullmatch(place.text)
    if place is None or found is None or not found.group(1).endswith(f".{name}"):
        return None
    return Kept(path, place, None, None)


def told(kept: Kept, group: list[Held], optimizer: str) -> tuple[str, str, Mend]:
    """Say that what a statement sets is not registered.

    Returns
    -------
    variable, message : str
    mend : Mend
    """
    if group[0].path.startswith(f"{kept.path}."):
        subject = f"what `{kept.path}` holds gets gradients, but {optimizer} does not have it"
        what, mend = _of_object(kept, group)
        return kept.path, f"{subject}: {what}", mend
    names = list(dict.fromkeys(one.path.partition("[")[0] for one in group))
    if "[" in group[0].path:
        subject = f"what `{names[0]}` holds gets gradients, but {optimizer} does not have it"
        layers = any("." in one.path.rpartition("]")[2] for one in group)
        what = "layers in a plain list or dict are" if layers else "tensors in a list are"
        return names[0], f"{subject}: {what} not registered.", _listed(kept, layers=layers)
    if len(names) == 1:
        subject = f"`{names[0]}` gets gradients, but {optimizer} does not have it"
        what = "a plain tensor is no parameter of the module."
    else:
        rest = f"`{names[1]}`" if len(names) == 2 else f"{len(names) - 1} more"
        subject = f"`{names[0]}` and {rest} get gradients, but {optimizer} does not have them"
        what = "plain tensors are no parameters of the module."
    return names[0], f"{subject}: {what}", _parameter(kept, len(names))


def _parameter(kept: Kept, count: int) -> Mend:
    """Put ``nn.Parameter`` around what is set."""
    value = kept.value
    if not value or (count > 1 and not _is_computed(kept)):
        return Mend(f"put torch.nn.Parameter around what is set as {kept.target}")
    return _with_value(kept, f"torch.nn.Parameter({fixes.without_flag(value)})")


def _is_computed(kept: Kept) -> bool:
    return kept.setting is not None and kept.setting.computed


def _listed(kept: Kept, *, layers: bool) -> Mend:
    """Make a list of layers, or of tensors, that the module sees."""
    kind, node = "Module" if layers else "Parameter", kept.setting and kept.setting.value
    form = "Dict" if isinstance(node, ast.Dict | ast.DictComp) else "List"
    if not kept.value:
        return Mend(f"set {kept.target} to a torch.nn.{kind}{form}")
    inner = "" if kept.value in ("[]", "{}", "list()", "dict()") else kept.value
    return _with_value(kept, f"torch.nn.{kind}{form}({inner})")


def _with_value(kept: Kept, new: str) -> Mend:
    """Return the statement with another value."""
    line = f"{kept.target} = {new}"
    if kept.source is None or kept.setting is None or kept.setting.value is None:
        return Mend(line)
    edits = fixes.replace_expression(kept.source.place(kept.setting.value), new)
    plain = isinstance(kept.setting.node, ast.Assign) and len(kept.setting.node.targets) == 1
    if plain and isinstance(kept.setting.node.targets[0], ast.Attribute):  # type: ignore[attr-defined]
        return Mend(line, edits)
    return Mend(fixes.pasted(kept.place, edits) or line, edits)


def _of_object(kept: Kept, group: list[Held]) -> tuple[str, Mend]:
    """Tell of an object that is no module: what it holds is out of its owner's sight."""
    value = None if kept.setting is None else kept.setting.value
    kind = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
    thing = f"a {kind}" if kind else "that object"
    what = f"{thing} is no torch.nn.Module, and so nothing in it is registered."
    if not kind:
        return what, Mend(f"make the class of {kept.path} a torch.nn.Module")
    words = f"class {kind}(torch.nn.Module):  # and super().__init__() first in its __init__"
    edits = () if kept.source is None else _as_module(kept.source, kind)
    return what, Mend(words, edits if all(one.parameter for one in group) else ())


def _as_module(source: Source, kind: str) -> tuple[Edit, ...]:
    """Make a class without bases a module's."""
    for node in source.nodes:
        if not isinstance(node, ast.ClassDef) or node.name != kind or node.bases or node.keywords:
            continue
        init = next(
            (n for n in node.body if isinstance(n, Function) and n.name == "__init__"), None
        )
        text, place = text_at(source.place(node)), source.place(node)
        head = re.match(rf"\s*class\s+{kind}(\(\s*\))?", place.text)
        if head is None or init is None or init.decorator_list or node.decorator_list:
            continue
        start = (node.lineno, head.end() - len(head.group(1) or ""))
        based = text.edit(start, (node.lineno, head.end()), "(torch.nn.Module)")
        begun = fixes.insert_before(source.place(init.body[0]), "super().__init__()")
        return text.checked((based, *begun)) if begun else ()
    return ()
