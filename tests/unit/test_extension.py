"""Loading, unloading and the life of one traced cell, in a real shell."""

from __future__ import annotations

import linecache
import sys
import threading
from typing import Any

import pytest
from leftovers import changes, shell_state

from leafmagic.options import Options


@pytest.fixture
def ip(loaded: Any) -> Any:
    return loaded


def _last(fake_trace: Any) -> Any:
    return fake_trace.made[-1]


# Load and unload.


def test_load_and_unload_leave_the_shell_as_it_was(shell: Any, fake_trace: Any) -> None:
    before = shell_state(shell)
    shell.extension_manager.load_extension("leafmagic")
    assert changes(before, shell_state(shell)), "loading changed nothing: the test sees nothing"
    shell.extension_manager.unload_extension("leafmagic")
    assert not changes(before, shell_state(shell))
    assert set(shell_state(shell)["line magics"]) == set(before["line magics"])


def test_loading_twice_registers_once(shell: Any, fake_trace: Any) -> None:
    import leafmagic

    leafmagic.load_ipython_extension(shell)
    once = shell_state(shell)
    leafmagic.load_ipython_extension(shell)
    assert not changes(once, shell_state(shell))
    leafmagic.unload_ipython_extension(shell)
    leafmagic.unload_ipython_extension(shell)


@pytest.mark.parametrize("turns", [1, 3])
def test_reload_does_not_pile_up(ip: Any, run_cell: Any, fake_trace: Any, turns: int) -> None:
    counts = {name: len(found) for name, found in shell_state(ip)["events"].items()}
    for _ in range(turns):
        run_cell("%reload_ext leafmagic")
    assert {name: len(found) for name, found in shell_state(ip)["events"].items()} == counts
    run_cell("%%autograd --mode off\nx = 1")
    assert _last(fake_trace).calls == ["start", "stop"]


def test_a_refused_setting_does_not_stop_the_next_loading(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any
) -> None:
    run_cell("%config LeafMagic.mode = 'zz'")  # IPython logs the error and goes on
    run_cell("%config LeafMagic.grads = 'off'")
    count = len(ip.configurables)
    capsys.readouterr()
    run_cell("%reload_ext leafmagic")
    shown = capsys.readouterr()
    assert (
        shown.out + shown.err == "leafmagic: LeafMagic.mode = 'zz' is not allowed and is left out\n"
    )
    assert len(ip.configurables) == count
    assert "mode" not in ip.config.LeafMagic
    run_cell("%%autograd --mode off\nx = 1")
    assert _last(fake_trace).options.grads == "off"
    del ip.config["LeafMagic"]


@pytest.mark.parametrize("line", ["%unload_ext leafmagic", "%reload_ext leafmagic"])
def test_unloading_inside_a_traced_cell_ends_the_trace_there(
    ip: Any, run_cell: Any, fake_trace: Any, line: str
) -> None:
    run_cell(f"%%autograd\nx = 1\n{line}\ny = 2")
    assert ip.user_ns["y"] == 2
    assert _last(fake_trace).calls == ["start", "stop"]
    assert "showtraceback" not in vars(ip)


