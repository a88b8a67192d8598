"""Rules that take down what happens, and judge when all is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from leafmagic.events import Accessed, BackwardReturned, Stepped
from leafmagic.findings.base import Finding, Rule
from leafmagic.findings.reaching import reaching
from leafmagic.findings.source import Source, source_read
from leafmagic.looks import Kept, SourceRead, Wired
from leafmagic.model import Model


class AtTheEnd(Rule):
    """A rule on what modules and optimizers hold, and which of it the passes reached."""

    events = (BackwardReturned, Accessed, Stepped, Wired)

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Take down what happens; judge when all is known."""
        reaching(model).note(event, model)
        if isinstance(event, Wired):
            yield from self.judge(event, model)

    def judge(self, event: Wired, model: Model) -> Iterator[Finding]:
        """Yield what is wrong, now that the trace ends."""
        raise NotImplementedError


class OfKept(Rule):
    """A rule on what is kept when a trace ends.

    Attributes
    ----------
    how : str
        What keeps it; see `Kept.how`.
    """

    events = (Kept, SourceRead)
    how: ClassVar[str] = ""

    def __init__(self) -> None:
        self._read: list[SourceRead] = []

    def check(self, event: Kept | SourceRead, model: Model) -> Iterator[Finding]:
        """Take the texts down, which come first; then look at what is kept."""
        if isinstance(event, SourceRead):
            self._read.append(event)
        elif event.how == self.how:
            yield from self.kept(event, model)

    def texts(self) -> list[Source]:
        """Return the texts of the trace, the cell's own first."""
        return [source_read(event) for event in self._read]

    def kept(self, event: Kept, model: Model) -> Iterator[Finding]:
        """Yield what is wrong with what is kept."""
        raise NotImplementedError
