"""Gradients that add up where they should not, or are cleared before anything used them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leafmagic.accounts import Account, Usage
from leafmagic.cell import Place
from leafmagic.events import Accessed, Stepped, Written
from leafmagic.findings import fixes
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.guards import is_guarded
from leafmagic.looks import Finished
from leafmagic.model import Model
from leafmagic.records import best_name

_UPDATES = frozenset({"sub_", "add_", "addcmul_", "addcdiv_", "_foreach_sub_", "_foreach_add_"})


def named(model: Model, tids: Any) -> tuple[str, int]:
    """Return the name of the first leaf that has one, and how many there are beside it."""
    records = [model.tensors.get(tid) for tid in sorted(tids)]
    names = [best_name(record) for record in records if record is not None]
    return next((name for name in names if name), ""), len(records) - 1


def optimizer_of(place: Place | None) -> str:
    """Return what the source calls the optimizer at ``opt.step()``; empty where it is not told."""
    if place is None or place.attribute != "step" or place.source != f"{place.owner}.step()":
        return ""
    return place.owner if place.owner.replace(".", "").replace("_", "").isalnum() else ""


def step_text(place: Place | None, near: Place | None = None) -> str:
    """Return the source of a step, with its line, and its cell where that is another."""
    if place is None:
        return "a step"
    text = place.source if place.kind == "Call" else place.statement
    where = f"line {place.line}"
    if near is not None and near.label != place.label:
        where = f"{place.label}, {where}"
    return f"`{text}` ({where})" if len(text) < 40 else where


def beside(one: Place | None, other: Place | None) -> bool:
    """Tell whether what can be written at one place can be written at another as well."""
    return (
        one is not None
        and other is not None
        and (one.filename, one.function) == (other.filename, other.function)
        and _indent(one.text) == _indent(other.text)
    )


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


@register
class NeverCleared(Rule):
    """A step uses a gradient that an earlier step has used already.

    backward adds to ``.grad``. Where nothing clears it after a step, the next step sees the
    sum of the new gradient and all older ones, which were computed for other weights.

    Failing cell::

        w = torch.nn.Parameter(torch.ones(1))
        opt = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            (w * 2).sum().backward()
            opt.step()                      # with the gradients of all rounds so far

    Fixed::

        w = torch.nn.Parameter(torch.ones(1))
        opt = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            (w * 2).sum().backward()
            opt.step()

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
    """

    kind = "grad_accumulation"
    code = "LM501"
    events = (Stepped, Written, Accessed)
    ops = _UPDATES

    def __init__(self) -> None:
        self._said: dict[tuple[int, int], tuple[set[int], Finding]] = {}

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look at the gradients that the newest step used for the second time."""
        found = model.gradients
        if not found.mixed or found.at != event.ordinal:
            return
        account = found.mixed[0]
        site = account.last.site if account.last is not None else 0
        key = (site, event.site)
        said = self._said.get(key)
        if said is not None:
            # Of the parameters of a loop only the first is told.
            if said[0] & account.tids:
                yield said[1]
            return
        tids = {tid for each in found.mixed for tid in each.tids}
        finding = self._told(model, event, site, tids, account)
        self._said[key] = (set(tids), finding)
        yield finding

    def _told(
        self, model: Model, event: Any, site: int, tids: set[int], account: Account
    ) -> Finding:
        passed, step = model.place(site), model.place(event.site)
        name, others = named(model, tids)
        word, optimizer = name or "the parameters", optimizer_of(step)
        more = f" (and {others} more)" if name and others else ""
        line = "backward" if passed is None else f"line {passed.line}"
        edits: Any = ()
        if optimizer and passed is not None:
            fix = f"{optimizer}.zero_grad()  # before line {passed.line}"
            if beside(step, passed):
                edits = fixes.insert_before(passed, f"{optimizer}.zero_grad()")
        elif isinstance(event, Stepped):
            fix = f"call zero_grad() before {line}"
        else:
            here = step.operands[0] if step is not None and step.operands else name
            here = here.removesuffix(".data") if here.replace(".", "").isidentifier() else name
            fix = f"{here}.grad = None  # after the update" if here else "clear .grad after it"
            if here and step is not None:
                edits = fixes.insert_after(step, f"{here}.grad = None")
        used = step_text(step, passed)
        if account.kept is not None:
            used = "a step"
        earlier = "" if account.kept is None else " when this cell or another ran before"
        grad = f"`{word}.grad`" if name else "The gradient"
        return self.finding(
            f"{grad}{more} is never cleared: backward adds to what {used} has used already"
            f"{earlier}.",
            fix=fix,
            variable=name,
            cause=passed,
            symptom=None if step is None else step.line,
            record=model.tensors.get(min(tids)),
            edits=edits,
        )


