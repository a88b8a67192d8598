"""What happened, as plain immutable records.

A record holds numbers, strings and torch's own immutable descriptions (shape,
dtype, device); never a tensor and never a node. Tensors are numbered by `tid`,
autograd nodes by `nid`, places in the code by `site`; a number is never used
twice while the process lives, so that events of several cells can be joined.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class TensorSeen(NamedTuple):
    """A tensor that was not known before.

    Attributes
    ----------
    shape, dtype, device
        As torch gives them; stringified only when drawn.
    nid : int
        The node behind ``grad_fn``; -1 for a leaf.
    output_nr : int
        Which output of that node it is.
    base : int
        tid of the tensor it is a view of; -1 where it is none.
    parameter : bool
        Whether it is an ``nn.Parameter``.
    """

    tid: int
    shape: Any
    dtype: Any
    device: Any
    requires_grad: bool
    is_leaf: bool
    version: int
    nid: int
    output_nr: int
    base: int
    parameter: bool
    hooks: int
    retains_grad: bool


class NodeSeen(NamedTuple):
    """An autograd node that was not known before.

    Attributes
    ----------
    edges : tuple of (kind, id, output_nr)
        ``next_functions`` without the empty entries. Kind ``"n"`` gives the nid of
        a node, ``"t"`` the tid of the leaf behind an AccumulateGrad.
    """

    nid: int
    name: str
    edges: tuple[tuple[str, int, int], ...]


class OpCalled(NamedTuple):
    """A torch function returned.

    Attributes
    ----------
    ordinal : int
        Grows by one per event; orders everything that happened.
    direct : bool
        Whether the user's own expression called it, so that the operands of the
        expression are its arguments.
    inputs, outputs : tuple of int
        tids, in argument order, lists flattened.
    tensors, nodes : tuple
        What was seen for the first time with this call.
    grad_enabled : bool
        Grad mode when it was called; only looked up where the output has no grad.
    wrote : tuple of int
        tids changed in place.
    turn : int
        How often this op had run at this place before, in the same step.
    """

    ordinal: int
    site: int
    op: str
    direct: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    tensors: tuple[TensorSeen, ...]
    nodes: tuple[NodeSeen, ...]
    grad_enabled: bool
    wrote: tuple[int, ...]
    turn: int = 0


class OpRepeated(NamedTuple):
    """An op did again what it did in the step before, at the same place and turn.

    Attributes
    ----------
    tid : int
        Its newest output, a tensor that is new.
    nid : int
        The node behind the output; -1 where there is none.
    base : int
        tid of the tensor that the output is a view of, or -1.
    before : int
        tid of the output before the newest.
    times : int
        How often it ran since the last such event.
    """

    ordinal: int
    site: int
    op: str
    direct: bool
    inputs: tuple[int, ...]
    turn: int
    tid: int
    nid: int
    base: int
    shape: Any
    before: int
    times: int


class RoundFolded(NamedTuple):
    """Of a loop without backward an op's earlier rounds are gone, and the newest stands for all.

    Attributes
    ----------
    first, length, size : int
        Of so many turns, those from the first on are rounds of that size.
    """

    ordinal: int
    site: int
    op: str
    first: int
    length: int
    size: int


class PassRepeated(NamedTuple):
    """A backward pass ran again from the same place, from the same kind of root.

    Attributes
    ----------
    places : tuple of (site, op, direct, turn)
        What made each root.
    value : float or None
        Of the root, if it is one number that lies on the CPU.
    at : float
        When it was over, by `time.perf_counter`.
    """

    ordinal: int
    site: int
    began: int
    what: str
    roots: tuple[int, ...]
    retain_graph: bool
    create_graph: bool
    places: tuple[tuple[int, str, bool, int], ...] = ()
    value: float | None = None
    at: float = 0.0


class Written(NamedTuple):
    """A tensor without a grad_fn was changed in place, grad mode off: an update."""

    ordinal: int
    site: int
    op: str
    tid: int
    inputs: tuple[int, ...] = ()


class Stepped(NamedTuple):
    """An optimizer took a step.

    Attributes
    ----------
    optimizer : int
        Tells apart the optimizers that are alive at one time.
    name : str
        Its class.
    tids, versions : tuple of int
        The parameters that had a gradient, and their version counters after the step.
    idle : tuple of int
        Those that had none.
    """

    ordinal: int
    site: int
    optimizer: int
    name: str
    tids: tuple[int, ...]
    versions: tuple[int, ...]
    idle: tuple[int, ...]
    tensors: tuple[TensorSeen, ...]
    nodes: tuple[NodeSeen, ...]


UNKNOWN = -1
"""Stands for what owns gradients that were cleared."""


class Cleared(NamedTuple):
    """Gradients were cleared by ``zero_grad``.

    Attributes
    ----------
    owner : int
        Tells apart the optimizers and modules that are alive at one time; `UNKNOWN` where a
        library does it in its own way, so that it is not known what it clears.
    tids : tuple of int
        All of the owner's parameters.
    """

    ordinal: int
    site: int
    owner: int
    tids: tuple[int, ...]
    tensors: tuple[TensorSeen, ...]
    nodes: tuple[NodeSeen, ...]


class WriteAttempted(NamedTuple):
    """An in-place op is about to run with grad mode on."""

    ordinal: int
    site: int
    op: str
    direct: bool
    wrote: tuple[int, ...]
    inputs: tuple[int, ...]
    tensors: tuple[TensorSeen, ...]
    nodes: tuple[NodeSeen, ...]


class Accessed(NamedTuple):
    """An attribute or a method that matters was used on a tensor.

    Attributes
    ----------
    what : str
        ``grad``, ``set_grad``, ``data``, ``set_data``, ``retain_grad``,
        ``register_hook``, ``requires_grad_``, ``set_requires_grad``.
    by_user : bool
        Whether the user's own expression did it, rather than a library.
    value : int or bool or None
        tid of the value read or written, or the flag that was set; -1 for None.
    is_leaf, requires_grad, retains_grad : bool
        The tensor's flags just before.
    alike : int
        After ``register_hook``: how many of the tensor's newest hooks have the code of the
        new one, itself counted.
    """

    ordinal: int
    site: int
    what: str
    tid: int
    by_user: bool
    value: Any
    is_leaf: bool
    requires_grad: bool
    retains_grad: bool
    grad_enabled: bool
    tensors: tuple[TensorSeen, ...]
    nodes: tuple[NodeSeen, ...]
    alike: int = 0


class BackwardCalled(NamedTuple):
    """``backward`` or ``autograd.grad`` is about to run."""

    ordinal: int
    site: int
    what: str
    roots: tuple[int, ...]
    inputs: tuple[int, ...]
    retain_graph: bool
    create_graph: bool
    tensors: tuple[TensorSeen, ...]
    nodes: tuple[NodeSeen, ...]


class BackwardReturned(NamedTuple):
    """The backward pass that began at `began` came to its end, or raised.

    Attributes
    ----------
    value, at
        As in `PassRepeated`.
    """

    ordinal: int
    site: int
    began: int
    failed: bool
    value: float | None = None
    at: float = 0.0
