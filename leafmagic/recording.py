"""A trace as plain data: what it found, its graph, and the files it can be saved as."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafmagic.edits import mend
from leafmagic.findings.base import SEVERITIES, Finding
from leafmagic.graph import AutogradGraph
from leafmagic.histories import Steps, frame_of, history_in, steps_in

if TYPE_CHECKING:
    import pandas

SCHEMA_VERSION = 1
NEWEST: list[Trace] = []
"""The newest trace that was started, and before it, while it runs, the one that its code may
ask about; empty before the first."""


class Trace:
    """What was recorded around some code.

    Parameters
    ----------
    document : dict
        As `to_json` writes it.

    Attributes
    ----------
    running : bool
        Whether it is still recording.
    automatic : bool
        Whether every cell is traced, and nobody asked for this one.
    """

    running: bool = False
    automatic: bool = False

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._graph = AutogradGraph.from_dict(document)
        self._findings = tuple(Finding.from_dict(f) for f in document["findings"])

    @property
    def graph(self) -> AutogradGraph:
        """The autograd graph."""
        return self._graph

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, ordered by line."""
        return self._findings

    @property
    def idle(self) -> bool:
        """Whether the code did nothing with torch, so far."""
        model: Any = getattr(self, "model", None)
        if model is None:
            return False
        if self.findings or model.passes:  # what was recorded is folded now
            return False
        records = list(model.tensors.values())
        return not any(r.made.site or r.used or r.cleared or r.writes for r in records)

    def document(self) -> dict[str, Any]:
        """Return everything as JSON-ready values."""
        return self._document

    def to_json(self) -> str:
        """Return the trace as JSON text; `leafmagic.load` reads it back."""
        return json.dumps({**self.document(), "history": self.histories()}, ensure_ascii=False)

    def histories(self) -> dict[str, Any]:
        """Return all that is kept of the steps of a loop, as JSON-ready values."""
        found: dict[str, Any] = self._document.get("history", {})
        return found

    @property
    def steps(self) -> Steps:
        """How many steps a training loop took, and the newest of them."""
        return steps_in(self.histories(), self.document().get("training", {}).get("steps", 0))

    def history(self, name: str) -> dict[str, Any]:
        """Return what was measured of one tensor, over the steps of a loop.

        Parameters
        ----------
        name : str
            A leaf or parameter (``"net.0.weight"``), another named tensor, the root of
            backward passes (``"loss"``), or the id of a node of the graph.

        Returns
        -------
        dict of str to numpy.ndarray
            Of a leaf ``step``, ``norm``, ``max``, ``mean``, ``zeros``, ``bad`` and
            ``update``, as `leafmagic.graph.GradStats` has them; of other tensors ``step``
            and ``norm``, the newest 32; of a root ``step``, ``value`` and ``at`` (seconds
            since the first pass). A ``step`` is counted for each line that calls
            ``backward``: leaves and roots have that ``line``, too, and leaves the ``order``
            of the pass among all passes of the trace, from 1. Tensors of one name and shape
            are one, in the order in which they ran. All columns have one length. Of a long
            loop the newest steps that were measured are all there, of earlier ones a part,
            evenly spread.

        Raises
        ------
        KeyError
            If nothing was measured under that name; it says which names there are.
        """
        return history_in(self.histories(), name)

    def to_dataframe(self) -> pandas.DataFrame:
        """Return what was measured of all leaves, one row for each leaf and step.

        Returns
        -------
        pandas.DataFrame
            With the columns ``name`` and those that `history` gives for a leaf.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return frame_of(self.histories())

    def fixed_source(self, kind: str | None = None) -> str:
        """Return the text of the cell with the edits of its findings applied.

        Where two overlap, that of the graver finding is applied, then that of the first
        line. Everything else, line endings and comments too, stays as it is.

        Parameters
        ----------
        kind : str, optional
            The kind or code of the findings to fix; all if left out.

        Raises
        ------
        ValueError
            If there is nothing to apply; it says why.
        """
        return mend_trace(self, kind).text

    def save(self, path: str | Path) -> None:
        """Write the trace to a file, in the format of its ending.

        Parameters
        ----------
        path : str or Path
            Ends in ``.svg``, ``.html``, ``.json`` or ``.dot``.

        Raises
        ------
        ValueError
            If it ends in anything else.
        """
        path = Path(path)
        write = _WRITERS.get(path.suffix.lower())
        if write is None:
            raise ValueError(f"the file must end in {', '.join(_WRITERS)}, not {path.name!r}")
        path.write_text(write(self), encoding="utf-8")

    def __repr__(self) -> str:
        """Say in one line what it holds."""
        document = self.document()
        tensors = sum(node["kind"] == "tensor" for node in document["nodes"])
        found = [f"{f['kind']} (line {f['line']})" for f in document["findings"]]
        told = ", ".join(found[:4]) + (", …" if len(found) > 4 else "") if found else "none"
        return (
            f"<leafmagic.Trace {document['cell']['label'] or 'of code'}: {tensors} tensors, "
            f"{len(document['nodes']) - tensors} ops; warnings: {told}>"
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from leafmagic.render.html import render_twin
        from leafmagic.render.payload import build_payload
        from leafmagic.render.text import render_text

        payload = build_payload(self.document())
        return {"text/plain": render_text(payload), "text/html": render_twin(payload, "trace")}


@dataclass(frozen=True, slots=True)
class Fixes:
    """What came of applying the edits of a trace.

    Attributes
    ----------
    text : str
        The text of the cell.
    applied : tuple of Finding
        What is fixed in it.
    left : tuple of (Finding, str)
        What is not, and why.
    """

    text: str
    applied: tuple[Finding, ...]
    left: tuple[tuple[Finding, str], ...]


def mend_trace(trace: Trace, kind: str | None = None) -> Fixes:
    """Apply the edits of a trace's findings to the text of its cell.

    Raises
    ------
    ValueError
        As `Trace.fixed_source`.
    """
    cell = trace.document()["cell"]
    label, text = cell["label"], cell["source"]
    found = [f for f in trace.findings if kind is None or kind in (f.kind, f.code)]
    found.sort(key=lambda f: (SEVERITIES.index(f.severity), f.line or 0))
    what = "nothing was found" if kind is None else f"no {kind} was found"
    if not found:
        raise ValueError(f"{what} in {label or 'the traced code'}")
    if not text:
        raise ValueError("the trace is not of a cell; Finding.edits says what to change")
    mended = mend(text, label, [finding.edits for finding in found])
    left = tuple((found[index], why) for index, why in mended.refused.items())
    if len(left) == len(found):
        told = [f"{f.code}{f' (line {f.line})' if f.line else ''}: {why}" for f, why in left]
        raise ValueError(f"nothing to apply to {label}; {'; '.join(told)}")
    applied = tuple(f for index, f in enumerate(found) if index not in mended.refused)
    return Fixes(mended.text, applied, left)


def _as_json(trace: Trace) -> str:
    return trace.to_json()


def _as_svg(trace: Trace) -> str:
    from leafmagic.render.payload import build_payload
    from leafmagic.render.svg import render_svg

    return render_svg(build_payload(trace.document()))


def _as_html(trace: Trace) -> str:
    from leafmagic.render.html import render_html
    from leafmagic.render.payload import build_payload

    return render_html(build_payload(trace.document()))


def _as_dot(trace: Trace) -> str:
    from leafmagic.render.dot import render_dot
    from leafmagic.render.payload import build_payload

    return render_dot(build_payload(trace.document()))


_WRITERS: dict[str, Callable[[Trace], str]] = {
    ".svg": _as_svg,
    ".html": _as_html,
    ".json": _as_json,
    ".dot": _as_dot,
}
SUFFIXES: tuple[str, ...] = tuple(_WRITERS)
"""The file endings that `Trace.save` knows."""


def load(path: str | Path) -> Trace:
    """Read a trace that was saved as JSON.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    ValueError
        If the file is not a trace, or was written by a newer leafmagic.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not a leafmagic trace: {error}") from None
    version = document.get("schema_version") if isinstance(document, dict) else None
    if not isinstance(version, int):
        raise ValueError(f"{path} is not a leafmagic trace")
    if version > SCHEMA_VERSION:
        raise ValueError(f"{path} was written by a newer leafmagic (schema {version})")
    try:
        return Trace(document)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is a damaged leafmagic trace: {error!r}") from None


def last() -> Trace | None:
    """Return the newest trace that was started, or None.

    Where every cell is traced, that is not the trace of a cell that does nothing with torch,
    such as one that asks for the last trace.
    """
    if NEWEST and NEWEST[-1].automatic and NEWEST[-1].idle:
        return NEWEST[-2] if NEWEST[1:] else None
    return NEWEST[-1] if NEWEST else None


def forget(trace: Trace, before: list[Trace]) -> None:
    """Let the trace that was the newest before one be it again."""
    if len(NEWEST) == 1 and NEWEST[0] is trace:
        NEWEST[:] = before
