"""Grad mode switched in ways that do nothing, or more than was meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from leafmagic.cell import Place, is_module_word
from leafmagic.findings import fixes, restructure, rewrites
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.custom_calls import refused_inside, refused_root
from leafmagic.findings.ends import NO_GRAPH, first_cut
from leafmagic.findings.flows import entered_by_hand
from leafmagic.findings.leaves import made_at
from leafmagic.findings.source import Function, Source, mentions, source_at, source_read
from leafmagic.looks import Raised, SourceRead
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name

_LASTING = {
    "no_grad": "torch.set_grad_enabled(False)",
    "enable_grad": "torch.set_grad_enabled(True)",
    "detect_anomaly": "torch.autograd.set_detect_anomaly(True)",
}
"""Context managers that do nothing before they are entered, and the call for good."""

_MODES = (*_LASTING, "inference_mode")


@register
class ModeThrownAway(Rule):
    """A context manager that is made and thrown away.

    ``torch.no_grad()``, ``enable_grad()``, ``inference_mode()`` and ``detect_anomaly()``
    change nothing until a ``with`` statement enters them. As a line of its own the call
    does nothing, and what comes below runs in the mode that it ran in before.

    Failing cell::

        w = torch.ones(1, requires_grad=True)
        torch.no_grad()
        h = w * 2
        print(h.requires_grad)     # True

    Fixed::

        w = torch.ones(1, requires_grad=True)
        with torch.no_grad():
            h = w * 2
        print(h.requires_grad)     # False

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    """

    kind = "grad_mode"
    code = "LM701"
    events = (SourceRead,)

    def check(self, event: SourceRead, model: Model) -> Iterator[Finding]:
        """Look for the call as a statement."""
        if not mentions(event, *_MODES):
            return
        source = source_read(event)
        for node in source.within(event.first, event.last):
            if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
                continue
            mode = source.called(node.value)
            # no_grad(f) is a function of its own, made to be called.
            plain = all(isinstance(given, ast.Constant) for given in node.value.args)
            if mode in _MODES and plain:
                yield self._told(source, node.value, mode, model)

    def _told(self, source: Source, call: ast.Call, mode: str, model: Model) -> Finding:
        words = source.words(call)
        around = source.function(call)
        if mode == "detect_anomaly":
            still = "anomalies are not looked for"
        else:
            still = "grad mode stays as it was"
        if isinstance(around, Function) and mode != "detect_anomaly":
            fix = f"@{words}  # above `def {around.name}`, in place of this line"
        elif mode in _LASTING:
            fix = f"{_LASTING[mode]}  # or `with {words}:` around the lines that are meant"
        else:
            fix = f"with {words}:  # and the lines that are meant, indented"
        return self.finding(
            f"`{words}` makes a context manager, and this line throws it away: {still}.",
            fix=fix,
            edits=restructure.entered(source, call, words, backward=mode == "detect_anomaly"),
            variable=words,
            cause=source.place(call),
            symptom=_first_graph_below(source, call, model),
        )


@register
class ModeEnteredByHand(Rule):
    """``__enter__()`` called on a mode that no variable holds.

    The guard of ``torch.inference_mode()`` dies with the object, at the end of the line:
    nothing is switched. ``torch.no_grad()`` in contrast stays on for the whole session,
    since nothing is left whose ``__exit__`` could be called.

    Failing cell::

        torch.inference_mode().__enter__()
        print(torch.is_inference_mode_enabled())       # False

    Fixed::

        with torch.inference_mode():
            print(torch.is_inference_mode_enabled())   # True

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html
    """

    kind = "grad_mode"
    code = "LM702"
    events = (SourceRead, Raised)

    def __init__(self) -> None:
        self._known: set[Place] = set()
        """Where a mode was told of: what is read is known before a pass raises, or after."""

    def check(self, event: SourceRead | Raised, model: Model) -> Iterator[Finding]:
        """Look for ``__enter__`` called on a call; then for a pass that it left no graph."""
        if isinstance(event, Raised):
            yield from self._refused(event, model)
            return
        if "__enter__" not in event.text:
            return
        source = source_read(event)
        for node in source.within(event.first, event.last):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "__enter__"
            ):
                mode = source.called(node.func.value)
                place = source.place(node)
                if mode in ("inference_mode", "no_grad", "enable_grad") and (
                    place not in self._known
                ):
                    self._known.add(place)
                    yield self._told(source, node, source.words(node.func.value), mode)

    def _told(self, source: Source, call: ast.Call, words: str, mode: str) -> Finding:
        if mode == "inference_mode":
            return self.finding(
                f"nothing holds the guard that `{words}` made: it dies at the end of this line, "
                "and the mode is the old one again.",
                fix=f"with {words}:  # and the lines that are meant, indented",
                edits=restructure.entered(source, call, words),
                variable=words,
                cause=source.place(call),
                symptom=source.following(call),
            )
        state = "off" if mode == "no_grad" else "on"
        return self.finding(
            f"grad mode stays {state} for the rest of the session: nothing is left to leave "
            f"`{words}` with.",
            fix=f"{_LASTING[mode]}  # or `with {words}:` around the lines that are meant",
            edits=restructure.entered(source, call, words)
            or fixes.replace_expression(source.place(call), _LASTING[mode]),
            variable=words,
            cause=source.place(call),
            symptom=source.following(call),
            severity="info",
        )

    def _refused(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Tell of the mode that left a root of backward without a graph."""
        place = model.place(event.site)
        if place is None or NO_GRAPH not in event.text or not event.inputs:
            return
        if refused_inside(event, model):
            return
        found = first_cut(model, refused_root(event))
        switch = None if found is None else found[0].switch(model)
        if found is None or switch is None or not entered_by_hand(switch):
            return
        words = switch.words.removesuffix(".__enter__()")
        count = 0 if switch.place in self._known else 1
        self._known.add(switch.place)
        cut = found[0].place
        line = place.line if cut is None else cut.line
        yield self.finding(
            f"grad mode is off from here on, and nothing is left to leave `{words}` with: "
            f"what line {line} computes has no graph to go back through.",
            fix="torch.set_grad_enabled(True)  # in place of this line; or "
            f"`with {words}:` around what needs no gradient",
            edits=fixes.replace_statement(switch.place, "torch.set_grad_enabled(True)"),
            variable=words,
            cause=switch.place,
            symptom=place.line,
            severity="error",
            count=count,
        )


