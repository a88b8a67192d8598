"""The rules' pages: what `%autograd explain` prints."""

from __future__ import annotations

import inspect

from leafmagic.findings.base import RULES, Rule


def page(rule: type[Rule]) -> str:
    """Return the page of one rule: its code and kind, and its docstring."""
    return f"{rule.code}  {rule.kind}  ({rule.severity})\n\n{inspect.getdoc(rule)}"


def title(rule: type[Rule]) -> str:
    """Return the first line of a rule's page, without the marks for code."""
    return (inspect.getdoc(rule) or "").partition("\n")[0].replace("``", "")


def pages(word: str = "") -> str:
    """Return the pages of a kind or a code; without one, a line for each code."""
    rules = sorted(RULES, key=lambda rule: rule.code)
    if not word:
        width = max(len(rule.kind) for rule in rules)
        return "\n".join(f"{rule.code}  {rule.kind:{width}}  {title(rule)}" for rule in rules)
    return "\n\n\n".join(page(rule) for rule in rules if word in (rule.kind, rule.code))
