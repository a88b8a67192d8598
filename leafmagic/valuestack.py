"""The iterators of the ``for`` loops that a running frame is in.

An enclosing ``for`` keeps its iterator on the frame's value stack, and nothing in Python
gives it: ``gc.get_referents`` of a frame that runs is empty in 3.11 to 3.14. So it is
read from memory, and only where all of this holds:

- the interpreter is a CPython whose frames have a layout that is known here;
- a frame of our own, with iterators that are known, reads as it should (tried once, and
  comparing numbers only);
- the frame's memory names its own code and its own frame object;
- the bytecode says that a loop's iterator lies at that depth of the stack.
"""

from __future__ import annotations

import ctypes
import dis
import sys
import sysconfig
from bisect import bisect_left, bisect_right
from functools import cache, lru_cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

_WORD = ctypes.sizeof(ctypes.c_void_p)
_GENERATOR = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR
_ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "INTERPRETER_EXIT"})
_GOES_ON = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})
_FOR_ITER = dis.opmap["FOR_ITER"]
_LONGEST = 6_000
"""Code of more instructions is not looked at."""


class Layout(NamedTuple):
    """Where, in words, the interpreter's frame has what is needed here."""

    code: int
    frame: int
    values: int
    tags: int
    """The bits of a value that are no part of the address."""


_LAYOUTS = {
    (3, 11): Layout(4, 5, 9, 0),
    (3, 12): Layout(0, 6, 9, 0),
    (3, 13): Layout(0, 6, 9, 0),
    (3, 14): Layout(0, 6, 10, 3),
}
_FRAME = 3
"""Where, in words, a frame object has the address of the interpreter's frame."""


Span = tuple[int | None, int | None, int | None, int | None]


class Spot(NamedTuple):
    """A loop around an instruction.

    Attributes
    ----------
    depth : int
        Where its iterator lies, from the bottom of the value stack.
    span : tuple
        Of what it runs over: line, last line, column and last column, as ast has them.
    """

    depth: int
    span: Span


def iterators(frame: FrameType) -> list[tuple[Any, Span]]:
    """Return the iterators of the loops that a frame is in, with what they run over.

    The outermost comes first. The frame must be one that waits for a call, on this
    thread, or that of a generator that waits to go on. Empty where they cannot be read.
    """
    code = frame.f_code
    spots = loops_at(code, frame.f_lasti)
    if not spots or not _can_read():
        return []
    return [
        (ctypes.cast(address, ctypes.py_object).value, spot.span)
        for spot, address in zip(spots, _addresses(frame, spots), strict=False)
    ]


def loops_at(code: CodeType, lasti: int) -> tuple[Spot, ...]:
    """Return the loops around an instruction, the outermost first."""
    if _FOR_ITER not in code.co_code[::2]:
        return ()
    offsets, spots = _loops(_Same(code))
    at = bisect_right(offsets, lasti) - 1
    return spots[at] if at >= 0 else ()


class _Same:
    """A code object as a key: itself, and not one that is equal."""

    __slots__ = ("code",)

    def __init__(self, code: CodeType) -> None:
        self.code = code

    def __eq__(self, other: object) -> bool:
        return type(other) is _Same and other.code is self.code

    def __hash__(self) -> int:
        return id(self.code)


@lru_cache(maxsize=256)
def _loops(key: _Same) -> tuple[list[int], list[tuple[Spot, ...]]]:
    """Return the offsets of the instructions, and the loops around each.

    The code is kept, as it must be while its address is used; it holds constants and
    names, never a value.
    """
    try:
        return _walk(key.code)
    except Exception:
        # Bytecode that is not what it is taken for here.
        return [], []


_Stack = tuple[int, ...]
"""The value stack: for each value the offset of its loop, or -1."""


