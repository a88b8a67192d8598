"""What the words after ``%autograd`` do."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator, Mapping, Set, ValuesView
from functools import lru_cache
from itertools import islice, takewhile
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from leafmagic.celltext import MEASURING
from leafmagic.options import Options
from leafmagic.recording import SUFFIXES, Trace, last, mend_trace
from leafmagic.screen import show_document

if TYPE_CHECKING:
    from leafmagic.cellrun import CellRunner
    from leafmagic.findings import Finding

WORDS = ("on", "off", "status", "report", "why", "save", "explain", "fix")
_MOST_ITEMS = 100_000
_NUMBER = re.compile(r"Cell In\[(\d+)\]")


@lru_cache(maxsize=1)
def known_kinds() -> tuple[str, ...]:
    """Return the kinds and the codes of all findings."""
    from leafmagic.findings import KINDS, RULES

    return (*KINDS, *(rule.code for rule in RULES))


def unknown_kind(word: str) -> str:
    """Return what is wrong with a kind, or an empty string."""
    kinds = known_kinds()
    if word in kinds:
        return ""
    spelled = {kind.lower(): kind for kind in kinds}
    near = [spelled[k] for k in difflib.get_close_matches(word.lower(), spelled, n=3, cutoff=0.5)]
    return f"unknown kind {word!r}" + (f"; did you mean {' or '.join(near)}?" if near else "")


class Subcommands:
    """The words of ``%autograd``; the options are read elsewhere.

    Attributes
    ----------
    shell : InteractiveShell
    name : str
        What the magic is called.
    runner : CellRunner
    always_on : tuple of (Options, str) or None
        Options of always-on mode and the name to bind.
    """

    shell: Any
    name: str
    runner: CellRunner
    always_on: tuple[Options, str] | None

    def nothing_after(self, word: str, tail: str) -> None:
        """Refuse words after one that takes none.

        Raises
        ------
        UsageError
            If there are any.
        """
        if tail.strip():
            raise UsageError(
                f"nothing can follow {word!r}; for an expression write "
                f"%{self.name} ({word} {tail.strip()})"
            )

    def say(self, text: str) -> None:
        """Print a line."""
        print(text)  # noqa: T201

    def switch_on(self, always: tuple[Options, str]) -> None:
        """Trace every cell from the next one on."""
        self.always_on = always
        self.say(f"leafmagic: every cell is traced from the next one on; %{self.name} off ends it")

    def switch_off(self) -> None:
        """Stop that."""
        self.always_on = None
        self.runner.end_all()
        self.say("leafmagic: off")

    def status(self) -> None:
        """Say what is on."""
        options, into = self.always_on or (None, "")
        bound = f", bound to {into}" if into else ""
        self.say(f"every cell: {f'traced, {options}{bound}' if options else 'not traced'}")
        if options:
            self.say(f"but those that measure, by {' or '.join(MEASURING)}")
        trace = self._newest()
        if trace is None:
            self.say("last trace: none yet")
            return
        document = trace.document()
        self.say(
            f"last trace: {document['cell']['label']}, nodes: {len(document['nodes'])}, "
            f"warnings: {len(document['findings'])}"
        )

    def _newest(self) -> Trace | None:
        """Return the last trace; not that of always-on mode of the very cell that asks."""
        current = self.runner.current
        if current is not None and current.automatic and current.trace is last():
            return self.runner.finished
        return last()

    def _last(self) -> Trace:
        trace = self._newest()
        if trace is None:
            raise UsageError(f"there is no trace yet: run a cell with %%{self.name} first")
        return trace

    def report(self, options: Options) -> None:
        """Show the last trace again."""
        show_document(self._last().document(), options.mode, self.shell)

    def save(self, name: str) -> None:
        """Save the last trace to a file."""
        path = Path(name.strip("\"'")).expanduser()
        if path.suffix.lower() not in SUFFIXES:
            raise UsageError(f"save: the file must end in {', '.join(SUFFIXES)}, not {path.name!r}")
        trace = self._last()
        try:
            trace.save(path)
        except OSError as error:
            raise UsageError(f"save: {error}") from None
        self.say(f"leafmagic: saved {path}")

    def fix(self, kind: str) -> None:
        """Put the cell of the last trace, mended, in front of the user as the next cell."""
        if kind and (wrong := unknown_kind(kind)):
            raise UsageError(f"fix: {wrong}")
        trace = self._last()
        try:
            mended = mend_trace(trace, kind or None)
        except ValueError as error:
            raise UsageError(f"fix: {error}") from None
        label = trace.document()["cell"]["label"]
        above = self._above(label, trace.document()["cell"]["source"])
        self.shell.set_next_input(above + mended.text, replace=False)
        said = f"leafmagic: the next cell is {label} with {_listed(mended.applied)} fixed"
        if mended.left:
            left = [f"{_listed([finding])}: {why}" for finding, why in mended.left]
            said += f"; not {'; '.join(left)}"
        self.say(said)

    def _above(self, label: str, source: str) -> str:
        """Return what was typed above the traced text of a cell, such as ``%%time``."""
        found = _NUMBER.match(label)
        raw = getattr(self.shell.history_manager, "input_hist_raw", [])
        typed = raw[int(found[1])].rstrip() if found and int(found[1]) < len(raw) else ""
        body = source.rstrip()
        return typed.removesuffix(body) if body and typed.endswith(body) else ""

    def fixable_kinds(self) -> list[str]:
        """Return the kinds and codes that the last trace found."""
        trace = self._newest()
        found = trace.findings if trace is not None else ()
        return list(dict.fromkeys([*(f.kind for f in found), *(f.code for f in found)]))

    def _evaluate(self, expression: str) -> Any:
        try:
            return self.shell.ev(expression)
        except BaseException as error:
            # This frame, the shell's, and that of the expression, which has no source.
            steps = list(_steps(error))
            files = [step.tb_frame.f_code.co_filename for step in steps]
            inside = steps[files.index("<string>") + 1 :] if "<string>" in files else []
            if isinstance(error, NameError) and not inside:
                takes = f"(%{self.name} takes {', '.join(WORDS)} or EXPR)"
                raise UsageError(f"{error} {takes}") from None
            if isinstance(error, SyntaxError) and not inside:
                raise UsageError(f"not an expression: {expression}") from None
            error.__traceback__ = inside[0] if inside else None
            raise

    def draw(self, expression: str, options: Options) -> None:
        """Draw the graph behind a tensor, or behind a module's parameters."""
        value = spread(self._evaluate(expression), expression)
        tensors = tensors_of(value)
        if not tensors:
            raise UsageError(f"{expression} is neither a tensor nor a module with parameters")
        from leafmagic.api import trace_of

        namespace = dict(self.shell.user_ns)
        if not is_tensor(value):
            # The value itself may have no name: then its parameters go by their paths in it.
            namespace[""] = value
        document = trace_of(tuple(tensors), namespace).document()
        document["cell"]["label"] = expression
        show_document(document, options.mode, self.shell)

    def why(self, expression: str) -> None:
        """Say why the ``.grad`` of a tensor is None."""
        import leafmagic

        value = self._evaluate(expression)
        if not is_tensor(value):
            raise UsageError(f"why: {expression} is not a tensor but {type(value).__name__}")
        self.say(str(leafmagic.why(value, self._newest(), expression)))

    def explain(self, word: str) -> None:
        """Print the page of a kind of warning, or list the kinds."""
        if word and (wrong := unknown_kind(word)):
            raise UsageError(f"explain: {wrong}")
        from leafmagic.findings.pages import pages

        self.say(pages(word))


