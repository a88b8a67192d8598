"""What reached the loss when the cell last ran, and does not now."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from leafmagic.cell import Place
from leafmagic.findings import fixes, mends
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.ends import Cut, cut_at, first_cut, missed, path_of, word_for
from leafmagic.findings.reaching import reaching, values_behind
from leafmagic.flow import losses_of, names_of, names_reaching
from leafmagic.looks import Raised, Wired
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name
from leafmagic.session import Loss
from leafmagic.statements import lines_of

_MOST_LINES = 400
_ALIKE = 0.5


@dataclass(slots=True)
class _Group:
    """Variables that one line keeps from a loss."""

    loss: str
    cut: Cut
    cause: Place
    records: list[TensorRecord] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


@register
class NoLongerReaches(Rule):
    """A variable that reached the loss when this cell last ran no longer does.

    The cell was changed and ran again. Nothing fails: the loss is a number as before, and
    other leaves still get their gradients. But from this variable on, what is computed
    goes into the loss as a constant. That may be wanted, and so it is only told, once,
    with the line that cuts the graph now. A leaf that is frozen by its flag is not told of.

    Failing cell::

        import torch
        w = torch.ones(3, requires_grad=True)
        v = torch.ones(3, requires_grad=True)
        # %%
        h = w * 2
        scaled = h * v
        loss = (scaled ** 2).sum()
        loss.backward()
        # %%
        h = w * 2
        scaled = h.detach() * v
        loss = (scaled ** 2).sum()
        loss.backward()

    Fixed::

        import torch
        w = torch.ones(3, requires_grad=True)
        v = torch.ones(3, requires_grad=True)
        # %%
        h = w * 2
        scaled = h * v
        loss = (scaled ** 2).sum()
        loss.backward()
        # %%
        w.grad = v.grad = None
        h = w * 2
        scaled = h * v
        loss = (scaled ** 2).sum()
        loss.backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    kind = "graph_cut"
    code = "LM404"
    severity = "info"
    events = (Raised, Wired)

    def __init__(self) -> None:
        self._raised = False

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Compare with the last run when the cell has come to its end."""
        if isinstance(event, Raised):
            self._raised = True  # The run is cut short, or what it raised is explained.
            return
        former = model.session.former(model.run)
        if self._raised or former is None:
            return
        before, text = former
        told: list[tuple[str, int]] = []
        for loss in before.losses:
            roots = _roots_of(model, loss, alone=len(before.losses) == 1)
            for group in _groups(model, loss, roots) if roots else ():
                where = group.cause.filename, group.cause.line
                if where not in told:
                    told.append(where)
                    yield self._told(group, text, before.run, model)

    def _told(self, group: _Group, before: str, former: int, model: Model) -> Finding:
        cut, first = group.cut, group.records[0]
        names = [f"`{name}`" for name in dict.fromkeys(group.names)]
        verb = "reaches" if len(names) == 1 else "reach"
        listed = " and ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} more"
        goal = f"`{group.loss}`" if group.loss else "the loss"
        switch = cut.switch(model)
        word = word_for(model, cut.below)
        if cut.below is cut.above and cut.how == "other":
            why = f"line {group.cause.line} leaves it without requires_grad."
            fix = f"{group.names[0]}.requires_grad_()"
        else:
            why = mends.told(cut, word, switch)
            fix = mends.mended(cut, word, switch).fix
        now, last = model.session.text(model.run), model.session.label(former)
        return self.finding(
            f"{listed} no longer {verb} {goal}: in this cell's last run, {last}, "
            f"{'it' if len(names) == 1 else 'they'} did. Now {why}",
            fix=_as_before(group.cause, cut, before, now) or fix,
            variable=group.names[0],
            cause=group.cause,
            record=first,
        )


def _roots_of(model: Model, loss: Loss, *, alone: bool) -> tuple[int, ...]:
    """Return the tids of what is this run's loss of that name."""
    if loss.passed != bool(model.passes):
        return ()  # One of the two was not to train anything.
    now = losses_of(model)
    for name, roots in now:
        if name == loss.name:
            return roots
    if alone and len(now) == 1 and loss.passed:
        return now[0][1]
    named = [r for r in model.slots.records if loss.name and loss.name in names_of(r)]
    return (named[-1].tid,) if named else ()


