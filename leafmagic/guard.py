"""Keep leafmagic's own faults, and its hands, away from the user's cell."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_OURS = "leafmagic: "


def note(text: str) -> None:
    """Say one line in the output of the cell."""
    print(_OURS + text, file=sys.stderr)  # noqa: T201


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """Turn an exception of leafmagic's own into one line; the user's cell goes on."""
    try:
        yield
    except Exception as error:
        said = str(error).strip().partition("\n")[0]
        note(f"{what} failed ({type(error).__name__}: {said}); your code is not affected")


class TracebackHook:
    """Wrap ``shell.showtraceback`` on the instance, and take it off again.

    Parameters
    ----------
    shell : InteractiveShell
    explain : callable, optional
        Gets the exception that is about to be shown.
    muted : bool
        Show nothing: the exception is raised again and shown further out.
    """

    def __init__(
        self,
        shell: Any,
        explain: Callable[[BaseException], None] | None = None,
        *,
        muted: bool = False,
    ) -> None:
        self.shell = shell
        self.explain = explain
        self.muted = muted
        self.own = "showtraceback" in vars(shell)
        self.before = shell.showtraceback
        shell.showtraceback = self

    def __call__(self, exc_tuple: Any = None, *args: Any, **kwargs: Any) -> None:
        """Explain, then show as before."""
        if self.explain is not None:
            error = exc_tuple[1] if exc_tuple is not None else sys.exc_info()[1]
            if isinstance(error, BaseException):
                shown = error.__traceback__
                with guarded("explaining the error"):
                    self.explain(error)
                if exc_tuple is not None and exc_tuple[2] is shown:
                    exc_tuple = (exc_tuple[0], error, error.__traceback__)
        if not self.muted:
            self.before(exc_tuple, *args, **kwargs)

    def remove(self) -> None:
        """Take the wrapper off.

        Where somebody has wrapped ours in the meantime, theirs stays and ours,
        inside it, only passes the call on.
        """
        self.explain = None
        self.muted = False
        if vars(self.shell).get("showtraceback") is not self:
            return
        if self.own:
            self.shell.showtraceback = self.before
        else:
            del self.shell.showtraceback
