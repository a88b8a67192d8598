"""What was found by looking: names, owners, states, errors, the source.

Plain immutable records like those of `leafmagic.events`, in the same order of numbers.
"""

from __future__ import annotations

from typing import NamedTuple

from leafmagic.breaks import (
    Foreseen,
    GradientBroke,
    GradientsMeasured,
    GradientWithheld,
    MemoryChanged,
)
from leafmagic.events import (
    Accessed,
    BackwardCalled,
    BackwardReturned,
    Cleared,
    NodeSeen,
    OpCalled,
    OpRepeated,
    PassRepeated,
    RoundFolded,
    Stepped,
    TensorSeen,
    WriteAttempted,
    Written,
)


class Bound(NamedTuple):
    """A variable was found to point to a tensor.

    Attributes
    ----------
    scope : str
        ``""`` for the cell's own namespace, else the function's qualified name.
    tid : int
        -1 where the name no longer points to a tensor.
    line : int or None
        Of the binding statement.
    label : str
        The cell or file of that line.
    source : str
        The expression it was bound to, where there is one.
    """

    ordinal: int
    scope: str
    name: str
    tid: int
    line: int | None
    label: str
    source: str
    tensors: tuple[TensorSeen, ...]
    nodes: tuple[NodeSeen, ...]


class Rebound(NamedTuple):
    """A name that pointed to a trainable leaf now points elsewhere; the model says so."""

    ordinal: int
    scope: str
    name: str
    old: int
    new: int


class Owned(NamedTuple):
    """A tensor belongs to a module or a container of the namespace.

    Attributes
    ----------
    path : str
        ``"net.0.weight"`` or ``"outs[2]"``.
    registered : bool
        Whether a module lists it among its parameters or buffers.
    """

    ordinal: int
    path: str
    tid: int
    registered: bool


class StateRead(NamedTuple):
    """What a live tensor looks like now.

    Attributes
    ----------
    old_grad : bool
        Whether its gradient is what it was when the trace met it.
    """

    ordinal: int
    tid: int
    requires_grad: bool
    is_leaf: bool
    retains_grad: bool
    version: int
    hooks: int
    has_grad: bool
    grad_norm: float | None
    preview: str
    grad_preview: str
    old_grad: bool = False


class Inside(NamedTuple):
    """Where torch.compile gave up on a function, and what the op said there."""

    filename: str
    label: str
    line: int
    text: str


class Raised(NamedTuple):
    """The cell, or an op in it, raised.

    Attributes
    ----------
    op : str
        The torch function that raised; empty where the error came from elsewhere.
    error : str
        Class name.
    text : str
        First line of the message.
    culprits : tuple
        For an in-place error of backward: the nodes whose saved tensors no longer
        hold, as (nid, slot, message).
    inside : Inside or None
        For an error of torch.compile: the line of the compiled function.
    blamed : int
        nid of the node in which backward raised, where the traceback says it, else 0.
    """

    ordinal: int
    site: int
    op: str
    error: str
    text: str
    inputs: tuple[int, ...]
    culprits: tuple[tuple[int, str, str], ...]
    direct: bool
    inside: Inside | None = None
    blamed: int = 0


def told(kind: str, text: str) -> str:
    """Return an error as one line: its class, and the first line that it says."""
    return f"{kind}: {text}"[:300] if text else kind


class AttributeStored(NamedTuple):
    """A Python attribute that torch does not know was found on a tensor or module.

    Attributes
    ----------
    owner, name, value : str
        The source of ``owner.name = value``; the value is empty where it is not known.
    tid : int
        -1 for a tensor that the trace did not meet, and for a module.
    module : bool
        Whether it is on a module.
    """

    ordinal: int
    owner: str
    name: str
    tid: int
    line: int | None
    label: str
    value: str = ""
    module: bool = False


