"""Tensors of a module that get gradients, and that no optimizer has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from leafmagic.findings import fixes
from leafmagic.findings.base import Finding, register
from leafmagic.findings.homes import Home, home_of
from leafmagic.findings.judging import AtTheEnd
from leafmagic.findings.reaching import Reaching, Steps, reaching
from leafmagic.looks import Held, OptimizerSeen, Wired
from leafmagic.model import Model


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


def stepped(event: Wired, known: Reaching) -> list[tuple[Steps, OptimizerSeen | None]]:
    """Return the steps of a trace, and the optimizers that took them and are still there."""
    by_number = {one.optimizer: one for one in event.optimizers}
    return [(steps, by_number.get(number)) for number, steps in known.steps.items()]


@register
class PlainTensor(AtTheEnd):
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

    def judge(self, event: Wired, model: Model) -> Iterator[Finding]:
        """Look at what modules hold, where an optimizer took steps."""
        known = reaching(model)
        if not known.steps:
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
        steps, seen = stepped(event, reaching(model))[0]
        optimizer = f"`{seen.path}`" if seen is not None else f"the {steps.name}"
        listed = "[" in group[0].path
        if listed:
            layers = any("." in one.path.rpartition("]")[2] for one in group)
            what = "layers in a plain list or dict are" if layers else "tensors in a list are"
            fix = _listed(attribute, value, statement.value, layers=layers)
            message = f"what `{path}` holds gets gradients, but {optimizer} does not have it: "
            message += f"{what} not registered."
        else:
            fix = f"{attribute} = torch.nn.Parameter({fixes.without_flag(value)})"
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
            edits=fixes.replace_statement(source.place(statement), fix)
            if len(statement.targets) == 1
            else (),
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
class MadeInForward(AtTheEnd):
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

    def judge(self, event: Wired, model: Model) -> Iterator[Finding]:
        """Read the ``forward`` of modules that were trained."""
        if not reaching(model).began:
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