@register
class ClearedBeforeStep(Rule):
    """A step that sees no gradient, since it was cleared after backward.

    The order is: clear, backward, step. Where the gradient is cleared between backward and
    step, the step does nothing, and says nothing.

    Failing cell::

        w = torch.nn.Parameter(torch.ones(1))
        opt = torch.optim.SGD([w], lr=0.1)
        (w * 2).sum().backward()
        opt.zero_grad()
        opt.step()                          # w does not move

    Fixed::

        w = torch.nn.Parameter(torch.ones(1))
        opt = torch.optim.SGD([w], lr=0.1)
        opt.zero_grad()
        (w * 2).sum().backward()
        opt.step()

    References
    ----------
    https://docs.pytorch.org/tutorials/beginner/basics/optimization_tutorial.html
    """

    kind = "grad_accumulation"
    code = "LM502"
    events = (Stepped,)

    def check(self, event: Stepped, model: Model) -> Iterator[Finding]:
        """Look at a step all of whose gradients were cleared."""
        found = model.gradients
        if not found.empty or found.at != event.ordinal:
            return
        account = found.empty[0]
        if account.lost_at is None or account.lost_pass is None:
            return
        clear, step = model.place(account.lost_at.site), model.place(event.site)
        passed = model.place(account.lost_pass.site)
        if clear is None or step is None or passed is None or is_guarded(clear, step):
            return
        optimizer = optimizer_of(step)
        name, _ = named(model, account.tids)
        where = "" if clear.label == passed.label else f" of {passed.label}"
        moved = "" if not name else f" `{name}` does not move."
        if clear.kind == "Call" and beside(clear, passed):
            text = clear.source
            fix = f"{text}  # before line {passed.line}, not after it"
            edits = fixes.together(fixes.insert_before(passed, text), fixes.remove_statement(clear))
        else:
            fix, edits = f"clear before line {passed.line}, not after it", ()
        yield self.finding(
            f"{step_text(step, clear)} sees no gradient: this line erased what the backward of "
            f"line {passed.line}{where} computed.{moved}",
            fix=fix,
            variable=optimizer or name,
            cause=clear,
            symptom=step.line,
            record=model.tensors.get(min(account.tids)),
            edits=edits,
        )


@register
class ClearedUnused(Rule):
    """Gradients of some backward passes are cleared before a step has used them.

    To add up the gradients of several batches, they must be cleared only after the step.
    A ``zero_grad()`` before every backward leaves the step with the last batch alone; one at
    the start of an epoch takes away what the epoch before left without a step. Where only
    the rest of full groups is lost so, it may be meant, and is told as information.

    Failing cell::

        w = torch.nn.Parameter(torch.zeros(1))
        opt = torch.optim.SGD([w], lr=1.)
        for i in range(4):
            opt.zero_grad()                 # three of four gradients are lost
            (w * (i + 1)).sum().backward()
            if i % 4 == 3:
                opt.step()

    Fixed::

        w = torch.nn.Parameter(torch.zeros(1))
        opt = torch.optim.SGD([w], lr=1.)
        for i in range(4):
            (w * (i + 1)).sum().backward()
            if i % 4 == 3:
                opt.step()
                opt.zero_grad()

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
    """

    kind = "grad_accumulation"
    code = "LM503"
    events = (Finished,)

    def check(self, _event: Finished, model: Model) -> Iterator[Finding]:
        """Compare, for each place of a backward, what was stepped with what was cleared."""
        for site, usage in model.gradients.usage.items():
            passed = model.place(site)
            if not usage.stepped or usage.by is None or passed is None:
                continue
            by_clear: dict[int, dict[int, int]] = {}
            for (clear, size), times in usage.wasted.items():
                if times > 0:
                    by_clear.setdefault(clear, {})[size] = times
            for clear, sizes in by_clear.items():
                yield from self._judge(model, passed, usage, clear, sizes)

    def _judge(
        self, model: Model, passed: Place, usage: Usage, site: int, sizes: dict[int, int]
    ) -> Iterator[Finding]:
        clear = model.place(site)
        if clear is None or is_guarded(clear, passed):
            return
        wasted = sum(sizes.values())
        if usage.most == 1 and wasted >= max(2, usage.stepped):
            yield self._each_time(model, passed, usage, clear, wasted)
        elif usage.most > min(sizes):
            yield self._at_the_end(model, passed, usage, clear, sizes)

    def _each_time(
        self, model: Model, passed: Place, usage: Usage, clear: Place, wasted: int
    ) -> Finding:
        name, _ = named(model, usage.tids)
        step = model.place(usage.by.site) if usage.by is not None else None
        total = wasted + usage.stepped
        optimizer = optimizer_of(step)
        text = f"{optimizer}.zero_grad()" if optimizer else "zero_grad()"
        return self.finding(
            f"Of {total} backward passes (line {passed.line}) only {usage.stepped} reached "
            f"{step_text(step, clear)}: this line erased the gradient of `{name or 'the leaves'}` "
            "before each of the others could be used.",
            fix=f"{text}  # right after the step, and not here",
            variable=name,
            cause=clear,
            symptom=None if step is None else step.line,
            edits=(
                fixes.together(fixes.insert_after(step, text), fixes.remove_statement(clear))
                if step is not None and optimizer and step.label == clear.label
                else ()
            ),
        )

    def _at_the_end(
        self, model: Model, passed: Place, usage: Usage, clear: Place, sizes: dict[int, int]
    ) -> Finding:
        rest = max(size for size in sizes if size < usage.most)
        name, _ = named(model, usage.tids)
        step = model.place(usage.by.site) if usage.by is not None else None
        optimizer = optimizer_of(step)
        passes = f"{rest} backward passes" if rest > 1 else "one backward pass"
        leftover = _drops_last(clear, passed, usage, sizes)
        text = f"{optimizer}.step()" if optimizer else "step()"
        return self.finding(
            f"This line erased a gradient of `{name or 'the leaves'}` that waited for a step: of "
            f"{passes} (line {passed.line}), where {step_text(step, clear)} uses {usage.most}.",
            fix=f"{text}  # once more where the inner loop ends, if passes are left over",
            variable=name,
            cause=clear,
            symptom=None if step is None else step.line,
            severity="info" if leftover else None,
        )


def _drops_last(clear: Place, passed: Place, usage: Usage, sizes: dict[int, int]) -> bool:
    """Tell whether only what was left over of full groups is cleared, outside their loop.

    Some do so on purpose, as a loader does with ``drop_last``.
    """
    if clear.function == passed.function and _indent(clear.text) >= _indent(passed.text):
        return False
    return max(sizes) < usage.most and sum(sizes.values()) <= usage.stepped
