"""Optimizers: their steps and clears are events; between the hooks nothing is recorded."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

import leafmagic
from leafmagic.events import Cleared, OpCalled, Stepped
from leafmagic.recorder import Recorder


@pytest.fixture(scope="module", autouse=True)
def _torch_has_patched_itself() -> None:
    """Compile once: torch patches itself then, for good."""
    torch.manual_seed(0)
    net, opt = made(kind=torch.optim.Adam)
    net(torch.ones(1, 2)).sum().backward()
    torch.compile(opt.step, backend="eager")()


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collect the events of every trace."""
    from leafmagic.log import EventLog

    events: list[Any] = []
    for name in ("note", "emit"):
        take = getattr(EventLog, name)

        def hear(self: EventLog, event: Any, take: Any = take) -> None:
            events.append(event)
            take(self, event)

        monkeypatch.setattr(EventLog, name, hear)
    return events


def made(rate: float = 0.1, kind: Any = torch.optim.SGD) -> tuple[torch.nn.Linear, Any]:
    torch.manual_seed(0)
    net = torch.nn.Linear(2, 2)
    return net, kind(net.parameters(), lr=rate)


def modes() -> list[type]:
    return [type(mode) for mode in _get_current_function_mode_stack()]


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW])
def test_a_fused_step_moves_what_its_kernel_does_not_count(kind: Any, heard: list[Any]) -> None:
    net = torch.nn.Linear(2, 2)
    other = torch.nn.Linear(2, 2)
    groups = [{"params": [*net.parameters()], "fused": True}, {"params": [*other.parameters()]}]
    opt = kind(groups, lr=0.1)
    with leafmagic.trace() as trace:
        for _ in range(4):
            before = net.weight._version
            (net(torch.ones(1, 2)).sum() + other.weight.sum()).backward()
            opt.step()
            assert net.weight._version == before  # or there is nothing to see here
            opt.zero_grad()
    steps = [event for event in heard if type(event) is Stepped]
    assert [(len(event.tids), len(event.idle)) for event in steps] == [(3, 1)] * 4
    assert trace.findings == ()


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_a_step_is_one_event_with_what_moved_and_what_did_not(kind: Any, heard: list[Any]) -> None:
    net, opt = made(kind=kind)
    net.bias.requires_grad_(False)
    with leafmagic.trace() as trace:
        net(torch.ones(1, 2)).sum().backward()
        opt.step()
        opt.zero_grad()
    (stepped,) = [e for e in heard if isinstance(e, Stepped)]
    (cleared,) = [e for e in heard if isinstance(e, Cleared)]
    assert (len(stepped.tids), len(stepped.idle), stepped.name) == (1, 1, kind.__name__)
    assert stepped.versions == (net.weight._version,)
    assert len(cleared.tids) == 2
    assert trace.document()["status"]["notes"] == []
    weight = next(n for n in trace.graph.nodes if n.name == "net.weight")
    assert weight.version == net.weight._version


@pytest.mark.parametrize("to_none", [True, False])
@pytest.mark.parametrize("by_module", [True, False])
def test_each_call_of_zero_grad_is_one_event(
    to_none: bool, by_module: bool, heard: list[Any]
) -> None:
    net, opt = made()
    with leafmagic.trace():
        for _ in range(3):
            net(torch.ones(1, 2)).sum().backward()
            (net if by_module else opt).zero_grad(set_to_none=to_none)
    assert [len(e.tids) for e in heard if isinstance(e, Cleared)] == [2, 2, 2]


def test_torchs_own_step_runs_without_the_recorder_and_it_comes_back() -> None:
    seen: list[list[type]] = []

    class Spy(torch.optim.SGD):
        """Its step is torch's; the class only says so."""

    Spy.__module__ = "torch.optim.spy"
    real = torch.optim.SGD.step

    def step(self: Any, closure: Any = None) -> Any:
        seen.append(modes())
        return real(self, closure)

    Spy.step = step  # type: ignore[method-assign]
    net, opt = made(kind=Spy)
    with leafmagic.trace():
        for _ in range(3):
            net(torch.ones(1, 2)).sum().backward()
            opt.step()
            seen.append(modes())
    # The first step of an optimizer may raise, and is not trusted.
    assert seen == [[Recorder], [Recorder], [], [Recorder], [], [Recorder]]


