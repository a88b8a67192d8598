"""All modules and optimizers that torch tests itself with: quiet under a trace, and the same.

The samples are those of torch's own tests. Importing them costs some seconds and changes
`torch.manual_seed`, so that it is done before a test runs, and not when it is collected.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves

import leafmagic

STEPS = 3
MOST = 8
"""Of the samples of one class; some have dozens, for each of their options."""


def trained(info: Any) -> Iterator[Any]:
    """Run each training sample of a module class: forward, backward, a step; yield the results."""
    samples = info.module_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=True, training=True
    )
    for sample in samples[:: 1 + len(samples) // MOST]:
        if sample.forward_input is None:
            continue
        made, given = sample.constructor_input, sample.forward_input
        module = info.module_cls(*made.args, **made.kwargs).to(torch.float32).train()
        outputs = [o for o in tree_leaves(module(*given.args, **given.kwargs)) if tracked(o)]
        yield outputs
        if not outputs:
            continue
        sum(output.abs().sum() for output in outputs).backward()
        inputs = [i for i in tree_leaves((given.args, given.kwargs)) if tracked(i) and i.is_leaf]
        yield [i.grad for i in inputs]
        params = list(module.parameters())
        yield [p.grad for p in params]
        if params:
            torch.optim.SGD(params, lr=0.1).step()
        yield [*params, *module.buffers()]


def tracked(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


class Net(torch.nn.Module):
    """A small net, with or without an embedding of sparse gradients."""

    def __init__(self, sparse: bool) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(7, 4, sparse=sparse)
        self.mix = torch.nn.Parameter(torch.randn(4, 4))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return (self.words(ids) @ self.mix.detach() if self.words.sparse else self.two(ids)).tanh()

    def two(self, ids: torch.Tensor) -> torch.Tensor:
        return self.words(ids) @ self.mix


def optimized(info: Any) -> Iterator[Any]:
    """Make some steps with each configuration of an optimizer class; yield the parameters."""
    for config in info.optim_inputs_func(device="cpu"):
        if config.kwargs.get("differentiable") or config.params is not None:
            continue
        sparse = info.only_supports_sparse_grads
        net = Net(sparse)
        params = [net.words.weight] if sparse else list(net.parameters())
        optimizer = info.optim_cls(params, **{"lr": 0.01, **config.kwargs})
        ids = torch.randint(0, 7, (5,))

        def closure(net: Net = net, optimizer: Any = optimizer, ids: Any = ids) -> torch.Tensor:
            optimizer.zero_grad()
            loss = (net(ids) - 1).square().mean()
            loss.backward()
            return loss

        for step in range(STEPS):
            if info.step_requires_closure or step == STEPS - 1:
                optimizer.step(closure)
            else:
                closure()
                optimizer.step()
        yield [*params, *(p.grad for p in params)]


def numbers(run: Callable[[Any], Iterator[Any]], info: Any) -> tuple[list[Any], str]:
    """Run from fixed seeds; return copies of all values, and the error that ended it."""
    random.seed(0)
    torch.manual_seed(0)
    found: list[Any] = []
    try:
        for values in run(info):
            found += [
                None if value is None else value.detach().to_dense().clone() for value in values
            ]
    except Exception as error:
        return found, f"{type(error).__name__}: {error}"
    return found, ""


def differs(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is not other
    alike = (one.shape, one.dtype) == (other.shape, other.dtype)
    return not alike or not torch.equal(one.nan_to_num(), other.nan_to_num())


def problems(run: Callable[[Any], Iterator[Any]], info: Any) -> tuple[list[str], bool]:
    """Run without and with a trace; tell what is not as it should be, and whether it ran."""
    expected, error = numbers(run, info)
    with leafmagic.trace(grads="off") as trace:
        got, traced_error = numbers(run, info)
    said = [f.explanation() for f in trace.findings if f.severity != "info"]
    said += trace.document()["status"]["notes"]
    if traced_error != error:
        said.append(f"raised {traced_error!r}, not {error!r}")
    if len(got) != len(expected):
        said.append(f"{len(got)} values, not {len(expected)}")
    pairs = zip(got, expected, strict=False)
    said += [f"value {i} differs" for i, pair in enumerate(pairs) if differs(*pair)]
    return said, not error and any(value is not None for value in expected)


@pytest.fixture(scope="module")
def databases() -> tuple[list[Any], list[Any]]:
    from torch.testing._internal.common_modules import module_db
    from torch.testing._internal.common_optimizers import optim_db

    return module_db, optim_db


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:enable_nested_tensor is True",
    "ignore:LSTM with projections",
    "ignore:reduction. 'mean' divides",
    "ignore:Lazy modules are a new feature",
    "ignore:linear_cross_entropy",
)
def test_every_module_of_torch_trains_quietly_and_the_same(databases: Any) -> None:
    module_db, _ = databases
    wrong, ran = {}, set()
    for info in module_db:
        said, fine = problems(trained, info)
        if said:
            wrong[info.name] = said[:3]
        if fine:
            ran.add(info.name)
    assert wrong == {}
    assert len(ran) >= 100, sorted({info.name for info in module_db} - ran)


@pytest.mark.slow
def test_every_optimizer_of_torch_steps_quietly_and_the_same(databases: Any) -> None:
    _, optim_db = databases
    wrong, ran = {}, set()
    for info in optim_db:
        said, fine = problems(optimized, info)
        if said:
            wrong[info.optim_cls.__name__] = said[:3]
        if fine:
            ran.add(info.optim_cls.__name__)
    assert wrong == {}
    assert len(ran) >= 14, ran


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_a_difference_would_be_noticed() -> None:
    class Moody:
        calls = 0

    def run(info: Any) -> Iterator[Any]:
        Moody.calls += 1
        yield [torch.ones(2, requires_grad=True) * Moody.calls, None]

    said, fine = problems(run, None)
    assert (said, fine) == (["value 0 differs"], True)

    def wrong(info: Any) -> Iterator[Any]:
        hidden = torch.ones(4, requires_grad=True).reshape(2, 2)
        hidden.sum().backward()
        yield [hidden.grad]

    said, _ = problems(wrong, None)
    assert len(said) == 1
    assert "LM102" in said[0]
