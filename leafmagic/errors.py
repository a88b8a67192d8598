"""Errors that leafmagic raises on purpose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_SHOWN = 3


class StrictError(Exception):
    """The code ran, and its autograd graph has errors or warnings.

    Raised by ``strict`` after the traced code has finished. IPython shows it as one
    line: the place of the fault is in the message, not in a traceback.
    """

    @classmethod
    def from_findings(cls, findings: Iterable[Any], label: str) -> StrictError | None:
        """Return the error for these findings, or None if none of them is serious.

        Parameters
        ----------
        findings : iterable of Finding
        label : str
            Where they were found, such as ``"Cell In[3]"``.
        """
        serious = [f for f in findings if f.severity in ("error", "warning")]
        if not serious:
            return None
        said = [
            f"line {f.line}: {f.message}" if f.line is not None else f.message
            for f in serious[:_SHOWN]
        ]
        if len(serious) > _SHOWN:
            said.append(f"and {len(serious) - _SHOWN} more")
        errors = sum(f.severity == "error" for f in serious)
        counts = [_count(errors, "error"), _count(len(serious) - errors, "warning")]
        return cls(f"{' and '.join(filter(None, counts))} in {label}: {'; '.join(said)}")

    def _render_traceback_(self) -> list[str]:
        """Show one line (IPython's protocol for errors that need no traceback)."""
        return [f"StrictError: {self}"]


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' if number > 1 else ''}" if number else ""
