"""``%%autograd`` and ``%autograd``: read the options and hand the work on."""

from __future__ import annotations

import argparse
import keyword
import sys
from collections.abc import Callable
from typing import Any, cast

from IPython.core.completer import SimpleCompletion, context_matcher
from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments
from traitlets import Bool, Enum, Float, List, TraitError, Unicode, validate

from leafmagic.cellrun import CellRunner
from leafmagic.options import GRADS, MODES, Grads, Mode, Options
from leafmagic.subcommands import WORDS, Subcommands, known_kinds, unknown_kind

_FLAGS = ("--strict", "--no-strict", "--histogram", "--no-histogram")
_VALUES = {"--mode": MODES, "--grads": GRADS}
_OPTIONS = ("--into", "--mode", *_FLAGS, "--ignore", "--retain", "--grads", "--share")


@magics_class
class LeafMagic(Subcommands, Magics):
    """Defaults for the options of ``%%autograd``."""

    magics: dict[str, dict[str, Any]]

    mode = Enum(MODES, default_value="auto", help="What is shown.").tag(config=True)
    strict = Bool(False, help="Whether warnings fail the cell.").tag(config=True)
    ignore = List(Unicode(), help="Kinds of warnings to leave out.").tag(config=True)
    retain = List(Unicode(), help="Variables to call retain_grad() on.").tag(config=True)
    grads = Enum(GRADS, default_value="auto", help="When gradients are measured.").tag(config=True)
    share = Float(2.0, help="Percentage of the time that measuring takes at most.").tag(config=True)
    histogram = Bool(False, help="Whether elements are counted by their power of ten.").tag(
        config=True
    )
    into = Unicode("", help="Variable that gets the trace.").tag(config=True)

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.name = "autograd"
        self.always_on: tuple[Options, str] | None = None
        self.runner = CellRunner(shell, lambda: self.always_on, lambda: self.mode)

    def take_name(self, name: str) -> None:
        """Offer the magics under another name; only before they are registered."""
        self.magics = {kind: {name: table["autograd"]} for kind, table in self.magics.items()}
        self.name = name

    def owns(self, kind: str) -> bool:
        """Whether the magic of that kind, ``"line"`` or ``"cell"``, is still this one."""
        there = self.shell.magics_manager.magics[kind].get(self.name)
        return there is not None and there == self.magics[kind][self.name]

    @validate("ignore")
    def _known(self, proposal: Any) -> Any:
        for word in proposal["value"]:
            if wrong := unknown_kind(word):
                raise TraitError(f"ignore: {wrong}")
        return proposal["value"]

    @validate("into")
    def _bindable(self, proposal: Any) -> Any:
        if proposal["value"] and not is_variable(proposal["value"]):
            raise TraitError(f"into: {proposal['value']!r} is not a variable name")
        return proposal["value"]

    # Options.

    def read(self, words: list[str]) -> tuple[Options, str]:
        """Turn the words of an option line into options and the name to bind.

        Raises
        ------
        UsageError
            If a word is not an option, or not a value of its option.
        """
        given = LeafMagic.cell.parser.parse_args(words)
        ignore, retain = given.ignore or [], given.retain or []
        for word in ignore:
            if wrong := unknown_kind(word):
                raise UsageError(f"--ignore: {wrong}")
        into = self.into if given.into is None else given.into
        for option, names in (("--into", [into] if into else []), ("--retain", retain)):
            for name in names:
                if not is_variable(name):
                    raise UsageError(f"{option}: {name!r} is not a variable name")
        share = self.share if given.share is None else given.share
        if not 0 < share <= 100:
            raise UsageError(f"--share: {share:g} is not above 0 and at most 100")
        options = Options(
            mode=cast(Mode, given.mode or self.mode),
            strict=self.strict if given.strict is None else given.strict,
            ignore=(*self.ignore, *ignore),
            retain=(*self.retain, *retain),
            grads=cast(Grads, given.grads or self.grads),
            share=share,
            histogram=self.histogram if given.histogram is None else given.histogram,
        )
        return options, into

    # The cell magic.

    def begin(self, line: str) -> None:
        """Begin the trace of the cell that is running; its line 1 calls this."""
        options, into = self.read(line.split())
        filename = sys._getframe(1).f_code.co_filename
        asked = tuple(name for name in options.retain if name not in self.retain)
        self.runner.begin(f"{self.name} {line}", options, into, filename, asked)

    @no_var_expand
    @magic_arguments("autograd")
    @argument("--into", metavar="NAME", help="bind the trace to this variable")
    @argument("--mode", choices=MODES, help="what is shown; auto: widget in a notebook, else text")
    @argument(
        "--strict",
        action=argparse.BooleanOptionalAction,
        help="fail the cell, after it ran, if there are errors or warnings",
    )
    @argument("--ignore", metavar="KIND", action="append", help="leave out a kind of warning")
    @argument("--retain", metavar="NAME", action="append", help="call retain_grad() on a variable")
    @argument("--grads", choices=GRADS, help="when gradients are measured")
    @argument("--share", type=float, metavar="PERCENT", help="time that measuring takes at most")
    @argument(
        "--histogram",
        action=argparse.BooleanOptionalAction,
        help="count the elements of gradients by their power of ten, too",
    )
    @cell_magic("autograd")
    def cell(self, line: str, cell: str) -> None:
        """Run the cell and show its autograd graph as it grows.

        The cell runs as it would without this line: await, Out, tracebacks and
        other magics behave as ever. --ignore and --retain can be given repeatedly.
        Defaults for all options: %config LeafMagic
        """
        __tracebackhide__ = True  # IPython leaves such frames out
        # A cell reaches this function only where the input transformer was not asked:
        # on the first use of a lazily loaded magic, and from exported scripts.
        self.read(line.split())
        self.runner.run_nested(f"%%{self.name} {line}".rstrip() + "\n" + cell)

    # The line magic.

    @no_var_expand
    @line_magic("autograd")
    def line(self, line: str) -> None:
        """Look at autograd graphs, and switch tracing on for every cell.

        ::

            %autograd [--mode M] EXPR    draw the graph behind a tensor, or behind a
                                         module's parameters, after the fact
            %autograd why EXPR           why .grad of this tensor is None
            %autograd report             show the last trace again
            %autograd save FILE          save the last trace: .svg .html .json .dot
            %autograd on [options]       trace every cell from the next one on
            %autograd off                stop that
            %autograd status             say what is on
            %autograd explain [KIND]     show the page of a kind of warning; list the kinds
            %autograd fix [KIND]         put the last traced cell, with its fixes applied,
                                         below as the next cell; it is not run

        These words come first. An expression that begins with one of them, such as
        a variable called ``report``, is written in parentheses: ``%autograd (report)``.
        """
        try:
            self._run_line(line)
        except BaseException as error:
            from leafmagic.callers import step_aside

            step_aside(error)
            raise

    def _run_line(self, line: str) -> None:
        words, rest = peel_options(line)
        word, _, tail = rest.partition(" ")
        if word == "on":
            more, left = peel_options(tail)
            self.nothing_after(word, left)
            self.switch_on(self.read([*words, *more]))
            return
        options, _ = self.read(words)
        given = {"why": self.why, "save": self.save, "explain": self.explain, "fix": self.fix}
        if word in given:
            if not tail.strip() and word in ("why", "save"):
                raise UsageError(f"%{self.name} {word} needs {'EXPR' if word == 'why' else 'FILE'}")
            given[word](tail.strip())
        elif word in WORDS or not word:
            self.nothing_after(word, tail)
            if word == "off":
                self.switch_off()
            elif word == "report":
                self.report(options)
            else:
                self.status()
        else:
            self.draw(rest, options)

    # Completion.

    @context_matcher()
    def complete(self, context: Any) -> dict[str, Any]:
        """Complete an option, its value, a word or a variable (IPython's matcher, version 2).

        The older ``complete_command`` hook would let Jedi mix Python's keywords in.
        """
        before = context.text_until_cursor
        token = context.token
        found: list[str] = []
        if before.lstrip().split(" ")[0] in (f"%{self.name}", f"%%{self.name}") and " " in before:
            words = before[: len(before) - len(token)].replace("=", " ").split()
            found = [word for word in self._candidates(words, token) if word.startswith(token)]
        completions = [SimpleCompletion(text=word, type="magic") for word in found]
        return {"completions": completions, "suppress": bool(found)}

    def _candidates(self, words: list[str], token: str) -> list[str]:
        variables = [n for n in self.shell.user_ns if n.isidentifier() and n[0] != "_"]
        previous = words[-1]
        if previous in _VALUES:
            return list(_VALUES[previous])
        if previous in ("--ignore", "explain"):
            return list(known_kinds())
        if previous in ("--retain", "--into", "why"):
            return variables
        if previous == "fix" and len(words) == 2:
            return self.fixable_kinds()
        if token.startswith("-") or words[0].startswith("%%"):
            return list(_OPTIONS)
        if len(words) == 1 and "." not in token:
            return [*WORDS, *variables, *_OPTIONS]
        return []


