"""The model, the graph and the rules, from events written by hand: no torch, no code that runs."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from leafmagic.build import build_graph
from leafmagic.cell import Place
from leafmagic.events import (
    Accessed,
    BackwardCalled,
    BackwardReturned,
    NodeSeen,
    OpCalled,
    OpRepeated,
    PassRepeated,
    TensorSeen,
    WriteAttempted,
)
from leafmagic.findings import Findings
from leafmagic.looks import Bound, Owned, Raised, StateRead
from leafmagic.model import Model


class Story:
    """Writes events in order, and feeds them to a model and its rules."""

    def __init__(self, **places: Place) -> None:
        self._sites = {name: i + 1 for i, name in enumerate(places)}
        by_site = {self._sites[name]: place for name, place in places.items()}
        self.model = Model(by_site.get)
        self.rules = Findings(self.model)
        self._ordinals = itertools.count(1)

    def tell(self, event: Any) -> list[Any]:
        self.model.feed(event)
        return self.rules.feed(event)

    def op(
        self,
        site: str,
        op: str,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        tensors: tuple[TensorSeen, ...] = (),
        nodes: tuple[NodeSeen, ...] = (),
        *,
        direct: bool = True,
        turn: int = 0,
        wrote: tuple[int, ...] = (),
        grad_enabled: bool = True,
    ) -> int:
        ordinal = next(self._ordinals)
        self.tell(
            OpCalled(
                ordinal, self._sites[site], op, direct, inputs, outputs, tensors, nodes,
                grad_enabled, wrote, turn,
            )
        )  # fmt: skip
        return ordinal

    def bound(self, name: str, tid: int, line: int) -> list[Any]:
        return self.tell(Bound(next(self._ordinals), "", name, tid, line, "Cell In[1]", "", (), ()))

    def read(self, site: str, tid: int, *, leaf: bool = False, value: int = -1) -> list[Any]:
        return self.tell(
            Accessed(
                next(self._ordinals), self._sites[site], "grad", tid, True, value,
                leaf, True, False, True, (), (),
            )
        )  # fmt: skip

    def backward(self, site: str, root: int) -> None:
        began, number = next(self._ordinals), self._sites[site]
        self.tell(BackwardCalled(began, number, "backward", (root,), (), False, False, (), ()))
        self.tell(BackwardReturned(next(self._ordinals), number, began, False))


def place(line: int, source: str, **more: Any) -> Place:
    name = source.partition(" = ")[0]
    value = source.partition(" = ")[2] or source
    more.setdefault("targets", (name,) if " = " in source else ())
    return Place(
        "c", "Cell In[1]", "<module>", line, line, 0, len(value), value, source, source, **more
    )


def leaf(tid: int, **more: Any) -> TensorSeen:
    return tensor(tid, -1, requires_grad=True, is_leaf=True, **more)


def tensor(tid: int, nid: int, **more: Any) -> TensorSeen:
    values = {
        "shape": (3,), "dtype": "torch.float32", "device": "cpu", "requires_grad": nid >= 0,
        "is_leaf": nid < 0, "version": 0, "output_nr": 0, "base": -1, "parameter": False,
        "hooks": 0, "retains_grad": False,
    } | more  # fmt: skip
    return TensorSeen(tid=tid, nid=nid, **values)


def two_step_story() -> Story:
    story = Story(
        w=place(2, "w = torch.ones(3, requires_grad=True)"),
        h=place(4, "h = w * 2", kind="BinOp", operands=("w", "2")),
        loss=place(5, "loss = h.sum()", kind="Call", operands=("h",), owner="h", attribute="sum"),
        back=place(6, "loss.backward()"),
        read=place(7, "h.grad", kind="Attribute", owner="h", attribute="grad"),
    )
    story.op("w", "ones", (), (1,), (leaf(1),))
    story.bound("w", 1, 2)
    story.op(
        "h", "mul", (1,), (2,), (tensor(2, 10),), (NodeSeen(10, "MulBackward0", (("t", 1, 0),)),)
    )
    story.bound("h", 2, 4)
    story.op(
        "loss",
        "sum",
        (2,),
        (3,),
        (tensor(3, 11),),
        (NodeSeen(11, "SumBackward0", (("n", 10, 0),)),),
    )
    story.backward("back", 3)
    return story


def test_nodes_edges_and_names() -> None:
    graph = build_graph(two_step_story().model)
    w, h = graph.named("w"), graph.named("h")
    assert (w.state, w.line, w.source) == ("leaf", 2, "torch.ones(3, requires_grad=True)")
    assert (h.state, h.op, h.line, h.shape) == ("non-leaf", "mul", 4, (3,))
    mul = next(n for n in graph.nodes if n.name == "MulBackward0")
    total = next(n for n in graph.nodes if n.name == "SumBackward0")
    links = {(e.source, e.target, e.kind) for e in graph.edges}
    assert (mul.id, w.id, "next") in links
    assert (total.id, mul.id, "next") in links
    assert (h.id, mul.id, "output") in links


def test_the_next_step_takes_the_slots_of_the_last() -> None:
    story = two_step_story()
    before = build_graph(story.model)
    for step in range(50):
        h, loss = 100 + 2 * step, 101 + 2 * step
        last_h, last_loss = (98 + 2 * step, 99 + 2 * step) if step else (2, 3)
        ordinal = 1000 * (step + 1)
        story.model.feed(OpRepeated(ordinal, 2, "mul", True, (1,), 0, h, h, -1, (3,), last_h, 1))
        story.model.feed(
            OpRepeated(ordinal + 1, 3, "sum", True, (h,), 0, loss, loss, -1, (), last_loss, 1)
        )
        story.model.feed(
            PassRepeated(ordinal + 2, 4, ordinal + 1, "backward", (loss,), False, False)
        )
    after = build_graph(story.model)
    assert [n.id for n in after.nodes] == [n.id for n in before.nodes]
    assert set(after.edges) == set(before.edges)
    assert after.named("h").count == 51
    assert story.model.steps == 51
    assert len(story.model.tensors) <= 6
    assert len(story.model.nodes) <= 6


def test_an_op_called_with_another_tensor_has_other_edges() -> None:
    story = two_step_story()
    story.op("w", "ones", (), (50,), (leaf(50),), turn=1)
    story.model.feed(OpRepeated(90, 2, "mul", True, (50,), 0, 60, 61, -1, (3,), 2, 1))
    graph = build_graph(story.model)
    mul = next(n for n in graph.nodes if n.name == "MulBackward0")
    (edge,) = [e for e in graph.edges if e.source == mul.id and e.kind == "next"]
    assert edge.target == story.model.tensors[50].id


def test_what_is_carried_from_the_step_before_says_so() -> None:
    story = Story(
        h=place(3, "h = h + w", kind="BinOp", operands=("h", "w")), back=place(4, "h.backward()")
    )
    story.op(
        "h",
        "add",
        (1,),
        (2,),
        (leaf(1), tensor(2, 10)),
        (NodeSeen(10, "AddBackward0", (("t", 1, 0),)),),
    )
    story.backward("back", 2)
    story.op(
        "h", "add", (2, 1), (3,), (tensor(3, 12),), (NodeSeen(12, "AddBackward0", (("n", 10, 0),)),)
    )
    (edge,) = [e for e in build_graph(story.model).edges if e.kind == "next" and e.carried]
    assert edge.source == edge.target


def test_rebinding_makes_a_dead_name() -> None:
    story = two_step_story()
    story.bound("w", 2, 8)
    graph = build_graph(story.model)
    dead = next(n for n in graph.nodes if n.op == "ones")
    assert dead.state == "dead name"
    assert [(b.name, b.line, b.current) for b in dead.names] == [("w", 2, False)]


def test_states_that_are_read_from_tensors() -> None:
    story = two_step_story()
    story.tell(StateRead(500, 2, True, False, True, 1, 2, True, 0.5, "[1]", "[2]"))
    story.tell(Owned(501, "net.weight", 1, True))
    graph = build_graph(story.model)
    h, w = graph.named("h"), graph.named("net.weight")
    assert (h.state, h.version, h.hooks, h.grad_norm, h.grad_preview) == (
        "retained",
        1,
        2,
        0.5,
        "[2]",
    )
    assert w.module == "net.weight"


def test_a_cut_is_an_edge_and_a_constant() -> None:
    story = two_step_story()
    story.op("read", "detach", (2,), (7,), (tensor(7, -1),))
    story.bound("d", 7, 9)
    graph = build_graph(story.model)
    assert graph.named("d").state == "constant"
    assert ("cut", graph.named("h").id) in {
        (e.kind, e.target) for e in graph.edges if e.source == graph.named("d").id
    }


def test_a_view_under_no_grad_is_a_phantom_leaf() -> None:
    story = two_step_story()
    story.op(
        "read", "view", (1,), (8,), (tensor(8, -1, requires_grad=True, base=1),), grad_enabled=False
    )
    story.bound("flat", 8, 9)
    assert build_graph(story.model).named("flat").state == "phantom leaf"


def test_reading_a_non_leaf_is_found_once_and_counted() -> None:
    story = two_step_story()
    for _ in range(3):
        story.read("read", 2)
    (finding,) = story.rules.ordered()
    assert (finding.kind, finding.code, finding.variable) == ("nonleaf_grad_read", "LM101", "h")
    assert (finding.line, finding.symptom_line, finding.count) == (4, 7, 3)
    assert "`w`" in finding.message
    assert finding.source == "h = w * 2"


@pytest.mark.parametrize("quiet", ["leaf", "filled"])
def test_reading_what_is_filled_is_no_mistake(quiet: str) -> None:
    story = two_step_story()
    story.read("read", 1 if quiet == "leaf" else 2, leaf=quiet == "leaf", value=77)
    assert story.rules.ordered() == ()


def test_writing_to_a_leaf_is_found_before_it_is_refused_and_counted_once() -> None:
    story = Story(add=place(3, "w += 1", kind="AugAssign", operands=("w", "1"), targets=("w",)))
    seen = (leaf(1),)
    (first,) = story.tell(WriteAttempted(1, 1, "add_", True, (1,), (1,), seen, ()))
    assert (first.kind, first.severity, first.variable, first.line) == (
        "leaf_inplace",
        "error",
        "w",
        3,
    )
    assert first.fix == "with torch.no_grad(): w += 1"
    text = "a leaf Variable that requires grad is being used in an in-place operation."
    story.tell(Raised(2, 1, "add_", "RuntimeError", text, (1,), (), True))
    (finding,) = story.rules.ordered()
    assert finding.count == 1


def test_ignored_kinds_and_codes_are_not_looked_for() -> None:
    model = two_step_story().model
    for ignored in ("leaf_inplace", "LM201"):
        rules = Findings(model, ignore=[ignored])
        assert rules.feed(WriteAttempted(9, 2, "add_", True, (1,), (1,), (), ())) == []


def test_what_an_error_came_from_is_kept_for_whoever_asks_later() -> None:
    story = Story(add=place(3, "w += 1", kind="AugAssign", operands=("w", "1"), targets=("w",)))
    story.tell(WriteAttempted(1, 1, "add_", True, (1,), (1,), (leaf(1),), ()))
    text = "a leaf Variable that requires grad is being used in an in-place operation."
    story.tell(Raised(2, 1, "add_", "RuntimeError", text, (1,), (), True))
    assert [f.kind for f in story.rules.raised] == ["leaf_inplace"]
    story.tell(Raised(3, 1, "", "ValueError", "another matter", (), (), True))
    assert story.rules.raised == []