def _listed(found: list[Finding] | tuple[Finding, ...]) -> str:
    """Return ``"LM101 (line 4), LM201 (line 6)"``."""
    return ", ".join(f.code + (f" (line {f.line})" if f.line else "") for f in found)


def _steps(error: BaseException) -> Iterator[TracebackType]:
    step = error.__traceback__
    while step is not None:
        yield step
        step = step.tb_next


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def spread(value: Any, expression: str) -> Any:
    """Return what an iterator gives, such as that of ``net.parameters()``, in a list or dict.

    One that a variable holds is left alone: the code that comes may want to go through it.

    Raises
    ------
    UsageError
        If it is such a one.
    """
    if not isinstance(value, Iterator):
        return value
    if not expression.rstrip().endswith(")"):
        raise UsageError(
            f"{expression} is an iterator, which drawing would use up; write what makes it, "
            "such as net.parameters()"
        )
    items = list(takewhile(tensors_of, islice(value, _MOST_ITEMS)))
    pairs = [item for item in items if isinstance(item, tuple) and len(item) == 2]
    return dict(pairs) if items and len(pairs) == len(items) else items


def tensors_of(value: Any) -> list[Any]:
    """Return the tensors of a tensor, a module, or a collection of those; each once."""
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    found: dict[int, Any] = {}
    stack, seen = [value], {id(value)}
    while stack:
        item = stack.pop()
        if isinstance(item, torch.nn.Module):
            item = list(item.parameters())
        elif isinstance(item, Mapping):
            item = list(item.values())
        if isinstance(item, torch.Tensor):
            found.setdefault(id(item), item)
        elif isinstance(item, list | tuple | Set | ValuesView):
            inner = [part for part in item if id(part) not in seen]
            seen.update(map(id, inner))
            stack.extend(reversed(inner))
    return list(found.values())
