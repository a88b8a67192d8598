"""What counts as having said it, pointed at the line, named the variable, told a fix."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

from casefiles import Case, mentions
from caserun import Found, Ran


@dataclass(frozen=True)
class Verdict:
    """How well a mistake was told.

    Attributes
    ----------
    said : bool
        Whether anything was said.
    line : bool
        Whether the causing line was pointed at.
    named : bool
        Whether the variable was named.
    fix : bool
        Whether the kind and the line were right and a fix came with them.
    found : bool
        Whether one finding had it all.
    """

    said: bool
    line: bool
    named: bool
    fix: bool = False
    found: bool = False

    def __iter__(self) -> Any:
        """Give the columns of the table, in order."""
        return iter(astuple(self))


def right(case: Case, ran: Ran) -> list[Found]:
    """Return the findings that have the kind and the line of the cause."""
    return [f for f in ran.found if f.finding.kind == case.kind and f.spot == case.cause]


def names(case: Case, found: Found) -> bool:
    """Whether a finding names the case's variable, as its own or in its message."""
    finding = found.finding
    return finding.variable == case.variable or mentions(finding.message, case.variable)


def usable(found: Found) -> bool:
    """Whether there is a fix that does not break off in the middle."""
    fix = found.finding.fix.strip()
    return bool(fix) and not fix.endswith((":", "=", "(", ","))


def of_leafmagic(case: Case, ran: Ran) -> Verdict:
    """Judge what leafmagic found of a mistake."""
    there = right(case, ran)
    return Verdict(
        said=bool(ran.found),
        line=any(f.spot == case.cause for f in ran.found),
        named=any(names(case, f) for f in ran.found),
        fix=any(usable(f) for f in there),
        found=any(names(case, f) and usable(f) for f in there),
    )


def of_torch(case: Case, ran: Ran) -> Verdict:
    """Judge the errors and warnings that came without leafmagic."""
    return Verdict(
        said=bool(ran.said),
        line=case.cause in ran.points,
        named=any(mentions(text, case.variable) for text in ran.said),
    )


def torch_alarms(ran: Ran) -> int:
    """Count the warnings; errors of code that is right are the code's own."""
    return len(ran.said) - len(ran.raised)
