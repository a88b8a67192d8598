"""A trace as one JSON-ready document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from leafmagic import __version__
from leafmagic.build import MOST_NODES
from leafmagic.findings import Finding
from leafmagic.graph import AutogradGraph
from leafmagic.recording import SCHEMA_VERSION
from leafmagic.training import training_of

if TYPE_CHECKING:
    from leafmagic.tracing import Tracer


def training_in(
    trace: Tracer, graph: AutogradGraph, failed: Callable[[BaseException], None]
) -> dict[str, Any]:
    """Return what the steps of a loop add up to, or nothing; see `training_of`."""
    try:
        training = training_of(trace.model, graph)
        # What was seen last of loops that came to their end is a little too old.
        loops = trace.loops if trace.running or trace.model.error else ()
        if loops and not training:
            # A loop without backward: how far it is, and no more.
            training = {"steps": 0, "per_s": None, "roots": [], "parameters": []}
        if training:
            training.update(sampled=_sampled(trace), loops=[loop._asdict() for loop in loops])
        return training
    except Exception as ours:
        failed(ours)
        return {}


def document_of(
    trace: Tracer,
    graph: AutogradGraph,
    findings: Sequence[Finding],
    training: Mapping[str, Any],
    notes: Sequence[str],
    own_s: float,
    *,
    cut: bool,
) -> dict[str, Any]:
    """Return all that a trace shows.

    Parameters
    ----------
    trace : Tracer
    graph, findings, training
        What there is to show.
    notes : sequence of str
        What leafmagic has to say of itself.
    own_s : float
        Seconds that leafmagic took.
    cut : bool
        Whether there was more than can be recorded.
    """
    cell = trace.cell
    return {
        "schema_version": SCHEMA_VERSION,
        "leafmagic": __version__,
        "torch": torch.__version__,
        "cell": {
            "label": cell.label if cell is not None else "",
            "source": cell.text if cell is not None else "",
        },
        "status": {
            "running": trace.running,
            "events": trace.model.seen,
            "steps": trace.model.trends.steps,
            "duration_s": round(trace.duration, 4),
            "overhead_s": round(own_s, 4),
            "error": trace.model.error,
            "notes": list(notes),
            "cut": cut or len(graph.nodes) >= MOST_NODES,
        },
        "training": training,
        **graph.to_dict(),
        "findings": [finding.to_dict() for finding in findings],
    }


def _sampled(trace: Tracer) -> dict[str, Any]:
    """Say in how many passes gradients were measured, and what that took."""
    meter, seconds = trace.meter, trace.duration
    return {
        "passes": meter.measured,
        "of": meter.passes,
        # The first pass is measured anyway: a share says something of long cells only.
        "share": round(meter.seconds / seconds, 4) if seconds > 1 else None,
        "cut": meter.cut,
    }
