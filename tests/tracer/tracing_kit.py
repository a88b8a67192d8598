"""Running code as a traced cell, and comparing it with the same code untraced."""

from __future__ import annotations

import ast
import itertools
import linecache
import sys
import warnings
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch
from torch._dynamo.mutation_guard import install_generation_tagging_init

# torch.compile changes nn.Module when it is first used, and torch when it is imported. The
# fixtures would take that for something left over.
install_generation_tagging_init()
_numbers = itertools.count(1)


@dataclass
class Ran:
    """A cell that was run."""

    ns: dict[str, Any]
    trace: Any = None
    error: BaseException | None = None
    warned: list[warnings.WarningMessage] = field(default_factory=list)

    @property
    def found(self) -> set[tuple[str, str | None, int | None]]:
        """Kind, variable and line of everything found that is not for information only."""
        return {(f.kind, f.variable, f.line) for f in self.trace.findings if f.severity != "info"}

    def node(self, name: str) -> Any:
        return self.trace.graph.named(name)

    @property
    def notes(self) -> list[str]:
        return self.trace.document()["status"]["notes"]


def compile_cell(text: str, filename: str) -> list[Any]:
    """Compile a cell as IPython does: one code object per statement at its top."""
    lines = text.splitlines(keepends=True)
    linecache.cache[filename] = (len(text), None, lines, filename)
    tree = ast.parse(text)
    return [
        compile(ast.Module([part], []), filename, "exec", dont_inherit=True) for part in tree.body
    ]


def run_plain(text: str, ns: dict[str, Any] | None = None, *, seed: int = 0) -> Ran:
    """Run a cell without a trace."""
    ran = Ran({"__name__": "__main__", "torch": torch} if ns is None else ns)
    parts = compile_cell(text, f"<ipython-input-{next(_numbers)}-plain>")
    torch.manual_seed(seed)
    with warnings.catch_warnings(record=True) as ran.warned:
        warnings.simplefilter("always")
        try:
            for part in parts:
                exec(part, ran.ns)
        except BaseException as error:
            ran.error = error
    return ran


def run_traced(
    text: str, ns: dict[str, Any] | None = None, *, seed: int = 0, **options: Any
) -> Ran:
    """Run a cell under a trace of its own, as the magics do."""
    from leafmagic.cell import CellSource
    from leafmagic.options import Options
    from leafmagic.tracing import Tracer

    number = next(_numbers)
    filename = f"<ipython-input-{number}-traced>"
    ran = Ran({"__name__": "__main__", "torch": torch} if ns is None else ns)
    parts = compile_cell(text, filename)
    cell = CellSource(f"Cell In[{number}]", text, filename)
    ran.trace = Tracer(Options(**options), cell=cell, namespace=ran.ns)
    torch.manual_seed(seed)
    with warnings.catch_warnings(record=True) as ran.warned:
        warnings.simplefilter("always")
        ran.trace.start()
        try:
            for part in parts:
                exec(part, ran.ns)
        except BaseException as error:
            ran.error = error
        finally:
            ran.trace.stop(ran.error)
    return ran


def both(text: str, *, seed: int = 0, **options: Any) -> tuple[Ran, Ran]:
    """Run the same cell in two fresh namespaces, plain and traced."""
    plain = run_plain(text, seed=seed)
    traced = run_traced(text, seed=seed, **options)
    return plain, traced


def check_well(ran: Ran) -> None:
    """Fail if the cell raised or the tracer gave up."""
    if ran.error is not None:
        raise ran.error
    assert ran.notes == []


def state_of(value: torch.Tensor) -> dict[str, Any]:
    """Everything that a program can ask of a tensor without changing it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _ = value.grad_fn
        except RuntimeError as refused:
            # A view whose base was changed in a way that torch forbids.
            return {"refused": str(refused)}
        hooks = value._backward_hooks
        grad = value.grad
        return {
            "bits": bits(value),
            "type": type(value),
            "shape": tuple(value.shape),
            "stride": value.stride() if value.layout == torch.strided else None,
            "dtype": value.dtype,
            "requires_grad": value.requires_grad,
            "is_leaf": value.is_leaf,
            "retains_grad": value.retains_grad,
            "grad_fn": None if value.grad_fn is None else value.grad_fn.name(),
            "version": None if value.is_inference() else value._version,
            "inference": value.is_inference(),
            "view": value._is_view(),
            "hooks": len(hooks) if hooks else 0,
            "attributes": sorted(value.__dict__),
            "grad": None if grad is None else (bits(grad), grad.requires_grad),
        }


def bits(value: torch.Tensor) -> Any:
    """Return the exact content of a tensor, NaNs included."""
    value = value.detach()
    if value.layout != torch.strided:
        value = value.to_dense()
    value = value.resolve_conj().resolve_neg().contiguous().cpu()
    if value.numel() == 0:
        return (tuple(value.shape), b"")
    return (tuple(value.shape), value.view(-1).view(torch.uint8).numpy().tobytes())


def break_everywhere(monkeypatch: Any, name: str, owner: str = "") -> list[str]:
    """Make a function of leafmagic raise, wherever its modules refer to it.

    Parameters
    ----------
    name : str
        A function or class; with an `owner`, a method of that class.

    Returns
    -------
    list of str
        What was replaced.
    """

    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError(f"broken {name}")

    replaced = []
    for home, module in list(sys.modules.items()):
        if home.partition(".")[0] != "leafmagic":
            continue
        holder = getattr(module, owner, None) if owner else module
        if isinstance(holder, type if owner else ModuleType) and name in vars(holder):
            monkeypatch.setattr(holder, name, broken)
            replaced.append(f"{home}.{owner}.{name}")
            if owner:
                break
    return replaced


def tensors_in(ns: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Return all tensors that a namespace holds: variables, parameters, items, their grads."""
    found: dict[str, torch.Tensor] = {}
    for name, value in ns.items():
        if isinstance(value, torch.Tensor):
            found[name] = value
        elif isinstance(value, torch.nn.Module):
            found |= {f"{name}.{k}": v for k, v in value.named_parameters()}
            found |= {f"{name}.{k}": v for k, v in value.named_buffers()}
        elif isinstance(value, list | tuple):
            found |= {f"{name}[{i}]": v for i, v in enumerate(value) if isinstance(v, torch.Tensor)}
        elif isinstance(value, dict) and not name.startswith("__"):
            found |= {f"{name}[{k!r}]": v for k, v in value.items() if isinstance(v, torch.Tensor)}
    return found


def plain_values(ns: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers, strings and lists of them that a namespace holds."""
    return {
        name: value
        for name, value in ns.items()
        if not name.startswith("__") and isinstance(value, int | float | str | bool)
    } | {
        name: value
        for name, value in ns.items()
        if isinstance(value, list | tuple)
        and all(isinstance(item, int | float | str | bool | type(None)) for item in value)
    }


def assert_same(plain: Ran, traced: Ran) -> None:
    """Assert that a cell did exactly the same with and without a trace."""
    assert type(plain.error) is type(traced.error), (plain.error, traced.error)
    if plain.error is not None:
        assert str(plain.error) == str(traced.error)
    plain_names = {name for name in plain.ns if not name.startswith("__")}
    assert plain_names == {name for name in traced.ns if not name.startswith("__")}
    ours, theirs = tensors_in(traced.ns), tensors_in(plain.ns)
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        assert state_of(ours[name]) == state_of(tensor), name
    assert plain_values(traced.ns) == plain_values(plain.ns)
    assert traced.notes == []
