"""Looking, while the code runs, at what grows from step to step.

A few times in the life of a loop: the third time that a backward pass came to its end,
the fourth, the sixth, and then ever more rarely.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from leafmagic.holders import held_events
from leafmagic.log import EventLog
from leafmagic.looks import StepsShown

DUE = frozenset((3, *(1 << power for power in range(2, 40))))
"""3, 4, 8, 16, 32, ...: what grows shows in the third step, or in the one after it."""


class Watchdog:
    """Records what the namespace holds when it is time to.

    Parameters
    ----------
    log : EventLog
    namespace : callable
        Returns where the variables live.
    """

    def __init__(self, log: EventLog, namespace: Callable[[], Mapping[str, Any]]) -> None:
        self._log = log
        self._namespace = namespace
        self._times: dict[int, int] = {}

    def passed(self, site: int) -> None:
        """Take in that a backward pass returned."""
        times = self._times[site] = self._times.get(site, 0) + 1
        if times in DUE:
            self._log.extend(held_events(self._namespace(), self._log.next_ordinal, running=True))
            self._log.emit(StepsShown(self._log.next_ordinal(), site, times))
