"""Optimizers that were made before what they are to train."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes
from leafmagic.findings.base import Finding, register
from leafmagic.findings.homes import home_of
from leafmagic.findings.judging import AtTheEnd
from leafmagic.findings.reaching import Steps, reaching
from leafmagic.findings.remade import kept_in_place, left_behind, remade
from leafmagic.findings.source import source_at
from leafmagic.findings.unowned import stepped, unowned
from leafmagic.findings.wiring import line_of
from leafmagic.looks import Held, OptimizerSeen, Wired
from leafmagic.model import Model
from leafmagic.records import TensorRecord


@register
class StaleOptimizer(AtTheEnd):
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

    def judge(self, event: Wired, model: Model) -> Iterator[Finding]:
        """Look for parameters that went missing where others have gradients."""
        known = reaching(model)
        for steps, seen in stepped(event, known):
            if seen is None or not seen.stale:
                continue
            behind = left_behind(steps, seen, known, model)
            for name, record in behind:
                yield self._told_remade(steps, seen, name, record, model)
            if behind or not steps.idle - steps.had:
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
        step = model.place(steps.site)
        cause = line_of(record, model) or step
        again, made = made_by(step, seen.path)
        kept, edits = kept_in_place(record, name, model)
        return self.finding(
            f"`{seen.path}` has an older `{name}`: the one made later gets gradients that no "
            "optimizer uses, and does not move.",
            fix=kept
            if kept
            else f"{again}  # after `{name}` is made"
            if again
            else f"make `{seen.path}` again after `{name}`",
            variable=name,
            cause=cause,
            symptom=None if step is None else step.line,
            record=record,
            edits=edits or _made_after(cause, made, again),
        )

    def _told(self, steps: Steps, seen: OptimizerSeen, fresh: list[Held], model: Model) -> Finding:
        part = _common([one.path for one in fresh], fresh[0].root)
        spelt = re.sub(r"\.(\d+)", r"[\1]", part)
        record = model.tensor(fresh[0].tid)
        step = model.place(steps.site)
        cause = _replaced_at(part, step) or line_of(record, model) or step
        optimizer = seen.path or "the optimizer"
        again, made = made_by(step, seen.path)
        where = "that" if cause is None else f"line {cause.line}"
        if cause is not None and step is not None and cause.label != step.label:
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
            symptom=None if step is None else step.line,
            record=record,
            edits=_made_after(cause, made, again),
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


def made_by(near: Place | None, path: str) -> tuple[str, Place | None]:
    """Return the statement that makes an optimizer, and its place, if the text has it."""
    if near is None:
        return "", None
    source = source_at(near)
    for node in source.nodes:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and node.lineno == node.end_lineno
            and any(source.words(target) == path for target in node.targets)
        ):
            return f"{path} = {source.words(node.value)}", source.place(node)
    return "", None


def _made_after(cause: Place | None, made: Place | None, again: str) -> tuple[Edit, ...]:
    """Make an optimizer once more, after what it is to have."""
    if cause is None or made is None or not again or made.line > cause.line:
        return ()
    beside = (cause.filename, cause.function) == (made.filename, made.function)
    return fixes.insert_after(cause, again) if beside else ()