def _walk(code: CodeType) -> tuple[list[int], list[tuple[Spot, ...]]]:
    """Follow all ways through a code object, with what lies on the stack."""
    steps = list(dis.get_instructions(code))
    if len(steps) > _LONGEST:
        return [], []
    offsets = [step.offset for step in steps]
    handlers = _handlers(code, offsets)
    starts_with = (-1,) if code.co_flags & _GENERATOR and sys.version_info < (3, 12) else ()
    stacks: dict[int, _Stack] = {}
    queue: list[tuple[int, _Stack]] = [(0, starts_with)]
    while queue:
        at, stack = queue.pop()
        if at in stacks or at >= len(steps):
            continue
        step = steps[at]
        if step.opname == "FOR_ITER":
            stack = (*stack[:-1], step.offset)
        stacks[at] = stack
        if at in handlers:
            there, depth, more = handlers[at]
            queue.append((there, (*stack[:depth], *(-1,) * more)))
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            there = bisect_left(offsets, step.argval)
            queue.append((there, _after(step, stack, jump=True)))
            if step.opname in _GOES_ON:
                continue
        if step.opname not in _ENDS:
            queue.append((at + 1, _after(step, stack, jump=False)))
    spans = {step.offset: _span(step) for step in steps if step.opname == "FOR_ITER"}
    found: list[tuple[Spot, ...]] = []
    for at in range(len(steps)):
        marks = enumerate(stacks.get(at, ()))
        found.append(tuple(Spot(depth, spans[mark]) for depth, mark in marks if mark >= 0))
    return offsets, found


def _handlers(code: CodeType, offsets: list[int]) -> dict[int, tuple[int, int, int]]:
    """Return by instruction its handler, how much of the stack is kept, how much comes."""
    found = {}
    table: list[Any] = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    for entry in table:
        there = bisect_left(offsets, entry.target), entry.depth, 2 if entry.lasti else 1
        for at in range(bisect_left(offsets, entry.start), bisect_left(offsets, entry.end)):
            found[at] = there
    return found


def _after(step: dis.Instruction, stack: _Stack, *, jump: bool) -> _Stack:
    """Return the stack behind an instruction. What it puts there is no loop's iterator."""
    effect = dis.stack_effect(step.opcode, step.arg, jump=jump)
    if len(stack) + effect < 0:
        raise ValueError("less than nothing on the stack")
    return (*stack, *(-1,) * effect) if effect >= 0 else stack[:effect]


def _span(step: dis.Instruction) -> Span:
    where = step.positions
    if where is None:
        return None, None, None, None
    return where.lineno, where.end_lineno, where.col_offset, where.end_col_offset


def _addresses(frame: FrameType, spots: tuple[Spot, ...]) -> list[int]:
    """Return where the iterators are; nothing where the memory is not the frame's."""
    layout = _layout()
    if layout is None:
        return []
    code = frame.f_code
    inner = _read(id(frame) + _FRAME * _WORD)
    if not inner or inner % _WORD:
        return []
    if _read(inner + layout.code * _WORD) & ~layout.tags != id(code):
        return []
    if _read(inner + layout.frame * _WORD) != id(frame):
        return []
    cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    below = layout.values + code.co_nlocals + len(cells) + len(code.co_freevars)
    found = [_read(inner + (below + spot.depth) * _WORD) & ~layout.tags for spot in spots]
    return found if all(found) else []


def _read(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


@cache
def _layout() -> Layout | None:
    """Return the layout of this interpreter's frames, where it is known."""
    if sys.implementation.name != "cpython" or _WORD != 8 or hasattr(sys, "getobjects"):
        return None
    if sysconfig.get_config_var("Py_GIL_DISABLED") or sysconfig.get_config_var("Py_DEBUG"):
        return None
    jit = getattr(sys, "_jit", None)
    if jit is not None and jit.is_enabled():
        return None
    return _LAYOUTS.get(sys.version_info[:2])


@cache
def _can_read() -> bool:
    """Try it, on a frame of which all is known. Nothing is taken for an object here."""
    try:
        return _layout() is not None and _try_it("cell")
    except Exception:
        return False


def _try_it(cell: Any) -> bool:
    outer, inner = iter((0,)), iter([0])
    seen = []

    def look() -> None:
        frame = sys._getframe(1)
        seen.append(_addresses(frame, loops_at(frame.f_code, frame.f_lasti)))

    def run(free: Any = cell) -> None:
        held = free  # a local, a cell and a free variable below the stack
        for _ in outer:
            with memoryview(b""):
                for _ in inner:
                    (lambda: (held, cell))()
                    look()

    run()
    return seen == [[id(outer), id(inner)]]
