"""Options, words, completion and display, in a real shell."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from IPython.core.completer import provisionalcompleter

from leafmagic.findings.base import Finding
from leafmagic.magics import peel_options
from leafmagic.options import Options
from leafmagic.subcommands import tensors_of, unknown_kind


@pytest.fixture
def ip(loaded: Any) -> Any:
    return loaded


def _options(fake_trace: Any) -> Options:
    return fake_trace.made[-1].options


def _shown(capsys: Any) -> str:
    shown = capsys.readouterr()
    return shown.out + shown.err


# Options.


def test_options_reach_the_trace(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    kind = "nonleaf_grad_read"
    run_cell(
        f"%%autograd --into t --mode off --ignore {kind} --ignore LM101 "
        "--retain h --retain=g --grads norm\nx = 1"
    )
    assert _options(fake_trace) == Options(
        mode="off", ignore=(kind, "LM101"), retain=("h", "g"), grads="norm"
    )
    assert ip.user_ns["t"] is fake_trace.made[-1]


def test_the_bound_trace_can_be_used_in_the_cell_itself(
    ip: Any, run_cell: Any, fake_trace: Any
) -> None:
    run_cell("%%autograd --into t\nwas = t.running")
    assert ip.user_ns["was"] is True


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--mode loud", "invalid choice: 'loud'"),
        ("--grads maybe", "invalid choice: 'maybe'"),
        ("--into 2x", "'2x' is not a variable name"),
        ("--into class", "'class' is not a variable name"),
        ("--retain a.b", "'a.b' is not a variable name"),
        ("--ignore nonleaf_grad_reed", "did you mean nonleaf_grad_read"),
        ("--ignore lm101", "did you mean LM101"),
        ("--ignore zzzzzz", "unknown kind 'zzzzzz'"),
        ("--unknown", "--unknown"),
        ("words", "words"),
        ("--mode", "expected one argument"),
        ("--into 'x", "not a variable name"),
    ],
)
def test_a_bad_option_is_one_line_and_the_cell_does_not_run(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any, line: str, says: str
) -> None:
    run_cell(f"%%autograd {line}\nran = True", fails=True)
    shown = _shown(capsys)
    assert shown.startswith("UsageError: ")
    assert shown.count("\n") == 1
    assert says in shown
    assert "ran" not in ip.user_ns
    assert not fake_trace.made
    assert "showtraceback" not in vars(ip)


def test_config_gives_the_defaults(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    for line in (
        "grads = 'off'",
        "strict = True",
        "retain = ['h']",
        "ignore = ['LM101']",
        "into = 'every'",
    ):
        run_cell(f"%config LeafMagic.{line}")
    run_cell("%%autograd --retain g --no-strict\nx = 1")
    assert _options(fake_trace) == Options(
        mode="off", strict=False, grads="off", retain=("h", "g"), ignore=("LM101",)
    )
    assert ip.user_ns["every"] is fake_trace.made[-1]
    run_cell("%%autograd --grads auto\nx = 1")
    assert _options(fake_trace).grads == "auto"
    assert _options(fake_trace).strict


def test_every_option_has_a_default_in_config(ip: Any) -> None:
    traits = set(ip.magics_manager.registry["LeafMagic"].class_traits(config=True))
    assert traits == {f.name for f in dataclasses.fields(Options)} | {"into"}


@pytest.mark.parametrize("line", ["mode = 'loud'", "ignore = ['nope']", "into = '2x'"])
def test_config_refuses_what_the_option_refuses(
    ip: Any, run_cell: Any, caplog: Any, line: str
) -> None:
    name = line.partition(" ")[0]
    before = getattr(ip.magics_manager.registry["LeafMagic"], name)
    ip.run_cell(f"%config LeafMagic.{line}")  # IPython logs the error and goes on
    assert name in caplog.text
    assert getattr(ip.magics_manager.registry["LeafMagic"], name) == before


def test_config_file_gives_the_defaults(shell: Any, run_cell: Any, fake_trace: Any) -> None:
    shell.config.LeafMagic.mode = "off"
    shell.config.LeafMagic.grads = "norm"
    shell.extension_manager.load_extension("leafmagic")
    run_cell("%%autograd\nx = 1")
    assert _options(fake_trace) == Options(mode="off", grads="norm")


def test_help_shows_every_option(ip: Any, capsys: Any) -> None:
    for name in ("%%autograd", "%autograd"):
        info = ip.object_inspect(name)
        assert info["found"], name
    cell = ip.object_inspect("%%autograd")["docstring"]
    for option in ("--into", "--mode", "--strict", "--ignore", "--retain", "--grads"):
        assert option in cell
    assert "%autograd [--into" in cell
    line = ip.object_inspect("%autograd")["docstring"]
    for word in ("on", "off", "status", "report", "why EXPR", "save FILE", "explain", "(report)"):
        assert word in line


# Strict.


def _finding(severity: str = "warning", line: int | None = 2) -> Finding:
    return Finding("some_kind", "LM999", severity, "w never gets a gradient", line=line)  # type: ignore[arg-type]


def test_strict_fails_the_cell_after_it_ran(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any
) -> None:
    fake_trace.findings = (_finding(), _finding("error", None), _finding("info"))
    result = run_cell("%%autograd --strict\nx = 1\nx", fails=True)
    assert type(result.error_in_exec).__name__ == "StrictError"
    assert ip.user_ns["x"] == 1
    assert not ip.last_execution_succeeded
    shown = _shown(capsys)
    (line,) = [text for text in shown.splitlines() if "StrictError" in text]
    assert "1 error and 1 warning in Cell In[1]: line 2: w never gets a gradient" in line
    assert "Traceback" not in shown
    with pytest.raises(type(result.error_in_exec)):
        result.raise_error()


@pytest.mark.parametrize("findings", [(), (_finding("info"),)])
def test_strict_lets_a_clean_cell_pass(
    ip: Any, run_cell: Any, fake_trace: Any, findings: Any
) -> None:
    fake_trace.findings = findings
    run_cell("%%autograd --strict\nx = 1")


def test_strict_does_not_hide_the_error_of_the_cell(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any
) -> None:
    fake_trace.findings = (_finding(),)
    result = run_cell("%%autograd --strict\n1 / 0", fails=True)
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert "StrictError" not in _shown(capsys)


def test_not_strict_is_not_strict(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    fake_trace.findings = (_finding("error"),)
    run_cell("%%autograd\nx = 1")


def test_strict_inside_always_on_mode(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    fake_trace.findings = (_finding(),)
    run_cell("%autograd on --strict")
    run_cell("x = 1", fails=True)
    run_cell("%autograd off")
    run_cell("x = 1")


def test_every_cell_is_bound_to_the_name_of_always_on_mode(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any
) -> None:
    run_cell("%autograd on --into T")
    run_cell("%autograd status")
    assert "bound to T" in _shown(capsys)
    for cell in ("x = 1", "%%autograd --grads off\nx = 2"):
        run_cell(cell)
        assert ip.user_ns["T"] is fake_trace.made[-1]
    run_cell("%autograd off")
    traces = len(fake_trace.made)
    run_cell("x = 3")
    assert len(fake_trace.made) == traces


def test_the_name_of_always_on_mode_can_come_from_config(
    ip: Any, run_cell: Any, fake_trace: Any
) -> None:
    run_cell("%config LeafMagic.into = 'every'")
    run_cell("%autograd on")
    run_cell("x = 1")
    assert ip.user_ns["every"] is fake_trace.made[-1]


# The line magic.


@pytest.mark.parametrize(
    ("line", "words", "rest"),
    [
        ("", [], ""),
        ("loss", [], "loss"),
        ("--mode text loss + 1", ["--mode", "text"], "loss + 1"),
        ("--mode=text  loss", ["--mode=text"], "loss"),
        ("--strict on", ["--strict"], "on"),
        ("--mode", ["--mode"], ""),
        ("f('--mode text', \"a  b\")", [], "f('--mode text', \"a  b\")"),
    ],
)
def test_peel_options(line: str, words: list[str], rest: str) -> None:
    assert peel_options(line) == (words, rest)


def test_status_says_what_is_on(ip: Any, run_cell: Any, fake_trace: Any, capsys: Any) -> None:
    run_cell("%autograd")
    assert "not traced" in _shown(capsys)
    run_cell("%autograd on --grads off")
    run_cell("%autograd status")
    shown = _shown(capsys)
    assert "grads='off'" in shown
    assert "but those that measure, by %%timeit or %%prun" in shown
    run_cell("%autograd off")
    run_cell("%autograd status")
    assert "%%timeit" not in _shown(capsys)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("off now", "%autograd (off now)"),
        ("status.x", "name 'status' is not defined"),
        ("on sale", "%autograd (on sale)"),
        ("missing", "name 'missing' is not defined"),
        ("a b", "not an expression"),
        ("1 + 1", "neither a tensor nor a module"),
        ("why", "needs EXPR"),
        ("save", "needs FILE"),
        ("why 1 + 1", "not a tensor but int"),
        ("save a.txt", ".svg, .html, .json, .dot"),
        ("save noending", ".svg"),
        ("report", "there is no trace yet"),
        ("save a.svg", "there is no trace yet"),
        ("--mode loud report", "invalid choice"),
    ],
)
def test_usage_errors_of_the_line_magic(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any, line: str, says: str
) -> None:
    run_cell("%autograd off")
    _shown(capsys)
    run_cell(f"%autograd {line}", fails=True)
    shown = _shown(capsys)
    assert shown.startswith("UsageError: ")
    assert says in shown
    assert shown.count("\n") == 1


def test_an_error_inside_the_expression_is_the_users(ip: Any, run_cell: Any) -> None:
    result = run_cell("%autograd [][1]", fails=True)
    assert isinstance(result.error_in_exec, IndexError)


@pytest.mark.parametrize("line", ["[][1]", "why [][1]", "[].no"])
def test_such_an_error_is_shown_as_that_of_the_expression_alone(
    ip: Any, run_cell: Any, capsys: Any, line: str
) -> None:
    run_cell(line.removeprefix("why "), fails=True)
    alone = capsys.readouterr().out
    run_cell(f"%autograd {line}", fails=True)
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) == len(alone.splitlines())
    assert "File" not in shown


@pytest.mark.parametrize("wrong", ["nowhere", "compile('1 +', '', 'eval')"])
def test_an_error_in_a_function_of_the_users_shows_its_lines(
    ip: Any, run_cell: Any, capsys: Any, wrong: str
) -> None:
    run_cell(f"def f():\n    return {wrong}")
    run_cell("%autograd f()", fails=True)
    shown = capsys.readouterr().out
    assert "2 in f" in shown.replace(",", "")
    assert "leafmagic" not in shown


def test_the_word_wins_and_parentheses_force_the_expression(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any
) -> None:
    ip.user_ns["status"] = 5
    run_cell("%autograd status")
    assert "last trace" in _shown(capsys)
    run_cell("%autograd (status)", fails=True)
    assert "neither a tensor" in _shown(capsys)


def test_save_passes_the_path_on(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any, tmp_path: Path
) -> None:
    run_cell("%%autograd\nx = 1")
    path = tmp_path / "with space.svg"
    run_cell(f"%autograd save '{path}'")
    assert fake_trace.made[-1].calls[-1] == f"save {path}"


def test_tensors_of() -> None:
    net = torch.nn.Linear(2, 1)
    w = torch.zeros(1)
    assert tensors_of(w)[0] is w
    assert len(tensors_of(net)) == 2
    assert len(tensors_of({"a": w, "b": 1})) == 1
    assert len(tensors_of([w, (w,), w])) == 1
    assert len(tensors_of([w, (torch.zeros(1), {"a": [net]}), {torch.zeros(1)}])) == 5
    assert len(tensors_of({"a": w}.values())) == 1
    inside = [w]
    inside.append(inside)  # type: ignore[arg-type]
    assert len(tensors_of(inside)) == 1
    assert tensors_of("text") == []


# Pages.


def test_explain_prints_the_pages_of_a_kind(ip: Any, run_cell: Any, capsys: Any) -> None:
    run_cell("%autograd explain grad_mode")
    out = capsys.readouterr().out
    for code in ("LM701", "LM702", "LM703", "LM704"):
        assert f"{code}  grad_mode" in out
    assert "\nFailing cell::\n" in out
    run_cell("%autograd explain LM702")
    out = capsys.readouterr().out
    assert "LM702  grad_mode" in out
    assert "LM701" not in out


def test_explain_lists_the_kinds(ip: Any, run_cell: Any, capsys: Any) -> None:
    from leafmagic.findings import RULES

    run_cell("%autograd explain")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == sorted([r.code, r.kind] for r in RULES)
    assert all(len(line) < 120 for line in lines)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("grad_modes", "explain: unknown kind 'grad_modes'; did you mean grad_mode"),
        ("zzzzzzzz", "explain: unknown kind 'zzzzzzzz'"),
        ("LM101 LM102", "explain: unknown kind 'LM101 LM102'; did you mean LM1"),
    ],
)
def test_explain_of_an_unknown_kind_is_one_line(
    ip: Any, run_cell: Any, capsys: Any, word: str, said: str
) -> None:
    run_cell(f"%autograd explain {word}", fails=True)
    assert f"UsageError: {said}" in capsys.readouterr().err


# Completion.


def _complete(ip: Any, line: str) -> set[str]:
    """Complete the way a kernel does."""
    with provisionalcompleter():
        return {found.text for found in ip.Completer.completions(line, len(line))}


def test_completion_of_options(ip: Any) -> None:
    assert _complete(ip, "%%autograd --m") == {"--mode"}
    assert {"--into", "--mode", "--strict", "--no-strict"} <= _complete(ip, "%%autograd ")
    assert {"--mode"} <= _complete(ip, "%%autograd --strict --mo")
    assert _complete(ip, "%autograd on --gr") == {"--grads"}


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("%%autograd --mode ", {"auto", "widget", "html", "text", "off"}),
        ("%%autograd --mode te", {"text"}),
        ("%%autograd --mode=te", {"text"}),
        ("%autograd --grads n", {"norm"}),
        ("%autograd on --grads n", {"norm"}),
        ("%%autograd --ignore LM101", {"LM101"}),
        ("%autograd explain LM101", {"LM101"}),
        ("%autograd explain nonleaf_grad", {"nonleaf_grad_read"}),
    ],
)
def test_completion_of_values(ip: Any, line: str, values: set[str]) -> None:
    assert _complete(ip, line) == values


def test_completion_of_words_and_variables(ip: Any) -> None:
    ip.user_ns.update(status_quo=1, loss=2, _hidden=3)
    assert _complete(ip, "%autograd sta") == {"status", "status_quo"}
    assert "loss" in _complete(ip, "%autograd ")
    assert "_hidden" not in _complete(ip, "%autograd ")
    assert _complete(ip, "%%autograd --retain lo") == {"loss"}


def test_completion_of_an_attribute_is_left_to_python(ip: Any) -> None:
    ip.user_ns["value"] = 1 + 2j
    found = _complete(ip, "%autograd value.conj")
    assert any("conjugate" in match for match in found), found


# Where it is shown.


class _Kernel:
    """Stands in for ``shell.kernel``; only its presence is asked."""


def test_text_in_a_terminal_widget_in_a_kernel(ip: Any) -> None:
    from leafmagic.screen import resolve_mode

    assert [resolve_mode(m, ip)[0] for m in ("auto", "widget", "html", "text", "off")] == [
        "text",
        "text",
        "text",
        "text",
        "off",
    ]
    kernel = type("Shell", (), {"kernel": _Kernel()})()
    assert [resolve_mode(m, kernel)[0] for m in ("auto", "widget", "html", "text", "off")] == [
        "widget",
        "widget",
        "html",
        "text",
        "off",
    ]


def test_without_anywidget_a_picture_and_one_note(monkeypatch: Any) -> None:
    from leafmagic.screen import resolve_mode

    monkeypatch.setitem(sys.modules, "anywidget", None)
    kernel = type("Shell", (), {"kernel": _Kernel()})()
    mode, why = resolve_mode("auto", kernel)
    assert mode == "html"
    assert "static picture" in why
    assert resolve_mode("text", kernel) == ("text", "")


def test_unknown_kind_without_a_near_match_is_short() -> None:
    assert unknown_kind("zzzzzzzz") == "unknown kind 'zzzzzzzz'"
    assert unknown_kind("LM101") == ""
