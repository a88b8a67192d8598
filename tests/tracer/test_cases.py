"""Every case under tests/cases: what is a mistake is found, what is right stays quiet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from casefiles import (
    HAZARD,
    BadCaseError,
    Case,
    Spot,
    cells_of,
    load,
    mentions,
    parse,
    pending,
)
from casejudge import Verdict, names, of_leafmagic, of_torch, right, torch_alarms, usable
from caserun import CaseShell, Found, Ran

from leafmagic.findings import Finding

CASES = load()
PENDING = pending()
MISTAKES = [case for case in CASES if not case.quiet]
QUIET = [case for case in CASES if case.quiet]
FIXED = [case for case in CASES if case.fixed]


def params(cases: list[Case], suffix: str = "") -> list[Any]:
    """Make parameters of cases; what is pending is expected to fail, and must."""
    made = []
    for case in cases:
        reason = PENDING.get(case.id + suffix)
        marks = [pytest.mark.xfail(reason=reason, strict=True, raises=AssertionError)]
        made.append(pytest.param(case, id=case.id, marks=marks if reason else []))
    return made


def told(found: list[Found]) -> str:
    """Return what was found, for the message of an assertion."""
    return "\n".join(f"{f.spot}: {f.finding.explanation()}" for f in found) or "nothing"


def behaves(ran: Ran, raises: str | None) -> None:
    """Assert that leafmagic did not stop, and that the errors are the code's own."""
    assert ran.notes == []
    if raises is not None:
        assert ran.raised == [raises] * bool(raises), ran.said


@pytest.mark.parametrize("case", params(MISTAKES))
def test_it_is_found(case: Case, case_shell: CaseShell) -> None:
    ran = case_shell.run(case.cells)
    if ran.notes or (case.raises is not None and ran.raised != [case.raises] * bool(case.raises)):
        # Not an assertion: to be pending excuses finding nothing, and nothing else.
        raise RuntimeError(f"{ran.notes} {ran.raised} {ran.said}")
    there = right(case, ran)
    assert there, f"there should be {case.kind} at {case.cause}; found:\n{told(ran.found)}"
    named = [f for f in there if names(case, f)]
    assert named, f"{case.variable} is not named:\n{told(there)}"
    assert any(usable(f) for f in named), f"there is no fix:\n{told(named)}"


@pytest.mark.parametrize("case", params(QUIET))
def test_it_stays_quiet(case: Case, case_shell: CaseShell) -> None:
    ran = case_shell.run(case.cells)
    behaves(ran, case.raises)
    assert ran.alarms == [], told(ran.found)


@pytest.mark.parametrize("case", params(FIXED, "=fixed"))
def test_the_fixed_code_is_right_and_quiet(case: Case, case_shell: CaseShell) -> None:
    ran = case_shell.run(case.fixed, case.check)
    behaves(ran, "")
    assert ran.alarms == [], told(ran.found)


def test_pending_names_cases_that_are_there() -> None:
    there = {case.id for case in CASES} | {f"{case.id}=fixed" for case in FIXED}
    assert set(PENDING) - there == set()


def test_ids_are_unique_and_variations_have_their_case() -> None:
    ids = [case.id for case in CASES]
    assert len(ids) == len(set(ids))
    by_id = {case.id: case for case in CASES}
    for case in CASES:
        assert case.base in by_id, case.id
        assert case.kind == by_id[case.base].kind, case.id
        if "~" in case.id:
            assert case.quiet == ("~quiet-" in case.id), case.id


def test_the_reported_mistakes_are_all_there() -> None:
    """111 to be found; of the other ten, seven are about how a tool behaves."""
    reported = [case for case in CASES if case.id == case.base]
    assert len(reported) >= 121
    assert sum(not case.quiet for case in reported) >= 111
    assert all(case.quiet for case in reported if case.kind == HAZARD)


# The form of the files.

WRITTEN = """# title: two
#     lines
# kind: leaf_inplace
# variable: w
# torch: UserWarning (line 1): it; RuntimeError (line 2): that

import torch
# %%
w = 1  #! cause
# %%
w += 1  # a comment  #! symptom
# %% rerun 2

# === fixed
w = 2
# === check
assert w == 2
"""


def test_a_file_is_read_as_it_is_written() -> None:
    case = parse(WRITTEN, Path("leaf_inplace/li-99~other.py"))
    assert (case.id, case.base, case.title) == ("li-99~other", "li-99", "two lines")
    assert [cell.number for cell in case.cells] == [1, 2, 3, 2]
    assert [cell.first_line for cell in case.cells] == [1, 3, 5, 3]
    assert (case.cause, case.symptom) == (Spot(2, 1), Spot(3, 1))
    assert (case.cause_line, case.symptom_line) == (3, 5)
    assert case.cells[2].source == "w += 1  # a comment"
    assert "#!" not in case.code
    assert case.raises == "RuntimeError"
    assert (case.fixed[0].source, case.check) == ("w = 2", "assert w == 2")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("#! cause", "#! reason"),
        ("#! symptom", "#! cause"),
        ("  #! cause", ""),
        ("# variable: w\n", ""),
        ("# title", "# tittle"),
        ("leaf_inplace", "leaf_in_place"),
        ("rerun 2", "rerun 7"),
        ("rerun 2\n", "rerun 2\nw"),
        ("=== fixed", "=== repaired"),
    ],
)
def test_what_is_written_wrong_is_refused(old: str, new: str) -> None:
    with pytest.raises(BadCaseError):
        parse(WRITTEN.replace(old, new), Path("leaf_inplace/li-99.py"))


