"""How far the loops around a frame are, without running any of the user's code.

Only what is known to be C code, or torch's or tqdm's own attributes, is asked: a
``__len__`` of the user's is not. Where that is not enough, the total is unknown, or the
loop is left out.
"""

from __future__ import annotations

import ast
import gc
import operator
import sys
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FrameType, GeneratorType
from typing import Any, NamedTuple

from leafmagic.cell import is_user_file, source_of
from leafmagic.statements import lines_of
from leafmagic.valuestack import Span, iterators

_DEEPEST = 4
"""So many iterators within one another are looked through."""
_BARS = ("tqdm", "tqdm_asyncio", "tqdm_notebook", "tqdm_rich")
_LOADERS = ("_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter")
_BUILTIN = (list, tuple, range, dict, set, frozenset, str, bytes)

_user_file = lru_cache(maxsize=1024)(is_user_file)


class Loop(NamedTuple):
    """One loop, and how far it is.

    Attributes
    ----------
    what : str
        What it runs over: ``range``, ``list``, ``dict``, ``tqdm``, ``DataLoader``, …
    line : int or None
        Of what it runs over; None in code that is not the user's.
    done : int or None
        The rounds that began, the running one counted; None where it was left since it was
        seen, nobody knows how far.
    total : int or None
        None where it is not known.
    """

    what: str
    line: int | None
    done: int | None
    total: int | None


class _Far(NamedTuple):
    what: str
    done: int
    total: int | None


def loops_around(
    frame: FrameType | None, stop: CodeType | str | None = None, most: int = 4
) -> tuple[Loop, ...]:
    """Return the loops that a frame, and what called it, are in.

    Parameters
    ----------
    frame : FrameType or None
        The innermost frame, of this thread.
    stop : CodeType or str, optional
        Code whose frame, or file whose outermost frame, is the last to look at. Where it is
        not met, that is the outermost which runs code of the user's.
    most : int
        So many loops at most; those further in are left out.

    Returns
    -------
    tuple of Loop
        The outermost first. ``while`` loops and what cannot be told are left out.
    """
    try:
        frames = _frames(frame, stop)
        found: list[Loop] = []
        while frames and len(found) < most:
            found += _loops_in(frames.pop())
        return tuple(found[:most])
    except Exception:
        return ()


