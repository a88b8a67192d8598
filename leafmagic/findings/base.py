"""What a finding is, what a rule is, and how rules are run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.events import OpCalled
from leafmagic.looks import Event, Raised
from leafmagic.model import Model
from leafmagic.records import TensorRecord

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[str, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake, told in the words of the cell. The reader knows it as a warning.

    Attributes
    ----------
    kind : str
        The kind of mistake, such as ``"nonleaf_grad_read"``.
    code : str
        Unique and stable, such as ``"LM101"``.
    severity : {"error", "warning", "info"}
        ``error``: it raised or will raise; ``warning``: a gradient is missing or
        wrong; ``info``: worth knowing.
    message : str
        What is wrong.
    fix : str
        Code to paste, or what to do.
    variable : str or None
        The variable concerned, as the source spells it.
    line : int or None
        1-based line of the cause.
    symptom_line : int or None
        Where it is noticed.
    cell : str or None
        The cell or file that `line` counts in.
    count : int
        How often it was noticed.
    node : str or None
        Id of the tensor in the graph.
    source : str
        The line of the cause, without its indent.
    column, end_column : int or None
        0-based span of the causing expression in `source`, in characters.
    edits : tuple of Edit
        The fix as changes of the text, all of them or none; empty where it is not a
        local one. See `Trace.fixed_source`.
    """

    kind: str
    code: str
    severity: Severity
    message: str
    fix: str = ""
    variable: str | None = None
    line: int | None = None
    symptom_line: int | None = None
    cell: str | None = None
    count: int = 1
    node: str | None = None
    source: str = ""
    column: int | None = None
    end_column: int | None = None
    edits: tuple[Edit, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values, one key for each attribute; ``edits`` is a list of dicts."""
        return {
            **{f.name: getattr(self, f.name) for f in dataclasses.fields(self)},
            "edits": [edit.to_dict() for edit in self.edits],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Finding:
        """Rebuild a finding; unknown keys are ignored."""
        known = {f.name for f in dataclasses.fields(cls)}
        given = {k: v for k, v in values.items() if k in known}
        given["edits"] = tuple(Edit.from_dict(edit) for edit in given.get("edits", ()))
        return cls(**given)

    def explanation(self) -> str:
        """Return it as at most three lines, for a note under a traceback."""
        where = "" if self.line is None else f" ({self.cell or 'line'}, line {self.line})"
        source = f"\n    line {self.line}: {self.source}" if self.source else ""
        paste = self.fix.replace("\n", "\n         ")
        fix = f"\n    fix: {paste}" if paste else ""
        return f"leafmagic {self.code}{where}: {self.message}{source}{fix}"


class Rule:
    """A kind of mistake and how to notice it.

    A rule's docstring is its page: what it looks for, why it hurts, a failing cell,
    the fixed cell, a reference.

    Attributes
    ----------
    kind, code, severity
        What its findings carry.
    events : tuple of type
        The events it wants to see. It sees them after the model took them in.
    ops : frozenset of str
        Of `OpCalled`, only calls of these.
    """

    kind: ClassVar[str]
    code: ClassVar[str]
    severity: ClassVar[Severity] = "warning"
    events: ClassVar[tuple[type, ...]] = ()
    ops: ClassVar[frozenset[str]] = frozenset()

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Yield what this event shows to be wrong."""
        raise NotImplementedError

    def finding(
        self,
        message: str,
        *,
        fix: str = "",
        variable: str | None = None,
        cause: Place | None = None,
        line: int | None = None,
        symptom: int | None = None,
        record: TensorRecord | None = None,
        severity: Severity | None = None,
        count: int = 1,
        edits: tuple[Edit, ...] = (),
    ) -> Finding:
        """Make a finding of this rule's kind, caused at a place (or at a line of it).

        Parameters
        ----------
        fix : str
            Code to paste, or words. Never code that breaks off or uses names that are
            not there.
        count : int
            0 tells of something that was counted when it was announced.
        edits : tuple of Edit
            The fix as changes of the text, from the helpers in
            `leafmagic.findings.fixes`. Each takes a `Place`, returns a tuple, empty
            where the text is not known or the result would not parse, and the tuples
            are added up; a fix of which one part is empty has no edits
            (`fixes.together`)::

                fixes.replace_expression(place, "w.detach()")
                fixes.replace_statement(place, "w -= 0.1")  # or of several lines
                fixes.insert_before(place, "w.grad = None")  # at its indent
                fixes.insert_after(place, "h.retain_grad()")
                fixes.wrap_statement(place, "with torch.no_grad():")
                fixes.remove_statement(place)

            All keep indents and comments, and break up ``a; b`` where they must.
        """
        at = cause.line if cause is not None and line is None else line
        spot = cause if cause is not None and at == cause.line else None
        return Finding(
            kind=self.kind,
            code=self.code,
            severity=severity or self.severity,
            message=message,
            fix=fix,
            variable=variable or None,
            line=at,
            symptom_line=at if symptom is None else symptom,
            cell=None if cause is None else cause.label,
            count=count,
            node=None if record is None else record.id,
            source="" if spot is None else spot.text.strip(),
            column=None if spot is None else _in_source(spot, spot.column),
            end_column=None if spot is None else _end_column(spot),
            edits=edits,
        )


def _in_source(place: Place, column: int | None) -> int | None:
    indent = len(place.text) - len(place.text.lstrip())
    return None if column is None else max(column - indent, 0)


def _end_column(place: Place) -> int | None:
    if place.line != place.end_line:
        return len(place.text.strip())
    return _in_source(place, place.end_column)


RULES: list[type[Rule]] = []


def register(rule: type[Rule]) -> type[Rule]:
    """Add a rule to the registry; its code must be its own.

    Raises
    ------
    ValueError
        If another rule has that code.
    """
    if any(known.code == rule.code for known in RULES):
        raise ValueError(f"{rule.code} is taken")
    RULES.append(rule)
    return rule


class Findings:
    """Runs the rules over the events of one trace and counts what they find.

    Parameters
    ----------
    model : Model
    ignore : iterable of str
        Kinds or codes to leave out.
    """

    def __init__(self, model: Model, ignore: Iterable[str] = ()) -> None:
        self.model = model
        self._found: dict[tuple[Any, ...], Finding] = {}
        self.raised: list[Finding] = []
        """What the newest error was found to come from."""
        self.failures: dict[str, str] = {}
        """By code what went wrong in a rule."""
        self._by_event: dict[type, list[Rule]] = {}
        self._by_op: dict[str, list[Rule]] = {}
        ignored = set(ignore)
        for rule in RULES:
            if rule.kind not in ignored and rule.code not in ignored:
                one = rule()
                for event in rule.events:
                    self._by_event.setdefault(event, []).append(one)
                for op in rule.ops:
                    self._by_op.setdefault(op, []).append(one)

    def feed(self, event: Event) -> list[Finding]:
        """Show an event to the rules that want it; return what they found."""
        if isinstance(event, OpCalled):
            rules = self._by_op.get(event.op)
        else:
            rules = self._by_event.get(type(event))
        if isinstance(event, Raised):
            self.raised = []
        if not rules and not self.model.rebound:
            return []
        found: list[Finding] = []
        for rule in list(rules or ()):
            try:
                found += [self._count(finding) for finding in rule.check(event, self.model)]
            except Exception as error:
                # One rule that fails must not silence the others.
                self.failures.setdefault(rule.code, f"{type(error).__name__}: {error}")
        while self.model.rebound:
            found += self.feed(self.model.rebound.pop())
        if isinstance(event, Raised):
            self.raised = found
        return found

    def _count(self, finding: Finding) -> Finding:
        key = (finding.kind, finding.variable, finding.cell, finding.line)
        known = self._found.get(key)
        if known is not None:
            finding = dataclasses.replace(
                finding,
                count=known.count + finding.count,
                symptom_line=max(finding.symptom_line or 0, known.symptom_line or 0) or None,
                severity=min(finding.severity, known.severity, key=SEVERITIES.index),
            )
        finding = finding if finding.count else dataclasses.replace(finding, count=1)
        self._found[key] = finding
        return finding

    def ordered(self) -> tuple[Finding, ...]:
        """Return all findings, ordered by line, the gravest first within one."""
        return tuple(
            sorted(
                self._found.values(),
                key=lambda f: (f.line or 0, SEVERITIES.index(f.severity), f.code),
            )
        )
