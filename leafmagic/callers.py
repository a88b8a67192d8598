"""Calling torch in the name of the code that called it.

A warning is shown with the file and line of the frame that called, and is shown once
for each. Called from a frame of ours, all of torch's warnings would carry our file,
and the second would not be shown. So the call is made from a frame that has the file,
the line and the globals of the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

from leafmagic.sites import CALLER_NAME

NAME = CALLER_NAME
PACKAGE = str(Path(__file__).parent)
"""Where our code is."""
Caller = Callable[[Any, Any, Any], Any]


_CODE: CodeType = (
    lambda func, args, kwargs: func(*args, **kwargs) if kwargs else func(*args)
).__code__.replace(co_name=NAME, co_qualname=NAME)


def caller_at(frame: FrameType) -> Caller:
    """Return a function that calls what it is given, from the place where a frame is."""
    code = frame.f_code
    here = _CODE.replace(co_filename=code.co_filename, co_firstlineno=frame.f_lineno or 1)
    return FunctionType(here, frame.f_globals, NAME)


def run_plainly(func: Any, args: Any, kwargs: Any) -> Any:
    """Call a function from here, where there is no other way."""
    return func(*args, **kwargs)


def step_aside(error: BaseException) -> None:
    """Take our frames off the top of a traceback, before the error goes on to its caller.

    To be called in an ``except`` that raises again with a bare ``raise``: Python does not
    enter that frame a second time. Then code that catches the error and formats it sees
    what it would see without us. Where torch's function is written in Python, the frame
    in which that looked for modes is entered later, and stays.
    """
    step = error.__traceback__
    while step is not None and _is_ours(step.tb_frame.f_code):
        step = step.tb_next
    error.__traceback__ = step


def _is_ours(code: CodeType) -> bool:
    return code.co_name == NAME or code.co_filename.startswith(PACKAGE)
