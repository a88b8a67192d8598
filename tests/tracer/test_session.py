"""What one trace leaves for the next: where tensors were made, which pass ran over what."""

from __future__ import annotations

import gc
import weakref

import torch
from tracing_kit import run_traced

from leafmagic import bygone, session
from leafmagic.session import SESSION, MadeAt, PassOver, Session

FORWARD = "w = torch.ones(3, requires_grad=True)\ncost = (w.exp() ** 2).sum()"


def number(tensor: torch.Tensor) -> int:
    from leafmagic.ledger import tid_of

    return tid_of(tensor)


def test_a_live_tensor_is_known_by_its_line_and_its_name() -> None:
    ns = run_traced(FORWARD).ns
    made = SESSION.made[number(ns["cost"])]
    assert (made.name, made.line, made.source) == ("cost", 2, "cost = (w.exp() ** 2).sum()")
    assert made.label == SESSION.label(made.run)
    assert SESSION.made[number(ns["w"])].line == 1


def test_a_later_trace_does_not_change_where_it_was_made() -> None:
    ns = run_traced(FORWARD).ns
    before = SESSION.made[number(ns["cost"])]
    run_traced("again = cost * 1", ns)
    assert SESSION.made[number(ns["cost"])] == before


def test_the_newest_pass_over_a_node_is_known() -> None:
    ns = run_traced(FORWARD).ns
    assert SESSION.passed == {}
    run_traced("cost.backward(retain_graph=True)", ns)
    assert {over.retained for over in SESSION.passed.values()} == {True}
    run_traced("w.grad = None\ncost.backward()", ns)
    (over,) = set(SESSION.passed.values())
    assert over._replace(ordinal=0) == PassOver(
        3, "backward", SESSION.label(3), 2, "cost.backward()", False
    )
    assert len(SESSION.passed) == 3


def test_only_what_was_made_before_the_pass_counts() -> None:
    ns = run_traced(f"{FORWARD}\ncost.backward()\nmore = w.cos().sum()").ns
    behind = {nid for nid, over in SESSION.passed.items() if over.line == 3}
    assert len(behind) == 3
    run_traced("del cost", ns)
    assert SESSION.passed == {}


def test_what_is_gone_is_forgotten() -> None:
    ns = run_traced(f"{FORWARD}\ncost.backward()").ns
    tid = number(ns["cost"])
    run_traced("del cost, w", ns)
    assert tid not in SESSION.made
    assert SESSION.passed == {}
    assert SESSION.made == {}


def test_nothing_grows_with_the_cells() -> None:
    ns = run_traced(FORWARD).ns
    sizes = []
    for _ in range(4):
        run_traced("loss = (w * 2).exp().sum()\nloss.backward()\ndel loss", ns)
        gc.collect()
        bygone = SESSION.bygone
        known = (SESSION.made, SESSION.passed, SESSION._behind, bygone.nodes, bygone.writes)
        sizes.append([len(table) for table in known])
    assert sizes == sizes[:1] * 4


def test_a_node_that_lives_on_is_known_with_what_its_op_was_called_with() -> None:
    ns = run_traced(FORWARD).ns
    made = {at.place.source: at for at in SESSION.bygone.nodes.values()}
    assert set(made) == {"w.exp()", "w.exp() ** 2", "(w.exp() ** 2).sum()"}
    (weight,) = (one for one in made["w.exp()"].operands if not one.made)
    assert (weight.name, weight.shape, weight.leaf) == ("w", (3,), True)
    run_traced("del cost", ns)
    assert SESSION.bygone.nodes == {}


def test_writes_to_what_lives_on_are_known_and_bounded() -> None:
    ns = run_traced("a = torch.ones(3)").ns
    for _ in range(20):
        run_traced("a[:2] += 1", ns)
    (writes,) = SESSION.bygone.writes.values()
    assert len(writes) == bygone.MOST_WRITES
    assert {one.place.line for one in writes} == {1}
    assert [one.run for one in writes] == sorted(one.run for one in writes)
    run_traced("del a", ns)
    assert SESSION.bygone.writes == {}


def test_nodes_that_a_loop_made_are_known_in_the_next_trace() -> None:
    loop = (
        "for _ in range(6):\n    kept = (w * 2).exp().sum()\n    kept.backward()\n    w.grad = None"
    )
    ns = run_traced(f"w = torch.ones(3, requires_grad=True)\n{loop}").ns
    known = set(SESSION.bygone.nodes)
    run_traced("kept + 1", ns)
    assert len(known) == 3
    assert known == set(SESSION.bygone.nodes)


def test_a_write_that_was_not_traced_is_told_as_one() -> None:
    ns = run_traced("x = torch.ones(3, requires_grad=True)\na = x.exp()\nloss = a.sum()").ns
    ns["a"].mul_(2)
    ran = run_traced("loss.backward()", ns)
    (found,) = ran.trace.findings
    assert (found.code, found.variable, found.line) == ("LM202", "a", 2)
    assert "code that was not traced changed it" in found.message
    assert any("LM202" in note for note in ran.error.__notes__)


def test_a_write_that_torch_did_not_count_is_known_while_a_graph_may_have_saved_it() -> None:
    ns = run_traced("w = torch.ones(3, requires_grad=True)\nx = torch.ones(3)\ny = w * x").ns
    storage = weakref.ref(ns["x"].untyped_storage())
    for _ in range(3):
        run_traced("x.data.mul_(2)", ns)
    places = {(one.run, one.place.line) for one in SESSION.bygone.unseen.values()}
    assert places == {(4, 1)}
    run_traced("del y, x", ns)
    gc.collect()
    assert SESSION.bygone.unseen == {}
    assert storage() is None


def test_where_nothing_can_have_saved_it_such_a_write_is_forgotten() -> None:
    run_traced("x = torch.ones(3)\nx.data.mul_(2)")
    assert SESSION.bygone.unseen == {}


def test_a_fix_calls_no_method_that_does_not_exist() -> None:
    ns = run_traced(
        "u = torch.ones(3, requires_grad=True)\nh = torch.ones(3)\nl = (u * h).sum()"
    ).ns
    run_traced("h.normal_()", ns)
    (found,) = run_traced("l.backward()", ns).trace.findings
    assert (found.code, found.variable) == ("LM202", "h")
    assert found.fix.startswith("use h.clone() in line 3 of ")


def test_runs_of_the_same_cell_are_counted() -> None:
    ns = run_traced(FORWARD).ns
    for _ in range(3):
        run_traced("w.sum()", ns)
    runs = SESSION.cells["w.sum()"]
    assert runs.count == 3
    assert [run for run, _ in runs.runs] == [2, 3, 4]
    assert SESSION.is_rerun(4, 2)
    assert not SESSION.is_rerun(4, 1)
    assert not SESSION.is_rerun(4, 4)


def test_tables_are_bounded() -> None:
    known = Session()
    for index in range(session.MOST_CELLS + 10):
        known.begin(f"Cell In[{index}]", f"x = {index}")
    assert len(known.cells) == session.MOST_CELLS
    for tid in range(session.MOST_TENSORS + 10):
        known.learn(tid, MadeAt(1, "x", "", "", 1, ""), (tid,))
    known.keep_only(range(session.MOST_TENSORS + 10))
    assert len(known.made) == session.MOST_TENSORS


def test_no_tensor_is_kept() -> None:
    ns = run_traced(FORWARD).ns
    gone = weakref.ref(ns["cost"])
    del ns["cost"]
    assert gone() is None


def test_a_session_is_fresh_after_a_reset() -> None:
    run_traced(FORWARD)
    SESSION.reset()
    assert vars(SESSION) == vars(Session())