class Other(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def test_another_mode_on_top_stays_where_it_is() -> None:
    net, opt = made()
    with leafmagic.trace(), Other():
        net(torch.ones(1, 2)).sum().backward()
        opt.step()
        assert modes() == [Recorder, Other]
    assert modes() == []


def test_two_traces_at_once_both_hear_of_the_step(heard: list[Any]) -> None:
    net, opt = made()
    with leafmagic.trace(), leafmagic.trace():
        net(torch.ones(1, 2)).sum().backward()
        opt.step()
        assert modes() == [Recorder, Recorder]
    assert sum(isinstance(e, Stepped) for e in heard) == 2


def test_after_a_step_that_raised_the_next_one_is_heard(heard: list[Any]) -> None:
    emb = torch.nn.Embedding(3, 2, sparse=True)
    opt = torch.optim.Adam(emb.parameters())
    net, good = made()
    with leafmagic.trace() as trace:
        emb(torch.tensor([1])).sum().backward()
        with pytest.raises(RuntimeError, match="sparse"):
            opt.step()
        after = net.weight * 2
        net(torch.ones(1, 2)).sum().backward()
        good.step()
        assert modes() == [Recorder]
        late = net.weight * 3
    assert sum(isinstance(e, Stepped) for e in heard) == 1
    assert {"after", "late"} <= {node.name for node in trace.graph.nodes}
    assert trace.document()["status"]["notes"] == []
    del after, late


def test_after_a_later_step_that_raised_recording_goes_on(heard: list[Any]) -> None:
    net, opt = made()
    with leafmagic.trace() as trace:
        for turn in range(4):
            net(torch.ones(1, 2)).sum().backward()
            if turn == 2:
                opt.param_groups[0]["lr"] = "fast"
                with contextlib.suppress(TypeError):
                    opt.step()
                opt.param_groups[0]["lr"] = 0.1
                assert modes() == [Recorder]
                late = net.weight * 2
            else:
                opt.step()
        assert modes() == [Recorder]
    assert sum(isinstance(e, Stepped) for e in heard) == 3
    assert "late" in {node.name for node in trace.graph.nodes}
    assert trace.document()["status"]["notes"] == []
    del late


def test_a_mode_entered_while_the_error_lives_keeps_its_place() -> None:
    net, opt = made()
    with leafmagic.trace():
        for _ in range(2):
            net(torch.ones(1, 2)).sum().backward()
            opt.step()
        opt.param_groups[0]["lr"] = "fast"
        try:
            opt.step()
        except TypeError:
            other = Other()
            other.__enter__()
        assert modes() == [Recorder, Other]
        with torch.device("meta"):
            pass
        other.__exit__(None, None, None)
        assert modes() == [Recorder]
    assert modes() == []
    assert torch.ones(1).device.type == "cpu"


def test_a_closure_is_the_users_code_and_is_recorded(heard: list[Any]) -> None:
    net, _ = made()
    opt = torch.optim.LBFGS(net.parameters(), max_iter=3)

    def closure() -> torch.Tensor:
        opt.zero_grad()
        inner = net(torch.ones(1, 2)).square().sum()
        inner.backward()
        return inner

    with leafmagic.trace() as trace:
        opt.step(closure)
    assert "pow" in {n.op for n in trace.graph.nodes} or any(
        n.name == "inner" for n in trace.graph.nodes
    )
    assert sum(isinstance(e, Stepped) for e in heard) == 1


def test_hooks_of_the_users_are_recorded(heard: list[Any]) -> None:
    net, opt = made()
    opt.register_step_post_hook(lambda *_: net.weight.detach() * 2)
    with leafmagic.trace():
        for _ in range(3):
            net(torch.ones(1, 2)).sum().backward()
            opt.step()
    assert any(isinstance(e, OpCalled) and e.op == "mul" for e in heard)


def test_a_step_in_another_thread_changes_nothing_here(heard: list[Any]) -> None:
    net, opt = made()
    net(torch.ones(1, 2)).sum().backward()
    with leafmagic.trace() as trace:
        thread = threading.Thread(target=opt.step)
        thread.start()
        thread.join()
        assert modes() == [Recorder]
    assert not [e for e in heard if isinstance(e, Stepped)]
    assert trace.document()["status"]["notes"] == []


def test_a_compiled_step_compiles_as_without_us() -> None:
    def run(traced: bool) -> torch.Tensor:
        torch._dynamo.reset()
        net, opt = made()
        step = torch.compile(opt.step, backend="eager", fullgraph=False)
        net(torch.ones(1, 2)).sum().backward()
        if traced:
            with leafmagic.trace():
                step()
        else:
            step()
        return net.weight.detach()

    assert torch.equal(run(False), run(True))
    assert modes() == []


def test_no_hook_stays() -> None:
    from torch.optim import optimizer

    with leafmagic.trace():
        assert optimizer._global_optimizer_post_hooks
        assert optimizer._global_optimizer_pre_hooks
    assert not optimizer._global_optimizer_post_hooks
    assert not optimizer._global_optimizer_pre_hooks