def test_unloading_while_every_cell_is_traced(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    run_cell("%autograd on --mode off")
    run_cell("%unload_ext leafmagic")
    made = len(fake_trace.made)
    run_cell("x = 1")
    assert len(fake_trace.made) == made
    assert _last(fake_trace).calls == ["start", "stop"]


def test_reloading_leaves_every_cell_traced(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    run_cell("%autograd on --mode off --grads off --into seen")
    run_cell("%reload_ext leafmagic")
    run_cell("x = 1")
    trace = _last(fake_trace)
    assert (trace.cell.text, trace.options.grads) == ("x = 1", "off")
    assert ip.user_ns["seen"] is trace
    run_cell("%autograd off\n%reload_ext leafmagic")
    made = len(fake_trace.made)
    run_cell("x = 2")
    assert len(fake_trace.made) == made


def test_loading_again_by_hand_does_not_switch_it_on(
    ip: Any, run_cell: Any, fake_trace: Any
) -> None:
    run_cell("%autograd on --mode off\n%reload_ext leafmagic\n%unload_ext leafmagic")
    run_cell("%load_ext leafmagic\n%unload_ext leafmagic\n%load_ext leafmagic")
    made = len(fake_trace.made)
    run_cell("x = 1")
    assert len(fake_trace.made) == made


def test_a_name_that_is_taken_stays_with_its_owner(
    shell: Any, run_cell: Any, fake_trace: Any, capsys: Any
) -> None:
    def autograd(line: str, cell: str | None = None) -> str:
        return "theirs"

    autograd.__module__ = "other_extension"
    shell.register_magic_function(autograd, "line_cell", "autograd")
    shell.extension_manager.load_extension("leafmagic")
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "other_extension" in said
    assert "%%leafmagic" in said
    assert run_cell("%%autograd\nx = 1").result == "theirs"
    assert not fake_trace.made
    run_cell("%%leafmagic --mode off\nx = 5")
    assert _last(fake_trace).calls == ["start", "stop"]
    assert shell.user_ns["x"] == 5
    shell.extension_manager.unload_extension("leafmagic")
    assert shell.find_line_magic("autograd") is autograd
    assert shell.find_line_magic("leafmagic") is None
    for kind in ("line", "cell"):
        del shell.magics_manager.magics[kind]["autograd"]


def test_a_later_extension_that_takes_the_name_keeps_it(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any
) -> None:
    def theirs(line: str, cell: str | None = None) -> str:
        return "theirs"

    ip.register_magic_function(theirs, "line_cell", "autograd")
    assert run_cell("%%autograd\nx = 1").result == "theirs"
    assert not fake_trace.made
    capsys.readouterr()
    run_cell("%unload_ext leafmagic")
    assert ip.find_line_magic("autograd") is theirs
    assert ip.find_cell_magic("autograd") is theirs
    assert "taken over" in capsys.readouterr().err
    for kind in ("line", "cell"):
        del ip.magics_manager.magics[kind]["autograd"]


def test_lazily_loaded_on_first_use(shell: Any, run_cell: Any, fake_trace: Any) -> None:
    shell.magics_manager.lazy_magics = {"autograd": "leafmagic"}
    run_cell("%%autograd --mode off\nx = 1\nx + 1")
    assert shell.user_ns["_"] == 2
    assert _last(fake_trace).calls == ["start", "stop"]
    result = run_cell("%%autograd --mode off\nx = 1\n1/0", fails=True)
    assert isinstance(result.error_in_exec, ZeroDivisionError)


def test_a_traceback_shows_the_line_that_was_written(ip: Any, run_cell: Any, capsys: Any) -> None:
    run_cell("%%autograd --mode off\n1 / 0", fails=True)
    shown = capsys.readouterr().out
    assert "1 get_ipython()" in shown
    assert "# %%autograd --mode off" in shown


# What the transformer leaves alone.


@pytest.mark.parametrize(
    "cell",
    [
        "%%autograd\n",
        "%%autograd --mode off\n\n   \n",
        "%%autograd?",
        "%%autograd?\nx = 1\n",
        "%%autograd2\nx = 1\n",
        "%%autograde --mode off\nx = 1\n",
        "x = '''\n%%autograd\n'''\n",
        "",
    ],
)
def test_left_alone(ip: Any, cell: str) -> None:
    transformer = ip.input_transformers_cleanup[-1]
    lines = cell.splitlines(keepends=True)
    assert transformer(list(lines)) == lines


def test_one_line_for_one_line(ip: Any) -> None:
    cell = "%%autograd --mode off --ignore 'x'\na = 1\n\n# words\nb = (\n  2)\n"
    cooked = ip.transform_cell(cell)
    assert cooked.splitlines()[1:] == cell.splitlines()[1:]
    assert cooked.splitlines()[0].startswith("get_ipython()")
    assert ip.transform_cell(cell) == cooked


def test_a_terminal_cell_ends_at_a_blank_line_as_for_any_cell_magic(ip: Any) -> None:
    assert ip.check_complete("%%autograd\nx = 1\n")[0] == "incomplete"
    assert ip.check_complete("%%autograd\nx = 1\n\n")[0] == "complete"
    assert ip.check_complete("x = 1")[0] == "complete"


def test_leading_blank_lines_and_prompts(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    run_cell("\n\n%%autograd\nx = 1\n")
    assert _last(fake_trace).cell.text == "%%autograd\nx = 1\n"
    run_cell("In [3]: %%autograd\n   ...: x = 2\n")
    assert ip.user_ns["x"] == 2
    assert _last(fake_trace).calls == ["start", "stop"]


def test_a_comment_above_is_refused_as_above_any_cell_magic(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any
) -> None:
    for magic in ("%%autograd", "%%time"):
        run_cell(f"# why\n{magic}\nx = 1\n", fails=True)
        assert f"`{magic}` not found" in "".join(capsys.readouterr())
    assert not fake_trace.made
    assert "x" not in ip.user_ns


def test_blank_lines_above_count_as_in_a_traceback(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any
) -> None:
    for above in ("", "\n\n", "  \n\n"):
        result = run_cell(f"{above}%%autograd --mode off\nx = 1\n1 / 0\n", fails=True)
        number = result.execution_count
        trace = _last(fake_trace)
        assert trace.cell.label == f"Cell In[{number}]"
        assert trace.cell.text.splitlines()[2] == "1 / 0"
        assert f"Cell In[{number}], line 3" in capsys.readouterr().out


def test_an_empty_cell_is_the_usual_usage_error(ip: Any, run_cell: Any, capsys: Any) -> None:
    run_cell("%%autograd\n", fails=True)
    shown = capsys.readouterr()
    assert "UsageError" in shown.err
    assert "Traceback" not in shown.out + shown.err


# The cell is an ordinary cell.


def test_value_history_and_namespace(ip: Any, run_cell: Any, fake_trace: Any, capsys: Any) -> None:
    names = set(ip.user_ns)
    result = run_cell("%%autograd\nx = 20\nx + 1")
    assert result.result == 21
    assert ip.user_ns["_"] == 21
    assert ip.user_ns["Out"][1] == 21
    assert capsys.readouterr().out == "Out[1]: 21\n"
    new = {n for n in set(ip.user_ns) - names if not n.startswith("_")}
    assert new == {"x"}
    run_cell("%who")
    assert capsys.readouterr().out.split() == ["x"]


@pytest.mark.parametrize("how", ["all", "last_expr_or_assign", "last_expr"])
def test_the_first_line_displays_nothing(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any, how: str
) -> None:
    ip.ast_node_interactivity = how
    run_cell("%%autograd\nx = 20\nNone")
    assert capsys.readouterr().out == ""
    run_cell("%%autograd\n# only words")
    assert capsys.readouterr().out == ""


def test_semicolon_silences(ip: Any, run_cell: Any, fake_trace: Any, capsys: Any) -> None:
    ip.history_manager.enabled = True
    run_cell("%%autograd\n41 + 1;")
    assert capsys.readouterr().out == ""


def test_the_input_history_keeps_what_was_typed(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    run_cell("%%autograd --mode off\nx = 1")
    assert ip.history_manager.input_hist_raw[-1] == "%%autograd --mode off\nx = 1"


def test_error_names_cell_and_line(ip: Any, run_cell: Any, fake_trace: Any, capsys: Any) -> None:
    result = run_cell("%%autograd\nx = 1\n\nx / 0  # here\n", fails=True)
    shown = capsys.readouterr().out
    assert shown.count("ZeroDivisionError: division by zero") == 1
    assert "Cell In[1], line 4" in shown
    assert "----> 4 x / 0  # here" in shown
    assert "leafmagic says why" in shown
    assert "cellrun" not in shown
    trace = _last(fake_trace)
    assert trace.calls == ["start", "stop"]
    assert trace.errors == [result.error_in_exec]
    assert trace.explained == [result.error_in_exec]


def test_without_leafmagic_the_note_is_absent(shell: Any, run_cell: Any, capsys: Any) -> None:
    run_cell("x = 1\n1 / 0", fails=True)
    assert "leafmagic" not in capsys.readouterr().out


def test_system_exit_ends_the_trace(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    with pytest.warns(UserWarning, match="To exit"):
        result = run_cell("%%autograd\nimport sys\nsys.exit(3)", fails=True)
    assert isinstance(result.error_in_exec, SystemExit)
    assert _last(fake_trace).errors == [result.error_in_exec]


def test_keyboard_interrupt_ends_the_trace(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    result = run_cell("%%autograd\nraise KeyboardInterrupt", fails=True)
    assert _last(fake_trace).errors == [result.error_in_exec]
    assert "showtraceback" not in vars(ip)


def test_syntax_error_never_begins_one(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any
) -> None:
    run_cell("%%autograd\nx = (1\ny = = 2", fails=True)
    assert not fake_trace.made
    shown = capsys.readouterr()
    assert (shown.out + shown.err).count("SyntaxError") == 1


def test_top_level_await(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    run_cell(
        "%%autograd\nimport asyncio\nawait asyncio.sleep(0)\nvalue = await asyncio.sleep(0, 7)"
    )
    assert ip.user_ns["value"] == 7
    assert _last(fake_trace).calls == ["start", "stop"]


def test_silent_execution_ends_too(ip: Any, fake_trace: Any) -> None:
    ip.run_cell("%%autograd\nx = 1", silent=True)
    assert _last(fake_trace).calls == ["start", "stop"]
    assert "showtraceback" not in vars(ip)


def test_magics_inside(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    run_cell("%%autograd\n%time x = 1\ny = !echo hi\nx")
    assert list(ip.user_ns["y"]) == ["hi"]
    # The reader's own text, not what IPython made of it.
    assert _last(fake_trace).cell.text == "%%autograd\n%time x = 1\ny = !echo hi\nx"


def test_inside_time(ip: Any, fake_trace: Any, capsys: Any) -> None:
    # IPython 8 shows an error inside %%time and then counts the cell as a success.
    ordinary = ip.run_cell("%%time\nx = 1\nx / 0").success
    capsys.readouterr()
    result = ip.run_cell("%%time\n%%autograd\nx = 1\nx / 0", store_history=True)
    assert result.success == ordinary
    trace = _last(fake_trace)
    assert trace.calls == ["start", "stop"]
    assert trace.cell.filename == "<timed exec>"
    assert trace.cell.label == "Cell In[1] <timed exec>"
    assert trace.cell.text == "%%autograd\nx = 1\nx / 0"
    assert "x / 0" in capsys.readouterr().out
    assert "<timed exec>" not in linecache.cache


@pytest.mark.parametrize("outer", ["%%capture got\n%%autograd", "%%autograd\n%%capture got"])
def test_with_capture(ip: Any, run_cell: Any, fake_trace: Any, capsys: Any, outer: str) -> None:
    run_cell(f"{outer}\nx = 1\nprint('inside')\nx + 1")
    assert capsys.readouterr().out == ""
    assert ip.user_ns["got"].stdout == "inside\n"
    assert _last(fake_trace).calls == ["start", "stop"]
    assert _last(fake_trace).cell.label == "Cell In[1]"


def test_another_cell_magic_below(ip: Any, run_cell: Any, fake_trace: Any, capsys: Any) -> None:
    ordinary = ip.run_cell("%%time\nx = 1\nx / 0").success
    capsys.readouterr()
    result = ip.run_cell("%%autograd\n%%time\nx = 1\nx / 0", store_history=True)
    assert result.success == ordinary
    shown = capsys.readouterr().out
    assert shown.count("ZeroDivisionError: division by zero") == 1
    assert ordinary or "Cell In[1], line 2" in shown
    assert "nested" not in shown
    assert _last(fake_trace).calls == ["start", "stop"]
    assert run_cell("%%autograd\n%%time\n6 * 7").result == 42


def test_nested_run_cell_does_not_end_it(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    ip.user_ns["traces"] = fake_trace.made
    run_cell(
        "%%autograd\nip = get_ipython()\nip.run_cell('y = 1')\nip.run_cell('')\n"
        "ip.run_cell('  ')\nip.run_cell('z = 1', silent=True)\nip.run_cell('y = = 2')\n"
        "calls = [len(t.calls) for t in traces]",
    )
    assert ip.user_ns["calls"] == [1]
    assert _last(fake_trace).calls == ["start", "stop"]
    assert _last(fake_trace).errors == [None]


def test_nested_traced_cell_belongs_to_the_outer_one(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any
) -> None:
    run_cell("%%autograd\nfor _ in range(3):\n    get_ipython().run_cell('%%autograd\\nx = 1')")
    assert len(fake_trace.made) == 1
    assert capsys.readouterr().err.count("the outer trace covers it") == 1


def test_traced_cell_inside_an_ordinary_one(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    ip.user_ns["traces"] = fake_trace.made
    run_cell("get_ipython().run_cell('%%autograd\\nx = 1')\ncalls = traces[0].calls[:]")
    assert ip.user_ns["calls"] == ["start", "stop"]


def test_two_threads_do_not_mix(ip: Any, run_cell: Any, fake_trace: Any) -> None:
    import threading

    run_cell("%%autograd\nx = 1")
    runner = ip.magics_manager.registry["LeafMagic"].runner
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(list(runner.stack)))
    runner.pre_execute()
    thread.start()
    thread.join()
    runner.post_execute()
    assert seen == [[]]


# showtraceback is somebody else's as well.


def test_a_wrapper_put_on_in_between_is_not_clobbered(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any
) -> None:
    seen: list[str] = []

    def wrap() -> None:
        inner = ip.showtraceback

        def theirs(*args: Any, **kwargs: Any) -> None:
            seen.append("theirs")
            inner(*args, **kwargs)

        ip.showtraceback = theirs

    ip.user_ns["wrap"] = wrap
    run_cell("%%autograd\nwrap()\n1 / 0", fails=True)
    assert seen == ["theirs"]
    assert "leafmagic says why" in capsys.readouterr().out
    theirs = ip.showtraceback
    explained = len(_last(fake_trace).explained)
    run_cell("1 / 0", fails=True)
    assert ip.showtraceback is theirs
    assert seen == ["theirs", "theirs"]
    assert capsys.readouterr().out.count("ZeroDivisionError: division") == 1
    assert len(_last(fake_trace).explained) == explained
    del ip.showtraceback


def test_a_wrapper_that_was_there_before_comes_back(
    ip: Any, run_cell: Any, fake_trace: Any
) -> None:
    inner = ip.showtraceback

    def theirs(*args: Any, **kwargs: Any) -> None:
        inner(*args, **kwargs)

    ip.showtraceback = theirs
    run_cell("%%autograd\n1 / 0", fails=True)
    assert ip.showtraceback is theirs
    del ip.showtraceback


# leafmagic's own faults.


@pytest.mark.parametrize("where", ["init", "start", "stop", "explain"])
def test_a_fault_of_ours_is_one_line_and_the_cell_goes_on(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any, where: str
) -> None:
    fake_trace.fail_at = where
    if where == "explain":
        run_cell("%%autograd\nx = 3\n[][1]", fails=True)
    else:
        assert run_cell("%%autograd\nx = 3\nx + 1").result == 4
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1
    assert f"ZeroDivisionError: broken {where}" in shown.err
    assert "second line" not in shown.err
    assert shown.out.count("IndexError: list") == (where == "explain")
    assert "showtraceback" not in vars(ip)
    fake_trace.fail_at = ""
    run_cell("%%autograd\nx = 4")
    assert _last(fake_trace).calls == ["start", "stop"]


def test_a_missing_tracer_is_one_line(
    ip: Any, run_cell: Any, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setitem(sys.modules, "leafmagic.tracing", None)
    assert run_cell("%%autograd\n6 * 7").result == 42
    assert capsys.readouterr().err.count("\n") == 1


def test_a_display_that_fails_does_not_stop_the_trace(
    ip: Any, run_cell: Any, fake_trace: Any, monkeypatch: Any, capsys: Any
) -> None:
    from leafmagic import screen

    def broken(*args: Any, **kwargs: Any) -> Any:
        raise OSError("no display")

    monkeypatch.setattr(screen, "open_screen", broken)
    assert run_cell("%%autograd\n6 * 7").result == 42
    assert "OSError: no display" in capsys.readouterr().err
    assert _last(fake_trace).calls == ["start", "stop"]


def test_an_interrupt_while_the_trace_is_being_ended_still_ends_it(
    ip: Any, run_cell: Any, fake_trace: Any, monkeypatch: Any
) -> None:
    calls: list[str] = []

    def stop(self: Any, error: BaseException | None = None) -> None:
        calls.append("stop")
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(fake_trace, "stop", stop)
    ip.run_cell("%%autograd\nx = 1")
    assert calls == ["stop", "stop"]
    assert "showtraceback" not in vars(ip)


# Always-on mode.


def test_every_cell_is_traced(ip: Any, run_cell: Any, fake_trace: Any, capsys: Any) -> None:
    run_cell("%autograd on --mode off --grads off")
    assert not fake_trace.made
    run_cell("x = 1\nx + 1")
    trace = _last(fake_trace)
    assert trace.cell.text == "x = 1\nx + 1"
    assert trace.cell.label == "Cell In[2]"
    assert trace.options.grads == "off"
    assert trace.calls == ["start", "stop"]
    run_cell("1 / 0", fails=True)
    assert isinstance(_last(fake_trace).errors[0], ZeroDivisionError)
    assert "leafmagic says why" in capsys.readouterr().out
    run_cell("%autograd off")
    made = len(fake_trace.made)
    run_cell("x = 1")
    assert len(fake_trace.made) == made
    assert all(t.calls == ["start", "stop"] for t in fake_trace.made)


@pytest.mark.parametrize("above", ["", "\n  \n"])
@pytest.mark.parametrize("magic", ["%%timeit -n1 -r1", "%%prun -q"])
def test_a_cell_that_measures_is_left_alone(
    ip: Any, run_cell: Any, fake_trace: Any, magic: str, above: str
) -> None:
    run_cell("%autograd on --mode off")
    run_cell(f"{above}{magic}\nx = 1")
    assert not fake_trace.made
    run_cell(f"%%autograd --mode off\n{magic}\nx = 1")
    assert _last(fake_trace).calls == ["start", "stop"]


def test_the_file_name_of_a_cell_is_known_before_it_runs(
    ip: Any, run_cell: Any, fake_trace: Any
) -> None:
    run_cell("%autograd on --mode off")
    run_cell("import sys\nhere = sys._getframe().f_code.co_filename")
    assert _last(fake_trace).cell.filename == ip.user_ns["here"]


def test_a_cell_with_its_own_line_keeps_its_own_options(
    ip: Any, run_cell: Any, fake_trace: Any, capsys: Any
) -> None:
    run_cell("%autograd on --mode off")
    run_cell("%%autograd --grads norm --mode off\nx = 1")
    automatic, own = fake_trace.made
    assert automatic.calls == ["start", "stop"]
    assert own.calls == ["start", "stop"]
    assert own.options.grads == "norm"
    assert capsys.readouterr().err == ""


def test_a_runner_that_broke_off_ends_its_own_cell_only(ip: Any, fake_trace: Any) -> None:
    from types import SimpleNamespace

    runner = ip.magics_manager.registry["LeafMagic"].runner
    info = SimpleNamespace(raw_cell="%%autograd\nx = 1", store_history=True)
    runner.pre_execute()
    runner.pre_run_cell(info)
    runner.begin("autograd", Options(mode="off"), "", None)

    def end(raw_cell: str) -> None:
        # IPython makes a new info where the event loop itself raised.
        new = SimpleNamespace(raw_cell=raw_cell)
        result = SimpleNamespace(info=new, error_before_exec=None, error_in_exec=None)
        runner.post_run_cell(result)

    end("other")
    end("")
    assert _last(fake_trace).calls == ["start"]
    end(info.raw_cell)
    assert _last(fake_trace).calls == ["start", "stop"]
    assert runner.stack == []


# The first traced cell does not wait for imports.


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    monkeypatch.setattr("leafmagic.screen.importlib.import_module", names.append)
    return names


def _warm_up(ip: Any) -> Any:
    return ip.magics_manager.registry["LeafMagic"].runner.warm_up


def test_a_cell_that_ran_starts_the_imports(
    ip: Any, run_cell: Any, imported: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch  # noqa: F401

    run_cell("x = 1")
    assert _warm_up(ip).thread is None, "a terminal shows text: nothing to import"
    monkeypatch.setattr(ip, "kernel", object(), raising=False)
    run_cell("x = 1")
    assert _warm_up(ip).thread is None, "mode off"
    ip.magics_manager.registry["LeafMagic"].mode = "auto"
    run_cell("x = 1")
    thread = _warm_up(ip).thread
    run_cell("x = 2")
    assert _warm_up(ip).thread is thread
    _warm_up(ip).wait()
    assert "leafmagic.render.widget" in imported
    assert len(imported) == len(set(imported))


def test_the_cell_that_loads_the_extension_starts_the_imports(
    shell: Any, run_cell: Any, fake_trace: Any, imported: list[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    run_cell("import torch\n%load_ext leafmagic")
    assert _warm_up(shell).thread is not None
    _warm_up(shell).wait()
    assert "leafmagic.tracing" in imported


def test_without_torch_nothing_is_imported(
    ip: Any, run_cell: Any, imported: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ip, "kernel", object(), raising=False)
    ip.magics_manager.registry["LeafMagic"].mode = "auto"
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    run_cell("x = 1")
    assert _warm_up(ip).thread is None
    assert imported == []


def test_unloading_waits_for_the_imports(
    ip: Any, run_cell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch  # noqa: F401

    go = threading.Event()
    monkeypatch.setattr("leafmagic.screen.importlib.import_module", lambda _: go.wait(5))
    monkeypatch.setattr(ip, "kernel", object(), raising=False)
    ip.magics_manager.registry["LeafMagic"].mode = "auto"
    run_cell("x = 1")
    thread = _warm_up(ip).thread
    assert thread.daemon
    assert thread.is_alive()
    go.set()
    ip.extension_manager.unload_extension("leafmagic")
    assert not thread.is_alive()
