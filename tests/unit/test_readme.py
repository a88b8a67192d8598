"""The README says what is: options, words, kinds, states, modules, extras."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_architecture import MAY_IMPORT

from leafmagic.findings import RULES
from leafmagic.graph import STATES
from leafmagic.magics import _OPTIONS
from leafmagic.subcommands import WORDS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found, f"there is no section {title}"
    return found.group(1)


def first_column(text: str) -> list[str]:
    return [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]


def test_every_warning_has_its_row() -> None:
    rows = re.findall(r"^\| (LM\d+) \| `(\w+)` \|", section("The warnings"), re.MULTILINE)
    assert rows == sorted((rule.code, rule.kind) for rule in RULES)


def test_every_option_and_every_word_has_its_row() -> None:
    magics = section("The magics")
    for option in _OPTIONS:
        assert f"`{option}" in magics, option
    for word in WORDS:
        assert f"`%autograd {word}" in magics, word


def test_every_state_has_its_row() -> None:
    rows = first_column(section("What the states look like"))
    assert set(rows) - {"state"} == set(STATES) - {"op"}


def test_every_module_has_its_room() -> None:
    rows = re.findall(r"^\| [\w' ]+ \| (`.*?`) \|", section("Architecture"), re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(set(MAY_IMPORT) - {"__init__"})


def test_rooms_import_from_above_or_from_themselves() -> None:
    rows = re.findall(r"^\| [\w' ]+ \| (`.*?`) \|", section("Architecture"), re.MULTILINE)
    rank = {name: at for at, row in enumerate(rows) for name in re.findall(r"`(\w+)`", row)}
    upward = [
        f"{name} imports {target}"
        for name, targets in MAY_IMPORT.items()
        for target in targets
        if rank.get(target, 0) > rank.get(name, len(rows))
    ]
    assert upward == []


@pytest.mark.parametrize("link", sorted(set(re.findall(r'(?:src|srcset)="([^"]+)"', README))))
def test_pictures_are_there_and_small(link: str) -> None:
    assert (ROOT / link).stat().st_size < 150_000


def test_no_place_of_this_machine() -> None:
    assert not re.search(r"/(?:home|root|work|tmp|opt)/", README)
