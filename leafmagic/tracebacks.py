"""Taking leafmagic out of the tracebacks of the user's errors."""

from __future__ import annotations

from pathlib import Path
from types import CodeType, TracebackType

import torch

from leafmagic.accesses import run_access
from leafmagic.callers import NAME
from leafmagic.recorder import Recorder


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
        ours: list[bool] = []
        for step in steps:
            inside = bool(ours) and ours[-1]
            ours.append(_is_ours(step.tb_frame.f_code, inside=inside))
        if not any(ours):
            continue
        kept: list[TracebackType] = []
        detour = False
        for index, step in enumerate(steps):
            into_us = index + 1 < len(steps) and ours[index + 1]
            if ours[index] or (into_us and step.tb_frame.f_code is _HANDLE):
                detour = True
                continue
            if detour and kept and kept[-1].tb_frame.f_code is step.tb_frame.f_code:
                kept.pop()
            detour = False
            kept.append(step)
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
