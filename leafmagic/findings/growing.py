"""What can be said of growth while the code still runs."""

from __future__ import annotations

import ast

from leafmagic.cell import Place
from leafmagic.findings.source import Source, source_at
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import NodeRecord
from leafmagic.shared import children

_MOST_BELOW = 50
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_CUTTING = frozenset({"detach", "detach_", "data", "no_grad", "zero_", "copy_", "set_"})
_EMPTYING = frozenset({"clear", "pop", "popleft", "popitem", "remove"})


def announced(told: set[int | None], key: int | None) -> int:
    """Return the count of a finding: 0 if it was told while the code ran, and now again."""
    if key in told:
        return 0
    told.add(key)
    return 1


def freed(model: Model) -> set[int]:
    """Return the nodes, by index, whose saved tensors a pass has freed."""
    newest = {one.site: one for one in model.passes if one.finished and not one.failed}
    return {
        node.index
        for one in newest.values()
        if not one.retain_graph
        for node in reach(model, one.roots).nodes
        if node.made.ordinal < one.finished  # not made anew since
    }


def freed_below(model: Model, node: NodeRecord) -> bool:
    """Tell whether a backward from a node would come to what a pass has freed."""
    gone, queue, seen = freed(model), [node], {node.index}
    for one in queue:
        for child in children(model, one):
            if child.node.index in gone:
                return True
            if child.node.index not in seen and len(queue) < _MOST_BELOW:
                seen.add(child.node.index)
                queue.append(child.node)
    return False


def may_end(place: Place, name: str, *, bindings: int) -> bool:
    """Tell whether something in the text may end the growth, now and then.

    Parameters
    ----------
    bindings : int
        How many statements in loops bind the name if nothing does.

    Notes
    -----
    A state is detached, a list is emptied, or the name is bound once more in a loop: by
    what else runs later than the statement that makes it grow.
    """
    source = source_at(place)
    own = name.partition(".")[0].partition("[")[0]
    bound = 0
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and node.attr in _CUTTING:
            return True
        if isinstance(node, ast.Attribute) and node.attr in _EMPTYING:
            return True
        if isinstance(node, ast.Name) and node.id == own and not isinstance(node.ctx, ast.Load):
            bound += _in_a_loop(source, node)
        elif isinstance(node, ast.Delete):
            return True
    return bound > bindings


def _in_a_loop(source: Source, node: ast.AST) -> bool:
    return any(isinstance(above, _LOOPS) for above in source.parents(node))