def test_names_are_words_or_quoted() -> None:
    assert mentions("`w` is a leaf", "w")
    assert mentions("lin.weight moved", "lin.weight")
    assert mentions("the 'a' is bad", "a")
    assert not mentions("a leaf Variable", "a")
    assert not mentions("can't do it", "t")
    assert not mentions("self.w moved", "w")


# The runner.

LITTER = """
import torch, sys, warnings, linecache
from IPython import get_ipython
kept = torch.ones(3, requires_grad=True)
warnings.simplefilter("ignore")
get_ipython().events.register("post_run_cell", lambda r: None)
get_ipython().register_magic_function(lambda line: None, "line", "litter")
torch.nn.modules.module.register_module_forward_hook(lambda *a: None)
torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__()
torch.set_default_dtype(torch.float64)
torch.rand(3)
torch.no_grad().__enter__()
kept * 2
# %%
1 / 0
"""
PROBE = """
import gc, sys, torch, warnings
from torch.nn.modules import module
from IPython import get_ipython
import leafmagic
seen = {
    "names": "kept" in globals(),
    "prompt": get_ipython().execution_count,
    "out": dict(Out), "in": len(In), "_": globals().get("_"),
    "error": hasattr(sys, "last_value") and sys.last_value is not None,
    "filters": [f for f in warnings.filters if f[0] == "ignore" and f[2] is Warning and not f[1]],
    "magic": "litter" in get_ipython().magics_manager.magics["line"],
    "events": len(get_ipython().events.callbacks["post_run_cell"]),
    "hooks": len(module._global_forward_hooks),
    "saved": torch._C._autograd._top_saved_tensors_default_hooks(True),
    "dtype": torch.get_default_dtype(),
    "grad": torch.is_grad_enabled(),
    "random": torch.rand(2).tolist(),
    "tensors": sum(type(o) is torch.Tensor and o.shape == (3,) for o in gc.get_objects()),
}
"""


def probe(case_shell: CaseShell) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    ran = case_shell.run(cells_of(PROBE), then=lambda ns: seen.update(ns.get("seen", {})))
    assert ran.raised == [], ran.said
    return seen


def test_a_case_sees_nothing_of_the_last(case_shell: CaseShell) -> None:
    before = probe(case_shell)
    ran = case_shell.run(cells_of(LITTER))
    assert ran.raised == ["ZeroDivisionError"]
    assert probe(case_shell) == before
    assert not before["names"]
    assert before["out"] == {}
    assert before["grad"]


def test_a_cause_in_an_earlier_cell_is_put_there(case_shell: CaseShell) -> None:
    code = (
        "import torch\n# %%\ndef bad(w):\n    w += 1\n# %%\nbad(torch.ones(2, requires_grad=True))"
    )
    ran = case_shell.run(cells_of(code))
    assert [f.spot for f in ran.found] == [Spot(2, 2)], told(ran.found)


def test_a_cell_that_is_not_traced_is_no_quiet_one(
    case_shell: CaseShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    from leafmagic.tracing import Tracer

    def broken(tracer: Tracer) -> None:
        raise ZeroDivisionError

    assert case_shell.run(cells_of("w = 1")).notes == []
    monkeypatch.setattr(Tracer, "start", broken)
    assert any("beginning the trace failed" in note for note in case_shell.run(cells_of("1")).notes)


def test_a_failing_check_fails(case_shell: CaseShell) -> None:
    with pytest.raises(AssertionError):
        case_shell.run(cells_of("w = 1"), "assert w == 2")


# The judge.

JUDGED = """# title: a read of a computed tensor, and a write
# kind: nonleaf_grad_read
# variable: h

import torch
w = torch.ones(2, requires_grad=True)
# %%
h = w * 2  #! cause
h.sum().backward()
h.grad  #! symptom
# %%
w += 1
"""


def test_torch_alone_is_judged_by_what_it_says_and_where() -> None:
    case = parse(JUDGED, Path("nonleaf_grad_read/nlg-99.py"))
    with CaseShell(traced=False) as plain:
        ran = plain.run(case.cells)
    assert ran.found == []
    assert ran.raised == ["RuntimeError"]
    assert ran.points == {Spot(2, 3), Spot(3, 1)}
    assert torch_alarms(ran) == 1
    assert of_torch(case, ran) == Verdict(said=True, line=False, named=False)


def test_leafmagic_is_judged_by_the_finding_of_the_kind(case_shell: CaseShell) -> None:
    case = parse(JUDGED, Path("nonleaf_grad_read/nlg-99.py"))
    ran = case_shell.run(case.cells)
    assert {f.finding.kind for f in ran.found} == {case.kind, "leaf_inplace"}
    assert of_leafmagic(case, ran) == Verdict(True, True, True, True, True)
    ran.found = [f for f in ran.found if f.finding.kind != case.kind]
    assert of_leafmagic(case, ran) == Verdict(said=True, line=False, named=False)


@pytest.mark.parametrize(("fix", "good"), [("w.detach()", True), ("with x: ", False), ("", False)])
def test_a_fix_that_breaks_off_is_none(fix: str, good: bool) -> None:
    assert usable(Found(Finding("", "", "info", "", fix), None)) == good
