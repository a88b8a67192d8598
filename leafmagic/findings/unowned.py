"""Tensors of a module that get gradients, and that no optimizer has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from leafmagic.findings.base import Finding, register
from leafmagic.findings.homes import Home, self_at
from leafmagic.findings.judging import AtTheEnd
from leafmagic.findings.plain import Kept, kept_at, told
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
        registered = {one.tid for one in event.held if one.registered}
        near = [model.place(steps.site) for steps in known.steps.values()]
        groups: dict[tuple[str, int], tuple[Kept, list[Held]]] = {}
        for held in unowned(event, model):
            if held.registered or held.root not in trained or held.tid in registered:
                continue
            kept = kept_at(held, event, model, near)
            if kept is not None:
                key = (kept.place.filename or kept.place.label, kept.place.line)
                groups.setdefault(key, (kept, []))[1].append(held)
        for kept, group in groups.values():
            steps, seen = stepped(event, known)[0]
            optimizer = f"`{seen.path}`" if seen is not None else f"the {steps.name}"
            variable, message, mend = told(kept, group, optimizer)
            yield self.finding(
                message,
                fix=mend.fix,
                variable=variable,
                cause=kept.place,
                symptom=model.line(steps.site),
                record=model.tensor(group[0].tid),
                edits=mend.edits,
            )


def _is_trained(held: Held, known: Reaching) -> bool:
    """Tell whether an optimizer that took steps has a tensor."""
    return any(number in known.steps for number in held.optimizers) or any(
        held.tid in steps.had or held.tid in steps.idle for steps in known.steps.values()
    )


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
        me = self_at(source, call) or "self"
        own = target.startswith(f"{me}.")
        variable = f"{home.path}{target.removeprefix(me)}" if own else target
        thing = "a new parameter" if what == "Parameter" else f"a new {what}"
        value = " ".join(source.words(call).split())
        name = target if own else f"{me}.{_attribute(target, what)}"
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
