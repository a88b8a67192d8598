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

_CODE: CodeType = (
    lambda func, args, kwargs: func(*args, **kwargs) if kwargs else func(*args)
).__code__.replace(co_name=NAME, co_qualname=NAME)


class Callers:
    """A function for each place in the code, which calls what it is given from there."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], Caller] = {}
        """By the ``id`` of the code and the instruction in it."""
        self._codes: list[CodeType] = []

    def of(self, frame: FrameType) -> Caller:
        """Return the caller for the place at which a frame is."""
        code = frame.f_code
        key = (id(code), frame.f_lasti)
        caller = self.known.get(key)
        if caller is None:
            # Kept, or its id could be used again.
            self._codes.append(code)
            here = _CODE.replace(co_filename=code.co_filename, co_firstlineno=frame.f_lineno or 1)
            caller = self.known[key] = FunctionType(here, frame.f_globals, NAME)
        return caller
