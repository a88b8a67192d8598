"""Tensors of a module that get gradients, and that no optimizer has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

from leafmagic.cell import Place
from leafmagic.events import BackwardReturned, Stepped
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.fixes import without_flag
from leafmagic.findings.homes import Home, home_of
from leafmagic.findings.reaching import Reaching, Steps, reaching
from leafmagic.findings.remade import remade
from leafmagic.findings.source import Source, source_at
from leafmagic.findings.wiring import line_of
from leafmagic.looks import Held, OptimizerSeen, Wired
from leafmagic.model import Model
from leafmagic.records import TensorRecord


def unowned(event: Wired, model: Model) -> list[Held]:
    """Return what modules hold that got gradients, and that no optimizer knows.

    Only where an optimizer took steps, so that something was meant to be trained.
    """
    known = reaching(model)
    given = {tid for steps in known.steps.values() for tid in (*steps.had, *steps.idle)}
    found = []
    for held in event.held:
        record = model.tensor(held.tid)
        if (
            record is not None
            and held.is_leaf
            and held.requires_grad
            and not held.optimizers
            and held.tid not in given
            and (held.filled or known.is_reached(record))
            and not known.was_updated(record)
        ):
            found.append(held)
    return found


def _stepped(event: Wired, known: Reaching) -> list[tuple[Steps, OptimizerSeen | None]]:
    by_number = {one.optimizer: one for one in event.optimizers}
    return [(steps, by_number.get(number)) for number, steps in known.steps.items()]


@register
class PlainTensor(Rule):
    """A module's tensor gets gradients, but is no parameter of the module.

    A tensor with ``requires_grad=True`` that is set as an attribute, and layers in a plain
    list, are not registered: ``parameters()`` leaves them out, and so does the optimizer
    that is made from it. Backward fills their ``.grad``, and nothing uses it.

    Failing cell::

        class Mem(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.keys = torch.zeros(3, 2, requires_grad=True)
                self.proj = torch.nn.Linear(2, 2)
        m = Mem()
        opt = torch.optim.SGD(m.parameters(), lr=1.)
        (m.proj(torch.ones(1, 2)) @ m.keys.t()).sum().backward()
        opt.step()

    Fixed::

        class Mem(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.keys = torch.nn.Parameter(torch.zeros(3, 2))
                self.proj = torch.nn.Linear(2, 2)
        m = Mem()
        opt = torch.optim.SGD(m.parameters(), lr=1.)
        (m.proj(torch.ones(1, 2)) @ m.keys.t()).sum().backward()
        opt.step()

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
    """

    kind = "param_wiring"
    code = "LM422"
    events = (BackwardReturned, Stepped, Wired)

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Take steps down; look at what modules hold when all is known."""
        known = reaching(model)
        known.note(event, model)
        if not isinstance(event, Wired) or not known.steps:
            return
        trained = {one.root for one in event.held if _is_trained(one, known)}
        groups: dict[str, list[Held]] = {}
        for held in unowned(event, model):
            if not held.registered and held.root in trained:
                groups.setdefault(held.path.partition("[")[0], []).append(held)
        for path, group in groups.items():
            found = self._told(path, group, event, model)
            if found is not None:
                yield found

    def _told(self, path: str, group: list[Held], event: Wired, model: Model) -> Finding | None:
        home = home_of(event.modules, f"{path}.")
        statement = None if home is None else home[0].assignment(home[1])
        if home is None or statement is None:
            return None
        source, attribute = home[0].source, f"self.{home[1]}"
        value = " ".join(source.words(statement.value).split())
        steps, seen = _stepped(event, reaching(model))[0]
        optimizer = f"`{seen.path}`" if seen is not None else f"the {steps.name}"
        listed = "[" in group[0].path
        if listed:
            layers = any("." in one.path.rpartition("]")[2] for one in group)
            what = "layers in a plain list or dict are" if layers else "tensors in a list are"
            fix = _listed(attribute, value, statement.value, layers=layers)
            message = f"what `{path}` holds gets gradients, but {optimizer} does not have it: "
            message += f"{what} not registered."
        else:
            fix = f"{attribute} = torch.nn.Parameter({without_flag(value)})"
            message = (
                f"`{path}` gets gradients, but {optimizer} does not have it: "
                "a plain tensor is no parameter of the module."
            )
        return self.finding(
            message,
            fix=fix,
            variable=path,
            cause=source.place(statement),
            symptom=model.line(steps.site),
            record=model.tensor(group[0].tid),
        )


def _is_trained(held: Held, known: Reaching) -> bool:
    """Tell whether an optimizer that took steps has a tensor."""
    return any(number in known.steps for number in held.optimizers) or any(
        held.tid in steps.had or held.tid in steps.idle for steps in known.steps.values()
    )


def _listed(attribute: str, value: str, node: ast.expr, *, layers: bool) -> str:
    kind = "Module" if layers else "Parameter"
    form = "Dict" if isinstance(node, ast.Dict | ast.DictComp) else "List"
    inner = "" if value in ("[]", "{}", "list()", "dict()") else value
    return f"{attribute} = torch.nn.{kind}{form}({inner})"


@register
class MadeInForward(Rule):
    """``forward`` makes a new parameter, or a new layer, each time it is called.

    What was made in the call before is thrown away with whatever it had learnt; an optimizer
    made before holds an old one, whose gradient stays None. What is to be trained is made
    once, in ``__init__``.

    Failing cell::

        class M(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = torch.nn.Linear(2, 2)
            def forward(self, x):
                scale = torch.nn.Parameter(torch.ones(2))
                return self.lin(x) * scale
        m = M()
        opt = torch.optim.SGD(m.parameters(), lr=0.1)
        m(torch.ones(1, 2)).sum().backward()
        opt.step()

    Fixed::

        class M(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = torch.nn.Linear(2, 2)
                self.scale = torch.nn.Parameter(torch.ones(2))
            def forward(self, x):
                return self.lin(x) * self.scale
        m = M()
        opt = torch.optim.SGD(m.parameters(), lr=0.1)
        m(torch.ones(1, 2)).sum().backward()
        opt.step()

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/modules.html
    """

    kind = "param_wiring"
    code = "LM424"
    events = (BackwardReturned, Stepped, Wired)

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Read the ``forward`` of modules that were trained."""
        known = reaching(model)
        known.note(event, model)
        if not isinstance(event, Wired) or not known.began:
            return
        told: set[tuple[str, int]] = set()
        for seen in event.modules:
            home = Home(seen)
            for call, assigned, what in home.made_in_forward():
                key = (seen.filename, call.lineno)
                if key not in told:
                    told.add(key)
                    yield self._told(home, call, assigned, what, model)

    def _told(
        self, home: Home, call: ast.Call, assigned: ast.Assign | None, what: str, model: Model
    ) -> Finding:
        source, steps = home.source, next(iter(reaching(model).steps.values()), None)
        target = source.words(call)
        if assigned is not None:
            target = source.words(assigned.targets[0])
        variable = target.replace("self.", f"{home.path}.", 1)
        thing = "a new parameter" if what == "Parameter" else f"a new {what}"
        value = " ".join(source.words(call).split())
        name = target if target.startswith("self.") else f"self.{_attribute(target, what)}"
        line = model.line(steps.site if steps is not None else model.passes[-1].site)
        return self.finding(
            f"each call of `forward` makes {thing} for `{variable}`: what the last one learnt "
            "is lost, and no optimizer has it.",
            fix=f"{name} = {value}  # once, in __init__; forward only uses it",
            variable=variable,
            cause=source.place(assigned or call),
            symptom=line,
        )


def _attribute(target: str, what: str) -> str:
    return target if target.isidentifier() else what.lower()


@register
class StaleOptimizer(Rule):
    """An optimizer has parameters that the model no longer has.

    It was made before a layer, or the whole model, was replaced. It goes on stepping with
    the old parameters, which get no gradient, and does not know the new ones.

    Failing cell::

        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
        opt = torch.optim.SGD(net.parameters(), lr=1.)
        net[1] = torch.nn.Linear(2, 3)
        net(torch.ones(1, 2)).sum().backward()
        opt.step()

    Fixed::

        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
        net[1] = torch.nn.Linear(2, 3)
        opt = torch.optim.SGD(net.parameters(), lr=1.)
        net(torch.ones(1, 2)).sum().backward()
        opt.step()

    References
    ----------
    https://docs.pytorch.org/docs/stable/optim.html#constructing-it
    """

    kind = "param_wiring"
    code = "LM425"
    events = (BackwardReturned, Stepped, Wired)

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look for parameters that went missing where others have gradients."""
        known = reaching(model)
        known.note(event, model)
        if not isinstance(event, Wired):
            return
        for steps, seen in _stepped(event, known):
            if seen is None or not seen.stale or not steps.idle - steps.had:
                continue
            fresh = [
                one
                for one in unowned(event, model)
                if one.registered and not _is_made_in_forward(one, event)
            ]
            if fresh:
                yield self._told(steps, seen, fresh, model)
                continue
            for name, record in remade(steps, seen, event, known, model):
                yield self._told_remade(steps, seen, name, record, model)

    def _told_remade(
        self, steps: Steps, seen: OptimizerSeen, name: str, record: TensorRecord, model: Model
    ) -> Finding:
        stepped = model.place(steps.site)
        cause, again = (
            line_of(record, model) or stepped,
            "" if stepped is None else _made_by(source_at(stepped), seen.path),
        )
        return self.finding(
            f"`{seen.path}` has an older `{name}`: the one made later gets gradients that no "
            "optimizer uses, and does not move.",
            fix=f"{again}  # after `{name}` is made"
            if again
            else f"make `{seen.path}` again after `{name}`",
            variable=name,
            cause=cause,
            symptom=None if stepped is None else stepped.line,
            record=record,
        )

    def _told(self, steps: Steps, seen: OptimizerSeen, fresh: list[Held], model: Model) -> Finding:
        part = _common([one.path for one in fresh], fresh[0].root)
        spelt = re.sub(r"\.(\d+)", r"[\1]", part)
        record = model.tensor(fresh[0].tid)
        stepped = model.place(steps.site)
        cause = _replaced_at(part, stepped) or line_of(record, model) or stepped
        optimizer = seen.path or "the optimizer"
        again = "" if stepped is None else _made_by(source_at(stepped), seen.path)
        where = "that" if cause is None else f"line {cause.line}"
        if cause is not None and stepped is not None and cause.label != stepped.label:
            where += f" of {cause.label}"
        return self.finding(
            f"`{optimizer}` still has parameters that the model lost; those of `{spelt}` get "
            f"gradients that no optimizer uses.",
            fix=(
                f"{again}  # after {where}"
                if again
                else f"make `{optimizer}` after {where}, or add the new ones: "
                f'{optimizer}.add_param_group({{"params": {spelt}.parameters()}})'
            ),
            variable=optimizer,
            cause=cause,
            symptom=None if stepped is None else stepped.line,
            record=record,
        )


def _is_made_in_forward(held: Held, event: Wired) -> bool:
    found = home_of(event.modules, held.path)
    while found is not None:
        home, _ = found
        inside = held.path[len(home.path) + 1 :]
        for _, assigned, _ in home.made_in_forward():
            targets = [] if assigned is None else [home.source.words(t) for t in assigned.targets]
            if any(_plain(inside).startswith(_plain(t.removeprefix("self."))) for t in targets):
                return True
        rest = tuple(seen for seen in event.modules if len(seen.path) < len(home.path))
        found = home_of(rest, held.path)
    return False


def _plain(path: str) -> str:
    """Spell ``net[1].bias`` as a path: ``net.1.bias``."""
    return re.sub(r"\[['\"]?([^\]'\"]*)['\"]?\]", r".\1", path)


def _common(paths: Iterable[str], root: str) -> str:
    """Return the innermost module that all of these parameters are in."""
    parts = [path.split(".")[:-1] for path in paths]
    shared = []
    for words in zip(*parts, strict=False):
        if len(set(words)) > 1:
            break
        shared.append(words[0])
    return ".".join(shared) or root


def _replaced_at(part: str, near: Place | None) -> Place | None:
    """Return the last statement of a text that sets a part of a model, or all of it."""
    if near is None:
        return None
    source = source_at(near)
    best: tuple[int, int, ast.Assign] | None = None
    for node in source.nodes:
        if not isinstance(node, ast.Assign) or source.function(node) is not None:
            continue
        for target in node.targets:
            words = _plain(source.words(target))
            if part == words or (part.startswith(f"{words}.") and "." in words):
                key = (len(words), node.lineno, node)
                if best is None or key[:2] > best[:2]:
                    best = key
    return None if best is None else source.place(best[2])


def _made_by(source: Source, path: str) -> str:
    """Return the statement that makes an optimizer, if the text has it."""
    for node in source.nodes:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and node.lineno == node.end_lineno
            and any(source.words(target) == path for target in node.targets)
        ):
            return f"{path} = {source.words(node.value)}"
    return ""
