"""Rules that look at what was recorded and say what is wrong.

Importing this package registers every rule; the registry is `RULES`.
"""

from leafmagic.findings import (
    accumulation,
    carried,
    compiled,
    contract,
    copies,
    custom_calls,
    custom_saves,
    cuts,
    emptied,
    flags,
    freed,
    hidden,
    hooks,
    kept,
    modes,
    overwritten,
    phantoms,
    reads,
    rebound,
    stale,
    unowned,
    unreached,
    untracked,
    values,
    views,
    wiring,
    writes,
)
from leafmagic.findings.base import RULES, Finding, Findings, Rule

KINDS: tuple[str, ...] = tuple(dict.fromkeys(rule.kind for rule in RULES))
"""Every kind of finding that there is a rule for."""

__all__ = [
    "Finding",
    "Findings",
    "KINDS",
    "RULES",
    "Rule",
    "accumulation",
    "carried",
    "compiled",
    "contract",
    "copies",
    "custom_calls",
    "custom_saves",
    "cuts",
    "emptied",
    "flags",
    "freed",
    "hidden",
    "hooks",
    "kept",
    "modes",
    "overwritten",
    "phantoms",
    "reads",
    "rebound",
    "stale",
    "unowned",
    "unreached",
    "untracked",
    "values",
    "views",
    "wiring",
    "writes",
]
