"""Graphs that grow with each run of a cell, as a loop's would with each step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from leafmagic.bygone import GraphEnd
from leafmagic.cell import Place
from leafmagic.findings import fixes
from leafmagic.findings.adding import addend, with_operand
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.retention import GATHERING, passed_over, stores
from leafmagic.findings.source import Source, source_read
from leafmagic.findings.texts import text_at
from leafmagic.looks import Finished, Kept, SourceRead
from leafmagic.model import Model
from leafmagic.records import NodeRecord, TensorRecord, best_name
from leafmagic.shared import walk_behind

_RUNS = 3
_MOST_WALKED = 5_000


@register
class GraphGrowsWithRuns(Rule):
    """A graph that each run of a cell adds to, and that none lets go.

    What ``total += loss`` does in a loop it does in a cell that is run again, too: the name
    lives on between the runs, and its graph leads to those of all runs before. A number,
    or a detached state, leads nowhere.

    Failing cell::

        import torch
        w, total = torch.ones(2, requires_grad=True), 0
        # %%
        loss = (w.exp() ** 2).sum()
        loss.backward()
        w.grad = None
        total += loss
        # %% rerun 2
        # %% rerun 2

    Fixed::

        import torch
        w, total = torch.ones(2, requires_grad=True), 0
        # %%
        loss = (w.exp() ** 2).sum()
        loss.backward()
        w.grad = None
        total += loss.item()
        # %% rerun 2
        # %% rerun 2

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """

    kind = "memory_retention"
    code = "LM606"
    events = (Finished, Kept, SourceRead)

    def __init__(self) -> None:
        self._text: SourceRead | None = None

    def check(self, event: Finished | Kept | SourceRead, model: Model) -> Iterator[Finding]:
        """Look at the names of the notebook, and at its containers, when all is known."""
        if isinstance(event, SourceRead):
            self._text = self._text or event
        elif not model.session.text(model.run):
            return
        elif isinstance(event, Finished):
            yield from self._names(model)
        elif event.how == "container" and not event.running:
            yield from self._container(event, model)

    def _names(self, model: Model) -> Iterator[Finding]:
        over: set[int] | None = None
        for (scope, name), tid in list(model.names.items()):
            record = model.tensor(tid)
            node = None if record is None else model.nodes.get(record.nid)
            if scope or record is None or node is None or not node.made.site:
                continue
            if node.count >= _RUNS and node.seen.name.startswith(GATHERING):
                continue  # It grows in a loop already.
            key = model.session.text(model.run), name
            before = model.session.ends.get(key)
            runs = 1
            if before is not None and before.run != model.run:
                over = passed_over(model) if over is None else over
                asked = any(tid in one.inputs for one in model.passes)
                goes_on = not asked and node.index not in over
                runs += before.runs if goes_on and _leads_to(model, node, before.nid) else 0
            model.session.learn_end(key, GraphEnd(model.run, record.nid, runs))
            place = model.place(node.made.site) if runs >= _RUNS else None
            if place is not None:
                yield self._told(record, name, _of_name(place, name), runs)

    def _told(self, record: TensorRecord, name: str, place: Place, runs: int) -> Finding:
        what = addend(place, name)
        if place.kind not in ("AugAssign", "BinOp") or name not in place.operands:
            what = ""  # The name is not what something is added to.
        new = fixes.chained(what, "item()" if record.seen.shape == () else "detach()")
        line = with_operand(place, what, new) if what else _detached(place, name)
        return self.finding(
            f"the graph of `{name}` grows with each run of this cell: it is attached to those of "
            f"{runs} runs, with all that their ops saved.",
            fix=f"{line}  # and make `{name}` anew, once"
            if what and line
            else line or f"{name} = {name}.detach()  # at the top of the cell",
            variable=name,
            cause=place,
            record=record,
            edits=fixes.replace_statement(place, line) if line else (),
        )

    def _container(self, event: Kept, model: Model) -> Iterator[Finding]:
        session, runs, own = model.session, dict[int, int](), list[TensorRecord]()
        over = passed_over(model)
        for tid in event.tids:
            record = model.tensors.get(tid)
            if record is not None and record.made.site:
                runs[model.run] = runs.get(model.run, 0) + 1
                own.append(record)
                continue
            made = session.made.get(tid)
            if made is not None and session.is_rerun(model.run, made.run):
                runs[made.run] = runs.get(made.run, 0) + 1
                node = None if record is None else model.nodes.get(record.nid)
                if node is not None and node.index in over:
                    return  # A loss is computed from all of them.
        # What one run collects in a loop is told of as such.
        if not own or len(runs) < _RUNS or runs[model.run] >= _RUNS or self._text is None:
            return
        newest = own[-1]
        stored = _stored(source_read(self._text), event.name, newest)
        if stored is None:
            return
        source, item = stored
        place, words = source.place(item), source.words(item)
        new = fixes.chained(words, "item()" if newest.seen.shape == () else "detach()")
        yield self.finding(
            f"`{event.name}` gets longer with each run of this cell: it holds {event.size} "
            "computed tensors, each with its graph and all that its ops saved.",
            fix=with_operand(place, words, new)
            or f"put {new} in place of {words} into `{event.name}`",
            variable=event.name,
            cause=place,
            record=newest,
            edits=fixes.replace_expression(place, new),
        )


def _leads_to(model: Model, start: NodeRecord, nid: int) -> bool:
    """Tell whether a graph goes on from a node of an earlier trace."""
    way = walk_behind(model, start, _MOST_WALKED)
    return any(node.nid == nid and node is not start for node in way)


def _of_name(place: Place, name: str) -> Place:
    """Return the place of what a line binds to a name, rather than of an op inside it."""
    text = text_at(place)
    statement = text.statement(place)
    if isinstance(statement, ast.AugAssign) or place.targets == (name,) or statement is None:
        return place
    return text.source.place(statement)


def _detached(place: Place, name: str) -> str:
    """Return a statement that goes on from the values of a name, without its graph."""
    try:
        body = ast.parse(place.statement).body
    except SyntaxError:
        return ""
    if place.line != place.end_line or len(body) != 1 or not isinstance(body[0], ast.Assign):
        return ""
    found = [
        node
        for node in ast.walk(body[0].value)
        if isinstance(node, ast.Name) and node.id == name and node.lineno == 1
    ]
    line = place.statement
    if not found or not line.isascii():
        return ""
    for node in sorted(found, key=lambda one: -one.col_offset):
        line = f"{line[: node.end_col_offset]}.detach(){line[node.end_col_offset :]}"
    return line


def _stored(source: Source, path: str, newest: TensorRecord) -> tuple[Source, ast.expr] | None:
    """Find where a cell puts a tensor into a container; the part of a tuple that it is."""
    for container, item in stores(source, anywhere=True):
        if source.words(container) != path:
            continue
        parts = item.elts if isinstance(item, ast.Tuple | ast.List) else [item]
        named = [part for part in parts if source.words(part) == best_name(newest)]
        plain = ast.Name | ast.Call | ast.Attribute | ast.Subscript | ast.BinOp
        part = named[0] if named else parts[0]
        return (source, part) if isinstance(part, plain) else None
    return None
