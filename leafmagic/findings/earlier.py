"""The texts of earlier cells, where something of them is looked for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from leafmagic.cell import Place
from leafmagic.findings.customs import CustomFunction, custom_functions
from leafmagic.findings.reaching import texts_at
from leafmagic.findings.source import Source
from leafmagic.model import Model


@lru_cache(maxsize=8)
def cell_text(label: str, text: str) -> Source:
    """Return the parsed text of an earlier cell, as it was typed."""
    # Magics are no Python; what is below keeps its lines.
    lines = ["" if line.startswith(("%", "!")) else line for line in text.split("\n")]
    return Source("\n".join(lines), "", label)


def texts_with(model: Model, word: str, *places: Place | None) -> Iterator[Source]:
    """Yield the texts that hold a word: those of places, then earlier cells, the newest first."""
    yield from (source for source in texts_at(*places) if word in source.text)
    for label, text in model.session.texts(model.run):
        if word in text:
            yield cell_text(label, text)


def function_named(model: Model, name: str, *places: Place | None) -> CustomFunction | None:
    """Return the custom function of a name, as the newest text that defines it has it."""
    for source in texts_with(model, f"class {name}", *places):
        for function in reversed(custom_functions(source)):
            if function.name == name:
                return function
    return None