def _first_graph_below(source: Source, node: ast.expr, model: Model) -> int | None:
    """Return the first line below a statement that autograd recorded, else the next one."""
    around = source.function(node)
    last = getattr(around, "end_lineno", None) or len(source.text)
    lines = [
        place.line
        for record in model.tensors.values()
        if record.nid >= 0 and (place := made_at(model, record)) is not None
        if place.label == source.label and node.lineno < place.line <= last
    ]
    return min(lines) if lines else source.following(node)


@register
class InferenceTensor(Rule):
    """A tensor made in inference mode is used where autograd needs to follow it.

    Inference tensors have no version counter. Outside the mode they cannot be changed in
    place, cannot be saved for backward and cannot be made to require grad. A clone made
    outside is an ordinary tensor; ``torch.no_grad()`` makes ordinary ones from the start.

    Failing cell::

        w = torch.ones(2, requires_grad=True)
        with torch.inference_mode():
            feat = torch.ones(2)
        (w * feat).sum().backward()    # RuntimeError

    Fixed::

        w = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            feat = torch.ones(2)
        (w * feat).sum().backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html#inference-mode
    """

    kind = "grad_mode"
    code = "LM703"
    severity = "error"
    events = (Raised,)

    def check(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Look at torch's refusals of inference tensors."""
        text, place = event.text, model.place(event.site)
        if place is None or "nference tensor" not in text:
            return
        if "Inplace update to inference tensor" in text:
            what = "it can be changed in place in that mode only"
        elif "cannot be saved for backward" in text:
            what = f"`{event.op}` has to save it for backward, which needs an ordinary tensor"
        elif "requires_grad=True on inference tensor" in text:
            what = "it can be made to require grad in that mode only"
        else:
            return
        candidates = [r for r in map(model.tensor, event.inputs) if r is not None]
        if what.startswith("it "):
            candidates = candidates[:1]
        record = _most_likely(model, candidates)
        if record is not None:
            yield self._told(model, event, place, record, what)

    def _told(
        self, model: Model, event: Raised, place: Place, record: TensorRecord, what: str
    ) -> Finding:
        name = _name_at(place, event, record)
        made = made_at(model, record)
        where = f" (line {made.line})" if made is not None else ""
        fix = fixes.out_of_place(place, name) if "in place" in what else ""
        if not fix and name:
            fix = f"{name} = {name}.clone()  # before line {place.line}, outside the mode"
        return self.finding(
            f"`{name or 'an argument'}` was made in inference mode{where}, and {what}.",
            fix=fix or "call .clone() on it, outside the mode",
            edits=rewrites.ordinary(place, name) if not _in_inference_mode(place) else (),
            variable=name,
            cause=made or place,
            symptom=place.line,
            record=record,
        )


def _most_likely(model: Model, records: list[TensorRecord]) -> TensorRecord | None:
    """Choose the tensor that was made in inference mode: as the source says, else by its mode."""
    plain = [r for r in records if not r.requires_grad]
    for record in plain:
        place = made_at(model, record)
        if place is not None and _in_inference_mode(place):
            return record
    off = [r for r in plain if r.made.site and not r.grad_enabled]
    return next(iter(off or plain or records), None)


def _in_inference_mode(place: Place) -> bool:
    source = source_at(place)
    for node in source.within(place.line, place.line):
        for above in source.parents(node):
            used: list[ast.expr] = []
            if isinstance(above, ast.With | ast.AsyncWith):
                used = [item.context_expr for item in above.items]
            elif isinstance(above, Function):
                used = above.decorator_list
            if any("inference_mode" in (source.called(e), source.last(e)) for e in used):
                return True
    return False


def _name_at(place: Place, event: Raised, record: TensorRecord) -> str:
    """Return how the failing line spells a tensor, else what it is called."""
    words = [word for word in place.operands if not is_module_word(word)]
    if event.direct and len(words) == len(event.inputs) and record.tid in event.inputs:
        word = words[event.inputs.index(record.tid)]
        if word.replace(".", "").isidentifier():
            return word
    return best_name(record) or (words[0] if words and words[0].isidentifier() else "")
