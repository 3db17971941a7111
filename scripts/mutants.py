"""Change one operator or number at a time in the judge, the limits and the counting, and see whether tests fail.

    python scripts/mutants.py [--seed 0] [--number 50] [--list]

The places are drawn at random by `--seed`, the same number in each group of modules. A change that no test notices is
printed as a survivor: a test is missing, or the change has no effect. The sources are copied; the working tree stays as
it is.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
GROUPS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "judge": (
        ("judging/judge.py", ("judging",)),
        ("core/claims.py", ("judging",)),
        ("core/evidence.py", ("judging",)),
        ("probabilities/evidence.py", ("probabilities/test_evidence.py", "judging")),
        ("regions/evidence.py", ("regions/test_evidence.py", "judging")),
    ),
    "limits": (
        ("core/limits.py", ("core/test_limits.py", "probabilities/test_limits.py")),
        ("core/mean_interval.py", ("core/test_mean_interval.py", "core/test_binned.py")),
        ("core/pvalues.py", ("core/test_pvalues.py",)),
        ("probabilities/limits.py", ("probabilities/test_limits.py",)),
    ),
    "counting": (
        ("core/cells.py", ("core/test_cells.py", "core/test_grid.py")),
        ("core/binned.py", ("core/test_binned.py", "core/test_bins.py")),
        ("regions/hits.py", ("regions/test_hits.py", "regions/test_coverage.py")),
        ("ranking/counting.py", ("ranking/test_counting.py", "ranking/test_ranks.py")),
    ),
}
"""Modules of `src/calibrant` and the tests that should notice a change, by group."""
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
LONGEST = 600  # seconds of tests, after which a change counts as noticed


class Mutant(NamedTuple):
    """A change of one node of a module."""

    module: str
    tests: tuple[str, ...]
    place: int  # of the node, in the order of `ast.walk`
    line: int
    change: str


def mutants(module: str, tests: tuple[str, ...]) -> Iterator[Mutant]:
    """Yield every change of a module that could change a result."""
    tree = ast.parse((ROOT / "src/calibrant" / module).read_text(encoding="utf-8"))
    left_out = {id(part) for node in ast.walk(tree) for part in _without_effect(node)}
    for place, node in enumerate(ast.walk(tree)):
        if id(node) in left_out:
            continue
        changed = _changed(node)
        if changed:
            yield Mutant(module, tests, place, getattr(node, "lineno", 0), changed)


def _without_effect(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in annotations and in errors."""
    found = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    if isinstance(node, (ast.Raise, ast.Assert)):
        found.append(node)
    for part in found:
        if part is not None:
            yield from ast.walk(part)


def _changed(node: ast.AST) -> str:
    """Change a node in words; empty if it is left as it is."""
    operator = node.ops[0] if isinstance(node, ast.Compare) else getattr(node, "op", None)
    if isinstance(node, (ast.Compare, ast.BinOp, ast.BoolOp)) and type(operator) in OPERATORS:
        return f"{type(operator).__name__} -> {OPERATORS[type(operator)].__name__}"
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return f"{node.value!r} -> {node.value + 1!r}" if is_number else ""  # type: ignore[attr-defined]


def mutated(mutant: Mutant) -> str:
    """Return the source of a module with the change."""
    tree = ast.parse((ROOT / "src/calibrant" / mutant.module).read_text(encoding="utf-8"))
    node = list(ast.walk(tree))[mutant.place]
    if isinstance(node, ast.Compare):
        node.ops[0] = OPERATORS[type(node.ops[0])]()  # type: ignore[assignment]
    elif isinstance(node, (ast.BinOp, ast.BoolOp)):
        node.op = OPERATORS[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.Constant):
        node.value += 1  # type: ignore[operator]
    return ast.unparse(tree)


def chosen(number: int, seed: int) -> list[Mutant]:
    """Draw the mutants, as many from each group."""
    rng = random.Random(seed)
    found = []
    for place, modules in enumerate(GROUPS.values()):
        every = [mutant for module, tests in modules for mutant in mutants(module, tests)]
        found += rng.sample(every, number * (place + 1) // len(GROUPS) - number * place // len(GROUPS))
    return found


def dies(mutant: Mutant, source: Path) -> bool:
    """Tell whether a test fails with the change."""
    target = source / "calibrant" / mutant.module
    before = target.read_text(encoding="utf-8")
    target.write_text(mutated(mutant), encoding="utf-8")
    tests = [f"tests/{name}" for name in mutant.tests]
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests, str(target)]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, **threads, "PYTHONPATH": str(source)}
    try:
        run = subprocess.run(  # noqa: PLW1510 (a failure is what is looked for)
            [*command, "--doctest-modules", "-W", "ignore"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        target.write_text(before, encoding="utf-8")
    return run.returncode != 0


def main() -> None:
    """Draw mutants, test each, and print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=50)
    parser.add_argument("--list", action="store_true", help="print the mutants and test none")
    options = parser.parse_args()
    drawn = chosen(options.number, options.seed)
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        shutil.copytree(ROOT / "src/calibrant", source / "calibrant")
        for mutant in drawn:
            died = options.list or dies(mutant, source)
            survivors += not died
            print(f"{'' if died else 'SURVIVES '}{mutant.module}:{mutant.line} {mutant.change}", flush=True)
    print(f"{len(drawn) - survivors} of {len(drawn)} noticed")


if __name__ == "__main__":
    main()
