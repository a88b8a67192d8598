"""Calling torch in the name of the code that called it.

A warning is shown with the file and line of the frame that called, and is shown once
for each. Called from a frame of ours, all of torch's warnings would carry our file,
and the second would not be shown. So the call is made from a frame that has the file,
the line and the globals of the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any

Caller = Callable[[Any, Any, Any], Any]

NAME = "<leafmagic call>"
"""The name by which such a frame is told apart, in a traceback."""

_CODE: CodeType = (lambda func, args, kwargs: func(*args, **kwargs)).__code__.replace(
    co_name=NAME, co_qualname=NAME
)


class Callers:
    """A function for each place in the code, which calls what it is given from there."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], Caller] = {}
        self._codes: list[CodeType] = []

    def of(self, frame: FrameType, key: tuple[int, int]) -> Caller:
        """Return a caller for the place at which a frame is.

        Parameters
        ----------
        frame : FrameType
        key : tuple of (int, int)
            The ``id`` of the code and the instruction that called, to know it again by.
        """
        code = frame.f_code
        here = _CODE.replace(co_filename=code.co_filename, co_firstlineno=frame.f_lineno or 1)
        caller = FunctionType(here, frame.f_globals, NAME)
        if (id(code), frame.f_lasti) == key:
            # The code is kept, or its id could be used again.
            self._codes.append(code)
            self.known[key] = caller
        return caller