def _groups(model: Model, loss: Loss, roots: tuple[int, ...]) -> list[_Group]:
    """Return what this run's loss lost, the lines that cut it each with its variables."""
    lost = loss.reached - names_reaching(model, roots)[0]
    explained = {one.leaf.index for one in missed(model)}
    known = reaching(model)
    behind = values_behind(model, roots)
    groups: dict[tuple[str, int], _Group] = {}
    newest: dict[str, TensorRecord] = {}
    for record in model.slots.records if lost else ():
        newest.update(dict.fromkeys(names_of(record) & lost, record))
    for name, record in newest.items():
        cut = _cut_of(model, record, roots, behind, was_leaf=name in loss.leaves)
        if cut is None or cut.place is None or cut.below.index in known.copies:
            continue
        if _was_filled(model, record):
            continue
        switch = cut.switch(model)
        cause = cut.place if switch is None else switch.place
        group = groups.setdefault((cause.filename, cause.line), _Group(loss.name, cut, cause))
        group.records.append(record)
        group.names.append(name)
    return [
        _nearest_first(group)
        for group in groups.values()
        if not any(record.index in explained for record in group.records)
    ]


def _was_filled(model: Model, record: TensorRecord) -> bool:
    """Tell whether a leaf got a gradient from a pass that was not followed.

    Such as the pass within a pass of a checkpoint that is reentrant.
    """
    account = model.gradients.of(record.tid)
    if account is None or not record.has_grad or record.grad_norm == 0:
        return False
    return not account.known or (account.cleared is not None and account.last is None)


def _nearest_first(group: _Group) -> _Group:
    """Order the variables: what is cut off by itself, then those behind it, then the rest.

    What has no graph any more is left out where something that has one is cut off.
    """
    near = names_of(group.cut.above)
    pairs = list(zip(group.names, group.records, strict=True))
    whole = [(n, r) for n, r in pairs if r.requires_grad or n in near] or pairs
    whole.sort(key=lambda pair: (pair[0] not in near, -pair[1].made.ordinal))
    group.names, group.records = [n for n, _ in whole], [r for _, r in whole]
    return group


def _cut_of(
    model: Model,
    record: TensorRecord,
    roots: tuple[int, ...],
    behind: dict[int, TensorRecord],
    *,
    was_leaf: bool,
) -> Cut | None:
    """Return what keeps a tensor from a loss that its values go into; None if they do not."""
    if record.requires_grad:
        return path_of(model, record, roots)[0]
    if record.index not in behind:
        return None
    if not was_leaf:
        return cut_at(model, reaching(model), record) or _upstream(model, record)
    place = model.place(record.made.site)
    if record.flagged or (place is not None and fixes.keyword(place, "requires_grad") == "False"):
        return None  # It was frozen, and on purpose.
    here = place is not None and place.label == model.session.label(model.run)
    return Cut("other", record, record, place) if here and record.is_leaf else None


def _upstream(model: Model, record: TensorRecord) -> Cut | None:
    found = first_cut(model, (record.tid,))
    return None if found is None else found[0]


def _as_before(cause: Place, cut: Cut, before: str, now: str) -> str:
    """Return the line that stood where the cut is now; empty if it is not the cell's, or as it was.

    Parameters
    ----------
    before, now : str
        The cell's text in its last run, and in this one.
    """
    old, new = lines_of(before), lines_of(now)
    index = cause.line - 1
    if max(len(old), len(new)) > _MOST_LINES or not 0 <= index < len(new):
        return ""
    if new[index] != cause.text or cause.line != cause.end_line:
        return ""
    old, new = (tuple(line.strip() for line in lines) for lines in (old, new))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for what, i1, i2, j1, j2 in matcher.get_opcodes():
        if not j1 <= index < j2:
            continue
        text = new[index]
        if what == "replace":
            best = max((_likeness(line, text), line) for line in old[i1:i2])
            return best[1] if best[0] >= _ALIKE and _is_whole(best[1]) else ""
        name = best_name(cut.above)
        if what == "insert" and name and cause.targets == (name,):
            return f"delete line {cause.line}, `{text}`"
    return ""


def _likeness(line: str, text: str) -> float:
    """Tell how much a line is like another; one that sets the same name is like it."""
    target, equals, _ = line.partition(" = ")
    if (line and line in text) or (equals and text.startswith(target + equals)):
        return 1.0
    return difflib.SequenceMatcher(None, line, text).ratio()


def _is_whole(line: str) -> bool:
    """Tell whether a line is a statement, and no piece of one."""
    try:
        return bool(ast.parse(line).body)
    except SyntaxError:
        return False