def make_magics(shell: Any, say: Callable[[str], None]) -> LeafMagic:
    """Make the magics, without those of the configured values that are not allowed.

    IPython keeps what ``%config`` was given, also where the trait has refused it.
    """
    magics = _try_magics(shell)
    if magics is not None:
        return magics
    section = shell.config.LeafMagic
    given = dict(section)
    section.clear()
    for key, value in given.items():
        section[key] = value
        trial = _try_magics(shell)
        if trial is None:
            say(f"LeafMagic.{key} = {value!r} is not allowed and is left out")
            del section[key]
        else:
            shell.configurables.remove(trial)
    return LeafMagic(shell)


def _try_magics(shell: Any) -> LeafMagic | None:
    there = len(shell.configurables)
    try:
        return LeafMagic(shell)
    except TraitError:
        del shell.configurables[there:]  # the half-made one is listed already
        return None


def is_variable(name: str) -> bool:
    """Whether a word can be assigned to."""
    return name.isidentifier() and not keyword.iskeyword(name)


def peel_options(line: str) -> tuple[list[str], str]:
    """Split the options off the front of a line; the rest stays as it is written."""
    words: list[str] = []
    rest = line.strip()
    while rest.startswith("--"):
        word, _, rest = rest.partition(" ")
        words.append(word)
        rest = rest.lstrip()
        if "=" not in word and word not in _FLAGS and rest:
            value, _, rest = rest.partition(" ")
            words.append(value)
            rest = rest.lstrip()
    return words, rest
