"""How well mistakes are told. Run: python tests/benchmarks/diagnosis.py [--kind K] [--failing]

Every case under tests/cases is run three times in a real shell: by torch alone, under
torch's anomaly detection, and with leafmagic. Counted are the mistakes of which

- said: anything was said. Torch: an error or a warning. leafmagic: a finding;
- line: the causing line was pointed at. Torch: the innermost line of the cell in the
  traceback, the line of a warning, or the last in anomaly detection's forward trace;
- name: the variable was named, as a word or in quotes;
- fix: leafmagic only, the kind and the line were right and a fix came with them;
- found: kind, line, name and fix are right in one finding, as tests/tracer/test_cases.py
  wants it.

Then the false alarms: warnings and errors about code that is right, repaired code included.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from casefiles import Case, load
from casejudge import Verdict, of_leafmagic, of_torch, torch_alarms
from caserun import CaseShell, Ran

TOOLS: dict[str, tuple[dict[str, bool], Callable[[Case, Ran], Verdict], tuple[str, ...]]] = {
    "torch": ({"traced": False}, of_torch, ("said", "line", "name")),
    "anomaly": ({"traced": False, "anomaly": True}, of_torch, ("said", "line", "name")),
    "leafmagic": ({"traced": True}, of_leafmagic, ("said", "line", "name", "fix", "found")),
}
WIDTH = 6


def run_all(cases: list[Case]) -> dict[str, dict[str, Ran]]:
    """Run every case with every tool; a fixed section goes by the id ``ID=fixed``."""
    every: dict[str, dict[str, Ran]] = {}
    for tool, (settings, _, _) in TOOLS.items():
        ran = every[tool] = {}
        with CaseShell(**settings) as shell:
            for case in cases:
                ran[case.id] = shell.run(case.cells)
                if case.fixed:
                    ran[f"{case.id}=fixed"] = shell.run(case.fixed)
    return every


def row(label: str, total: int | str, counts: dict[str, list[int | str]]) -> str:
    cells = ["".join(f"{n!s:>{WIDTH}}" for n in counts[tool]) for tool in TOOLS]
    return f"{label:<24}{total!s:>5} |" + " |".join(cells)


def totals(cases: list[Case], every: dict[str, dict[str, Ran]]) -> dict[str, list[int | str]]:
    found: dict[str, list[int | str]] = {}
    for tool, (_, judge, columns) in TOOLS.items():
        verdicts = [list(judge(case, every[tool][case.id])) for case in cases]
        found[tool] = [sum(v[i] for v in verdicts) for i in range(len(columns))]
    return found


def table(mistakes: list[Case], every: dict[str, dict[str, Ran]]) -> None:
    widths = {tool: WIDTH * len(columns) for tool, (_, _, columns) in TOOLS.items()}
    print(" " * 29 + " |" + " |".join(f"{tool:>{widths[tool]}}" for tool in TOOLS))
    print(row("kind", "n", {tool: list(columns) for tool, (_, _, columns) in TOOLS.items()}))
    counts = Counter(case.kind for case in mistakes)
    for kind, n in sorted(counts.items()):
        print(row(kind, n, totals([c for c in mistakes if c.kind == kind], every)))
    print(row("all", len(mistakes), totals(mistakes, every)))


def alarms(cases: list[Case], every: dict[str, dict[str, Ran]]) -> None:
    right = [case.id for case in cases if case.quiet]
    right += [f"{case.id}=fixed" for case in cases if case.fixed]
    told = {
        tool: [i for i in right if (torch_alarms(ran[i]) if tool != "leafmagic" else ran[i].alarms)]
        for tool, ran in every.items()
    }
    counts = ", ".join(f"{tool} {len(ids)}" for tool, ids in told.items())
    print(f"\nfalse alarms on {len(right)} pieces of right code: {counts}")
    if told["leafmagic"]:
        print("leafmagic on", ", ".join(told["leafmagic"]))
    notes = [f"{i}: {note}" for i, ran in every["leafmagic"].items() for note in ran.notes]
    for note in notes:
        print(note)


def detail(case: Case, every: dict[str, dict[str, Ran]]) -> None:
    """Print what was to be said of a mistake, and what each tool said."""
    where = f"cell {case.cause.cell}, line {case.cause.line}" if case.cause else "anywhere"
    aim = "nothing" if case.quiet else f"{case.kind}, {where}, `{case.variable}`"
    print(f"\n{case.id}  {case.title}\n  wanted: {aim}\n          {case.says}")
    for tool, (_, judge, columns) in TOOLS.items():
        ran = every[tool][case.id]
        if tool == "leafmagic":
            said = [
                f"{f.finding.kind} ({f.finding.severity}), "
                f"{f'cell {f.spot.cell}, line {f.spot.line}' if f.spot else 'no line'}, "
                f"`{f.finding.variable}`: {f.finding.message} Fix: {f.finding.fix}"
                for f in ran.found
            ]
        else:
            said = [text.partition("\n")[0][:160] for text in ran.said]
        marks = [c for c, yes in zip(columns, judge(case, ran), strict=False) if yes]
        score = "" if case.quiet else f" [{' '.join(marks) or '-'}]"
        print(f"  {tool}{score}: " + ("\n    ".join(["", *said]) if said else "nothing"))


def main() -> None:
    parser = argparse.ArgumentParser(description="How well mistakes are told.")
    parser.add_argument("--kind", help="only this kind, with the details of every case")
    parser.add_argument("--failing", action="store_true", help="details of what is not found")
    args = parser.parse_args()
    cases = [case for case in load() if args.kind in (None, case.kind)]
    if not cases:
        parser.error(f"there is no kind {args.kind}")
    every = run_all(cases)
    mistakes = [case for case in cases if not case.quiet]
    table(mistakes, every)
    alarms(cases, every)
    for case in cases:
        ran = every["leafmagic"][case.id]
        missed = bool(ran.alarms) if case.quiet else not of_leafmagic(case, ran).found
        if missed if args.failing else args.kind:
            detail(case, every)


if __name__ == "__main__":
    main()
