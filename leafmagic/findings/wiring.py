"""Parameters that a module does not know, or that cannot be set as they are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.events import Accessed
from leafmagic.findings import fixes
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.guards import node_at
from leafmagic.findings.homes import self_at
from leafmagic.findings.inline import Mend
from leafmagic.findings.leaves import classify_read, made_at, meant_leaf, unfilled_read
from leafmagic.findings.source import Source, source_at
from leafmagic.looks import Raised, Wired
from leafmagic.model import Model
from leafmagic.records import TensorRecord

REFUSED = re.compile(r"cannot assign '[^']*' as parameter '(\w+)'")


@register
class NotRegistered(Rule):
    """An op behind ``nn.Parameter(...)`` leaves the module with a plain tensor.

    ``nn.Parameter(t).to(dtype)``, or ``0.1 * nn.Parameter(t)``, is the result of an op: a
    tensor that requires grad, but no parameter. The module does not register it, so that it
    is neither trained nor saved nor moved, and the parameter itself has no name.

    Failing cell::

        class Scaler(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.gain = torch.nn.Parameter(torch.ones(3)).to(torch.float64)
        s = Scaler()
        print(len(list(s.parameters())))       # 0

    Fixed::

        class Scaler(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.gain = torch.nn.Parameter(torch.ones(3).to(torch.float64))
        s = Scaler()
        print(len(list(s.parameters())))       # 1

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
    """

    kind = "param_wiring"
    code = "LM421"
    events = (Accessed, Wired)

    def __init__(self) -> None:
        self._read: set[int] = set()
        """Sites of what has been told already, when its gradient was read."""

    def check(self, event: Accessed | Wired, model: Model) -> Iterator[Finding]:
        """Look at what was set in the ``__init__`` of a module."""
        if isinstance(event, Accessed):
            read = unfilled_read(event, model)
            if read is not None and classify_read(model, *read)[0] == "hidden_leaf":
                self._read.add(read[0].made.site)
            return
        told = set(self._read)
        for record in list(model.slots.records):
            if record.nid < 0 or record.made.site in told:
                continue
            place = made_at(model, record)
            if place is None or "Parameter(" not in place.source or len(place.targets) != 1:
                continue
            target = place.targets[0]
            if not _is_in_module(place, target):
                continue
            meant = meant_leaf(model, record)
            if meant is None or not meant.anonymous or not meant.leaf.seen.parameter:
                continue
            told.add(record.made.site)
            wrapped = _wrapped(place)
            yield self.finding(
                f"`{target}` is the result of `{record.made.what}`, not a parameter: "
                "the module does not register it.",
                fix=f"{target} = {wrapped}"
                if wrapped
                else f"put torch.nn.Parameter around all of what is set as `{target}`",
                edits=fixes.replace_expression(place, wrapped) if wrapped else (),
                variable=target,
                cause=place,
                symptom=_noticed(event, target, model) or place.line,
                record=record,
            )


def _noticed(event: Wired, target: str, model: Model) -> int | None:
    """Return the newest pass behind which such a tensor lies, or None."""
    attribute = target.partition(".")[2]
    held = any(one.path.endswith(f".{attribute}") for one in event.held)
    return model.line(model.passes[-1].site) if held and model.passes else None


def _is_in_module(place: Place, target: str) -> bool:
    """Tell whether a line sets an attribute in the ``__init__`` of a class that is a module's."""
    if place.function.rpartition(".")[2] != "__init__" or "." not in target:
        return False
    source = source_at(place)
    node = node_at(source, place)
    if node is None or target.partition(".")[0] != self_at(source, node):
        return False
    around = [
        node
        for node in source.nodes
        if isinstance(node, ast.ClassDef) and node.lineno <= place.line <= (node.end_lineno or 0)
    ]
    return bool(around) and any(_calls_super(node) for node in ast.walk(around[-1]))


def _calls_super(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "__init__"
    )


def _wrapped(place: Place) -> str:
    """Move ``nn.Parameter`` around the whole expression; empty where that cannot be said."""
    source = " ".join(place.source.split())
    try:
        tree = ast.parse(source, mode="eval").body
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Parameter"):
            call, inner = ast.get_source_segment(source, node), node.args[:1]
            if call is None or not inner:
                break
            value = ast.get_source_segment(source, inner[0]) or ast.unparse(inner[0])
            if isinstance(inner[0], ast.BinOp | ast.UnaryOp | ast.IfExp):
                value = f"({value})"
            return f"{ast.unparse(node.func)}({source.replace(call, value, 1)})"
    return ""


@register
class ParameterRefused(Rule):
    """A computed tensor is set where a parameter is registered.

    torch raises: only an ``nn.Parameter`` or None can take the place of a parameter. A value
    that ``forward`` computes from it needs a name of its own; an update writes into it under
    ``no_grad``.

    Failing cell::

        class M(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.ones(3))
            def forward(self, x):
                self.w = torch.softmax(self.w, 0)
                return x * self.w
        M()(torch.ones(3))

    Fixed::

        class M(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.ones(3))
            def forward(self, x):
                w = torch.softmax(self.w, 0)
                return x * w
        M()(torch.ones(3))

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
    """

    kind = "param_wiring"
    code = "LM423"
    severity = "error"
    events = (Raised,)

    def check(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Look at what torch refused to assign."""
        refused, place = REFUSED.search(event.text), model.place(event.site)
        if refused is None or place is None:
            return
        source, name = source_at(place), refused.group(1)
        node = _assignment(source, place.line, name)
        target = f"{_owner(source, place)}.{name}" if node is None else _target(source, node, name)
        mend = _instead(source, node, target, name, place)
        yield self.finding(
            f"`{target}` is a registered parameter: a tensor that is computed, or is none, "
            "cannot take its place.",
            fix=mend.fix,
            edits=mend.edits,
            variable=target,
            cause=place if node is None else source.place(node),
            symptom=place.line,
        )


def _owner(source: Source, place: Place) -> str:
    node = node_at(source, place)
    return ("" if node is None else self_at(source, node)) or "self"


def _assignment(source: Source, line: int, name: str) -> ast.Assign | ast.AugAssign | None:
    for node in source.nodes:
        if (
            isinstance(node, ast.Assign | ast.AugAssign)
            and node.lineno <= line <= (node.end_lineno or line)
            and any(word.endswith(f".{name}") for word in _targets(source, node))
        ):
            return node
    return None


def _targets(source: Source, node: ast.Assign | ast.AugAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [source.words(target) for target in targets]


def _target(source: Source, node: Any, name: str) -> str:
    return next(word for word in _targets(source, node) if word.endswith(f".{name}"))


def _instead(source: Source, node: Any, target: str, name: str, place: Place) -> Mend:
    """Return the statement under another name in ``forward``, elsewhere as a write."""
    if not isinstance(node, ast.Assign):
        line = f"with torch.no_grad(): {target}.copy_(value)  # for the value that is meant"
        return Mend(line)
    value = " ".join(source.words(node.value).split())
    if place.function.endswith("forward") and target.startswith(f"{_owner(source, place)}."):
        line = f"{name} = {value}  # and {name} in place of {target} below"
        return Mend(line, _renamed(source, node, target, name))
    write = f"{target}.copy_({value})"
    guarded = f"with torch.no_grad():\n    {write}"
    alone = len(node.targets) == 1 and not isinstance(node.targets[0], ast.Tuple)
    edits = fixes.replace_statement(source.place(node), guarded) if alone else ()
    return Mend(f"with torch.no_grad(): {write}", edits)


def _renamed(source: Source, node: ast.Assign, target: str, name: str) -> tuple[Edit, ...]:
    """Give what a statement sets another name, there and in the rest of its function."""
    around = source.function(node)
    if around is None or next(source.parents(node), None) is not around or len(node.targets) > 1:
        return ()
    inside = list(ast.walk(around))
    if any(isinstance(part, ast.Name) and part.id == name for part in inside):
        return ()
    uses = [
        part
        for part in inside
        if isinstance(part, ast.Attribute)
        and source.words(part) == target
        and (part is node.targets[0] or part.lineno > (node.end_lineno or node.lineno))
    ]
    return fixes.together(*(fixes.replace_expression(source.place(one), name) for one in uses))


def line_of(record: TensorRecord | None, model: Model) -> Place | None:
    """Return where a parameter was made: where it was first written to, if that is known."""
    if record is None:
        return None
    if record.writes:
        place = model.place(record.writes[0].site)
        if place is not None and record.writes[0].what != "step":
            return place
    earlier = model.session.made.get(record.tid)
    if earlier is not None and earlier.line is not None:
        line, text = earlier.line, earlier.source
        return Place("", earlier.label, "<module>", line, line, text=text)
    return made_at(model, record)
