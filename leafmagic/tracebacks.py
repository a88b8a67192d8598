"""Taking leafmagic out of the tracebacks of the user's errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any

import torch

from leafmagic.accesses import run_access
from leafmagic.callers import NAME
from leafmagic.cell import is_user_file
from leafmagic.ledger import tid_of
from leafmagic.looks import Inside, Raised
from leafmagic.recorder import Recorder

_COMPILED = re.compile(r'^ *File "(.+)", line (\d+), in ', re.MULTILINE)
_GOT = re.compile(r"got \w+\((.*)\)$", re.MULTILINE)


def raised(ordinal: int, site: int, error: BaseException, label: Callable[[str], str]) -> Raised:
    """Describe an error that ends the traced code.

    Parameters
    ----------
    label : callable
        From a file name to what the reader calls it.
    """
    text = str(error)
    first, kind = text.partition("\n")[0], type(error).__name__
    about = _refused(error, first)
    return Raised(ordinal, site, "", kind, first, about, (), True, _inside(text, label))


def _refused(error: BaseException, text: str) -> tuple[int, ...]:
    """Return the tensors that an error is about, where torch's Python code raised it."""
    sparse = "not support sparse gradients" in text
    if not sparse and not text.startswith("Cowardly refusing to serialize"):
        return ()
    step = error.__traceback__
    while step is not None:
        code, held = step.tb_frame.f_code, step.tb_frame.f_locals
        if sparse and "/torch/optim/" in code.co_filename.replace("\\", "/"):
            groups = getattr(held.get("self"), "param_groups", ())
            tensors = [tensor for group in groups for tensor in group["params"]]
            return tuple(tid_of(t) for t in tensors if t.grad is not None and t.grad.is_sparse)
        if not sparse and code.co_name == "reduce_tensor" and "tensor" in held:
            return (tid_of(held["tensor"]),)
        step = step.tb_next
    return ()


def _inside(text: str, label: Callable[[str], str]) -> Inside | None:
    """Return the line of the user's own at which torch.compile gave up."""
    _, _, below = text.partition("from user code:")
    lines = [(name, int(line)) for name, line in _COMPILED.findall(below) if is_user_file(name)]
    if not lines:
        return None
    got = _GOT.search(text)
    return Inside(lines[-1][0], label(lines[-1][0]), lines[-1][1], got[1] if got else "")


def splice(error: BaseException) -> None:
    """Take the frames of leafmagic, and the detour through them, out of a traceback.

    torch's Python functions are entered twice on the way through a mode: once to find
    the mode, once to run. The first entry goes, too.
    """
    for one in _chain(error):
        steps = []
        step = one.__traceback__
        while step is not None:
            steps.append(step)
            step = step.tb_next
        codes = [step.tb_frame.f_code for step in steps]
        ours: list[bool] = []
        for code in codes:
            ours.append(_is_ours(code, inside=bool(ours) and ours[-1]))
        kept: list[TracebackType] = []
        detour = False
        for index, step in enumerate(steps):
            if ours[index] or _leads_to_us(codes, ours, index):
                detour = True
                continue
            if detour and kept and kept[-1].tb_frame.f_code is codes[index]:
                kept.pop()
            detour = False
            kept.append(step)
        if len(kept) == len(steps):
            continue
        for step, following in zip(kept, [*kept[1:], None], strict=True):
            step.tb_next = following
        one.__traceback__ = kept[0] if kept else None


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    queue: list[BaseException | None] = [error]
    for one in queue:
        if one is not None and not any(one is known for known in found):
            found.append(one)
            queue += [one.__cause__, one.__context__]
    return found


def _leads_to_us(codes: list[CodeType], ours: list[bool], index: int) -> bool:
    """Tell whether torch looked for modes there, and found the recorder's.

    Its own frames are mostly gone already (see `callers.step_aside`): then the function
    that was entered before is entered again at once, which no other mode brings about.
    """
    if codes[index] is not _HANDLE or index + 1 == len(codes):
        return False
    return ours[index + 1] or (index > 0 and codes[index - 1] is codes[index + 1])


def _is_ours(code: CodeType, *, inside: bool) -> bool:
    """Tell whether a frame is the recorder's, or called by one that is."""
    if code.co_filename in _FILES or code.co_name == NAME:
        return True
    return inside and code.co_filename.startswith(_PACKAGE)


_PACKAGE = str(Path(__file__).parent)
_HANDLE = torch.overrides.handle_torch_function.__code__
_FILES = {
    Recorder.__torch_function__.__code__.co_filename,
    run_access.__code__.co_filename,
}


def explain_error(error: BaseException, found: Iterable[Any]) -> None:
    """Add what the rules made of an error to it, as notes (PEP 678); each once.

    Parameters
    ----------
    found : iterable of Finding
    """
    told = {(f.kind, f.variable, f.line): f for f in found if f.severity != "info"}
    for finding in list(told.values())[-2:]:
        note = finding.explanation()
        if note not in getattr(error, "__notes__", []):
            error.add_note(note)
