"""Optimizers of one module where the loss reaches another, that none has."""

from __future__ import annotations

import re
from typing import NamedTuple

from leafmagic.cell import Place
from leafmagic.findings import fixes
from leafmagic.findings.ends import Missed
from leafmagic.findings.inline import Mend
from leafmagic.findings.outdated import made_by
from leafmagic.findings.reaching import reaching
from leafmagic.findings.unowned import stepped, unowned
from leafmagic.looks import Wired
from leafmagic.model import Model


class Unmoved(NamedTuple):
    """An optimizer that never had a gradient to step with.

    Attributes
    ----------
    why : str
    mend : Mend
    cause : Place or None
        Of the line that makes the optimizer.
    """

    why: str
    mend: Mend
    cause: Place | None


def unmoved(one: Missed, root: str, event: Wired, model: Model) -> Unmoved | None:
    """Tell whether all that an optimizer has was missed, and what has no optimizer was reached.

    Parameters
    ----------
    root : str
        The module, no part of which was reached.
    """
    found = [
        (steps, seen)
        for steps, seen in stepped(event, reaching(model))
        if seen is not None and one.leaf.tid in steps.idle and not steps.had
    ]
    reached = {held.root for held in unowned(event, model) if held.registered} - {root}
    if not found or not reached:
        return None
    steps, seen = found[0]
    path = "the optimizer" if seen is None else seen.path
    other = min(reached)
    again, made = made_by(model.place(steps.site), path)
    new = re.sub(rf"(?<![\w.]){re.escape(root)}(?=\.(named_)?parameters\()", other, again)
    mend = Mend(f"give `{path}` the parameters of `{other}`: make it anew, of those")
    if len(reached) == 1 and made is not None and new != again:
        mend = Mend(new, fixes.replace_statement(made, new))
    why = (
        f"the loss reached `{other}`, which no optimizer has, and `{path}` has never found a "
        "gradient to step with."
    )
    return Unmoved(why, mend, made)