class SourceRead(NamedTuple):
    """The text of what was traced, before `Finished`; then those of its custom functions.

    Attributes
    ----------
    label, filename : str
        Of the cell or file.
    text : str
        All of it, as it was compiled.
    names : tuple of (name, path)
        Names in the text that stand for something of torch, such as
        ``("no_grad", "torch.autograd.grad_mode.no_grad")``.
    first, last : int
        The lines that were traced; 1 and 0 where none of them were.
    """

    ordinal: int
    label: str
    filename: str
    text: str
    names: tuple[tuple[str, str], ...]
    first: int
    last: int


class ModuleHooked(NamedTuple):
    """A module that has forward hooks wrote to its input.

    Attributes
    ----------
    path : str
        What the cell calls the module, such as ``"act"`` or ``"net.1"``.
    name : str
        Its class.
    hooks : tuple of (filename, line, argument)
        The code of its hooks, and what each calls the module's input.
    """

    ordinal: int
    site: int
    path: str
    name: str
    hooks: tuple[tuple[str, int, str], ...]


class GradientSeen(NamedTuple):
    """The gradient of a tensor passed, in backward."""

    ordinal: int
    tid: int
    norm: float


class Held(NamedTuple):
    """A tensor that a module of the namespace holds when a trace ends.

    Attributes
    ----------
    path : str
        Such as ``"net.0.weight"``.
    root : str
        The variable that the path begins with.
    tid : int
        -1 where the trace did not meet it.
    registered : bool
        Whether a module lists it among its parameters.
    filled : bool
        Whether it has a gradient.
    optimizers : tuple of int
        Those that it was given to.
    shape : tuple of int
    """

    path: str
    root: str
    tid: int
    registered: bool
    parameter: bool
    requires_grad: bool
    is_leaf: bool
    filled: bool
    optimizers: tuple[int, ...]
    shape: tuple[int, ...] = ()


class ModuleSeen(NamedTuple):
    """A module of the user's own class, and where its code is.

    Attributes
    ----------
    name : str
        Of the class.
    line : int
        Where its ``forward``, or else its ``__init__``, begins in the file.
    """

    path: str
    name: str
    filename: str
    label: str
    line: int


class OptimizerSeen(NamedTuple):
    """An optimizer of the namespace.

    Attributes
    ----------
    optimizer : int
        As in `leafmagic.events.Stepped`.
    path, name : str
        The variable, and the class.
    size, stale : int
        How many tensors it has, and how many of them nothing else holds.
    """

    optimizer: int
    path: str
    name: str
    size: int
    stale: int


class Wired(NamedTuple):
    """What the modules and optimizers of the namespace hold; the last event of a trace."""

    ordinal: int
    held: tuple[Held, ...]
    modules: tuple[ModuleSeen, ...]
    optimizers: tuple[OptimizerSeen, ...]


class Finished(NamedTuple):
    """The traced code came to its end."""

    ordinal: int


class Kept(NamedTuple):
    """Something holds computed tensors, and their graphs with them.

    Attributes
    ----------
    how : str
        ``container``, ``output`` (``Out``) or ``traceback`` (the frame of a function).
    name : str
        The container's path, the expression that is shown, or the function.
    tids : tuple of int
        The newest of the tensors, in order.
    size : int
        How many there are; of a traceback, the bytes.
    line : int or None
        Of the expression that is shown.
    running : bool
        Whether more may come; else the trace has come to its end.
    """

    ordinal: int
    how: str
    name: str
    tids: tuple[int, ...]
    size: int
    line: int | None
    running: bool = False


class StepsShown(NamedTuple):
    """So many passes from one line have run by now; what grows with them can be told."""

    ordinal: int
    site: int
    times: int


Event = (
    OpCalled
    | OpRepeated
    | PassRepeated
    | RoundFolded
    | Written
    | Stepped
    | Cleared
    | WriteAttempted
    | Accessed
    | BackwardCalled
    | BackwardReturned
    | Bound
    | Rebound
    | Owned
    | StateRead
    | Raised
    | AttributeStored
    | SourceRead
    | ModuleHooked
    | GradientSeen
    | GradientBroke
    | GradientsMeasured
    | GradientWithheld
    | MemoryChanged
    | Foreseen
    | Kept
    | StepsShown
    | Finished
    | Wired
)
"""Whatever happened, and whatever was found."""
