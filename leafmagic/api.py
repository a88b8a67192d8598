"""What leafmagic offers outside a notebook."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor

from leafmagic import names
from leafmagic.cell import CellSource, default_label, source_of
from leafmagic.graph import AutogradGraph
from leafmagic.options import Options
from leafmagic.tracing import Tracer


def trace(**options: Any) -> Tracer:
    """Trace a block of code outside a notebook.

    Parameters
    ----------
    **options
        Fields of `leafmagic.options.Options`: ``strict``, ``ignore``, ``retain``,
        ``grads``, ``share``, ``histogram``.

    Returns
    -------
    Tracer
        A context manager that gives the trace.

    Raises
    ------
    TypeError
        For an option that there is not.
    ValueError
        For a value that an option does not take.

    Examples
    --------
    >>> import torch, leafmagic
    >>> with leafmagic.trace() as t:
    ...     w = torch.ones(3, requires_grad=True)
    ...     (w * 2).sum().backward()
    >>> t.findings
    ()
    """
    chosen = Options(**options)
    filename = names.caller_file()
    cell = CellSource(_label(filename) or default_label(filename), source_of(filename), filename)
    return Tracer(chosen, cell=cell, label=_label)


def _label(filename: str) -> str | None:
    """Return what IPython calls a cell, where it runs and made that file."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return None
    from leafmagic.celltext import label_of

    return label_of(shell, filename)


def graph_of(*tensors: Tensor) -> AutogradGraph:
    """Return the graph behind existing tensors, drawn after the fact.

    Parameters
    ----------
    *tensors : Tensor
        Losses, parameters or any other tensors. The names that the caller's namespace
        has for them and for the leaves behind them are used.

    Raises
    ------
    TypeError
        If one of them is not a tensor.
    """
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"graph_of takes tensors, not {type(tensor).__name__}")
    return trace_of(tensors, names.caller_namespace()).graph


def trace_of(tensors: tuple[Tensor, ...], namespace: dict[str, Any]) -> Tracer:
    """Return a finished trace that holds the graph behind existing tensors."""
    trace = Tracer(namespace=namespace, label=_label)
    with torch._C.DisableTorchFunction(), torch.no_grad():
        trace.adopt(tensors)
    return trace