def left(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """Return loops that an error left after they were seen: how far they came is not known.

    Where torch raised, they were looked at just then.
    """
    return tuple([loop._replace(done=None) for loop in loops])


def _frames(frame: FrameType | None, stop: CodeType | str | None) -> list[FrameType]:
    """Return the frames from a frame outwards to the last that counts."""
    frames: list[FrameType] = []
    last = own = 0
    while frame is not None:
        frames.append(frame)
        if frame.f_code is stop:
            return frames
        if frame.f_code.co_filename == stop:
            own = len(frames)
        if _user_file(frame.f_code.co_filename):
            last = len(frames)
        frame = frame.f_back
    return frames[: own or last]


def _loops_in(frame: FrameType) -> list[Loop]:
    filename = frame.f_code.co_filename
    mine = _user_file(filename)
    found = []
    for iterator, span in iterators(frame):
        far = _far(iterator, lambda span=span: _first(filename, span))  # type: ignore[misc]
        if far is not None:
            found.append(Loop(far.what, span[0] if mine else None, far.done, far.total))
    return found


First = Callable[[], int | None]
"""Tells where a ``range`` began, if its iterator does not."""


def _far(iterator: Any, first: First, depth: int = 0) -> _Far | None:
    """Tell how far an iterator is; None where it cannot be told safely."""
    kind = type(iterator)
    if kind is _RANGE:
        return _range(iterator.__reduce__(), first)
    if kind in _HELD:
        what, container, length = _HELD[kind]
        left = operator.length_hint(iterator)
        for held in gc.get_referents(iterator):
            if issubclass(type(held), container):
                total = length(held)
                return _Far(what, max(total - left, 0), total)
        return None  # at its end
    if depth >= _DEEPEST:
        return None
    if kind is enumerate:
        inner, _ = iterator.__reduce__()[1]
        return _far(inner, first, depth + 1)
    if kind is zip or kind is map:
        parts = iterator.__reduce__()[1]
        return _shortest([_far(part, first, depth + 1) for part in parts[kind is map :]])
    if kind is GeneratorType:
        return _generator(iterator, first, depth + 1)
    if _named(iterator, "torch.utils.data.dataloader", _LOADERS):
        return _loader(iterator)
    return None


def _range(reduced: tuple[Any, ...], first: First) -> _Far | None:
    """Tell how far a range is, from what its iterator is made of again."""
    rest, index = reduced[1][0], reduced[2] if len(reduced) > 2 else None
    if type(rest) is not range:
        return None
    if type(index) is int:
        return _Far("range", index, len(rest))
    # From 3.12 on the iterator only has what is left.
    start = first()
    if start is None or (rest.start - start) % rest.step:
        return None
    done = (rest.start - start) // rest.step
    return _Far("range", done, done + len(rest)) if done >= 0 else None


@lru_cache(maxsize=256)
def _first(filename: str, span: Span) -> int | None:
    """Return where the range begins that the code runs over, if it says so."""
    line, last, start, end = span
    lines = lines_of(source_of(filename))
    if line is None or last is None or not 0 < line <= last <= len(lines):
        return None
    taken = [text.encode() for text in lines[line - 1 : last]]
    taken[-1] = taken[-1][:end]
    taken[0] = taken[0][start:]
    tree = _parsed(b"\n".join(taken))
    calls = [
        node
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("range", "trange")
    ]
    if len(calls) != 1 or not calls[0].args:
        return None
    if len(calls[0].args) == 1 and not isinstance(calls[0].args[0], ast.Starred):
        return 0
    begin = calls[0].args[0]
    known = isinstance(begin, ast.Constant) and type(begin.value) is int
    return begin.value if known else None  # type: ignore[attr-defined]


def _parsed(text: bytes) -> ast.expr | None:
    """Return what a loop runs over, of its own text or, in 3.11, of that of the loop."""
    try:
        return ast.parse(b"(" + text + b")", mode="eval").body
    except (SyntaxError, ValueError):
        pass
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return None
    return body[0].iter if len(body) == 1 and isinstance(body[0], ast.For) else None


def _shortest(parts: list[_Far | None]) -> _Far | None:
    """Tell how far a ``zip`` is: as far as its parts, and as long as the shortest."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    totals = [part.total for part in known if part.total is not None]
    all_known = len(totals) == len(parts)
    one = min(known, key=lambda part: sys.maxsize if part.total is None else part.total)
    return _Far(one.what, one.done, min(totals) if all_known else None)


def _generator(generator: Any, first: First, depth: int) -> _Far | None:
    """Tell how far a generator is: as far as the outermost loop in it."""
    frame = generator.gi_frame
    if frame is None or generator.gi_running:
        return None
    held = gc.get_referents(generator)
    bar = next((one for one in held if _named(one, "tqdm", _BARS)), None)
    inside = [
        _far(iterator, _of(frame, span) if bar is None else first, depth)
        for iterator, span in iterators(frame)
    ]
    if generator.gi_yieldfrom is not None:
        inside.append(_far(generator.gi_yieldfrom, first, depth))
    far = next((one for one in inside if one is not None), None)
    if bar is None:
        return far
    own = _own(bar)
    total, began, done = own.get("total"), own.get("initial"), own.get("n")
    if far is not None:
        # More exact than the bar's own number, which it renews when it draws.
        done = far.done + (began if type(began) is int else 0)
        total = total if total is not None else far.total
    if type(done) is not int:
        return None
    return _Far("tqdm", done, total if type(total) is int else None)


def _of(frame: FrameType, span: Span) -> First:
    filename = frame.f_code.co_filename
    return lambda: _first(filename, span)


def _named(value: Any, module: str, names: tuple[str, ...]) -> bool:
    """Tell whether a value is of a library's class, by its name, asking nothing of it."""
    kind = type(value)
    found = _NAME(kind)
    if found not in names:
        return False
    home = _MODULE(kind)
    return type(home) is str and (home == module or home.startswith(module + "."))


def _own(value: Any) -> dict[str, Any]:
    """Return the attributes of an object of a library's class."""
    held = object.__getattribute__(value, "__dict__")
    return held if type(held) is dict else {}


def _loader(iterator: Any) -> _Far | None:
    """Tell how far a DataLoader is, in batches."""
    own = _own(iterator)
    done = own.get("_num_yielded")
    if type(done) is not int:
        return None
    sampler = own.get("_index_sampler")
    if not _named(sampler, _SAMPLERS, ("BatchSampler",)):
        return _Far("DataLoader", done, _samples(sampler))
    batch = _own(sampler)
    size, count = batch.get("batch_size"), _samples(batch.get("sampler"))
    if count is None and _named(batch.get("sampler"), _SAMPLERS, _ORDERED):
        count = _drawn(own.get("_sampler_iter"))
        if count == 0:
            return _Far("DataLoader", done, max(done, own.get("_send_idx", 0)))
    if type(size) is not int or size < 1 or count is None:
        return _Far("DataLoader", done, None)
    rest = 0 if batch.get("drop_last") else size - 1
    return _Far("DataLoader", done, (count + rest) // size)


_SAMPLERS = "torch.utils.data.sampler"
_ORDERED = ("SequentialSampler", "RandomSampler")


def _samples(sampler: Any) -> int | None:
    """Tell how many samples a sampler of torch's draws, if no code of the user's says it."""
    if _named(sampler, _SAMPLERS, _ORDERED):
        own = _own(sampler)
        given = own.get("_num_samples")
        return given if type(given) is int else _length(own.get("data_source"))
    if _named(sampler, _SAMPLERS, ("SubsetRandomSampler",)):
        return _length(_own(sampler).get("indices"))
    if _named(sampler, _SAMPLERS, ("WeightedRandomSampler",)) or _named(
        sampler, "torch.utils.data.distributed", ("DistributedSampler",)
    ):
        given = _own(sampler).get("num_samples")
        return given if type(given) is int else None
    return None


def _length(data: Any) -> int | None:
    """Return the length of what says it without code of the user's."""
    if type(data) in _BUILTIN or _named(data, "numpy", ("ndarray",)):
        return len(data)
    if _named(data, "torch.utils.data.dataset", ("TensorDataset",)):
        return _rows(_own(data).get("tensors"))
    if _named(data, "torch.utils.data.dataset", ("Subset",)):
        return _length(_own(data).get("indices"))
    if _named(data, "torch.utils.data.dataset", ("ConcatDataset",)):
        sizes = _own(data).get("cumulative_sizes")
        return sizes[-1] if type(sizes) is list and sizes and type(sizes[-1]) is int else None
    return None


def _rows(tensors: Any) -> int | None:
    torch = sys.modules.get("torch")
    if torch is None or type(tensors) is not tuple or not tensors:
        return None
    if type(tensors[0]) is not torch.Tensor:
        return None
    with torch._C.DisableTorchFunction():  # unheard by all modes
        return int(tensors[0].shape[0])


def _drawn(batches: Any) -> int | None:
    """Return how many samples torch's sampler drew for an epoch; 0 where it gave out all.

    It asked the dataset for its length when the epoch began, and has a list since then.
    """
    if type(batches) is not GeneratorType:
        return None
    if batches.gi_frame is None:
        return 0
    for drawing in _iterators_in(batches):
        if type(drawing) is GeneratorType:
            if drawing.gi_frame is None:
                return 0
            far = _far(drawing.gi_yieldfrom, lambda: 0)
        else:
            far = _far(drawing, lambda: 0)
        if far is not None:
            return far.total
    return None


def _iterators_in(generator: Any) -> list[Any]:
    """Return what a generator holds, those inside a ``zip`` included."""
    held = gc.get_referents(generator)
    zipped = [part for one in held if type(one) is zip for part in one.__reduce__()[1]]
    return [one for one in (*held, *zipped) if type(one) in (GeneratorType, _LIST, _RANGE)]


_NAME: Callable[[type], Any] = type.__dict__["__name__"].__get__
_MODULE: Callable[[type], Any] = type.__dict__["__module__"].__get__
_RANGE = type(iter(range(0)))
_LIST: type = type(iter([]))
_HELD: dict[type, tuple[str, Any, Callable[[Any], int]]] = {
    _LIST: ("list", list, list.__len__),
    type(reversed([])): ("list", list, list.__len__),
    type(iter(())): ("tuple", tuple, tuple.__len__),
    type(iter({})): ("dict", dict, dict.__len__),
    type(iter({}.values())): ("dict", dict, dict.__len__),
    type(iter({}.items())): ("dict", dict, dict.__len__),
    type(reversed({})): ("dict", dict, dict.__len__),
    type(reversed({}.values())): ("dict", dict, dict.__len__),
    type(reversed({}.items())): ("dict", dict, dict.__len__),
    type(iter(set())): ("set", set, set.__len__),
}
"""By the kind of an iterator: what it runs over, as a word and as a class, and its length."""
