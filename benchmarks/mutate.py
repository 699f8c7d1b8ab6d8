"""Mutation run: change the syntax tree of one module at a time, and ask its tests to notice.

    python -m benchmarks.mutate [--modules storage/store serve/http] [--most 40] [--again] [--table]

A mutant is one small change: a condition negated, a comparison swapped, a `raise` or a call left
out, a number changed. It is written into a copy of `src`, so that processes that tests start see it
too, and the tests that mirror the module run until the first one fails. Results are kept in
benchmarks/results/mutation.json by module and digest of its source: what was tried is not tried
again, and a module that changed is begun anew. Not every survivor is a missing test: some mutants
change nothing that anybody can observe.
"""

import argparse
import ast
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src", "realloc")
RESULTS = Path(__file__).parent / "results" / "mutation.json"
MODULES = (
    "base/simplex", "base/artifact", "base/disk", "storage", "batch", "serve",
    "decide/constraints", "decide/conservative", "logs/checks", "monitor",
)  # fmt: skip
SWAPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
CLEAN = "not mutated"
SECONDS = 600  # a mutant may loop for ever; that is noticed too


@dataclass(frozen=True)
class Mutant:
    """One change: what kind, where, and the whole source with it."""

    name: str
    source: str


class Changer(ast.NodeTransformer):
    """Change the node that is visited as number `number`; without one, only list what could be."""

    def __init__(self, number: int = -1, kind: str = "") -> None:
        self.number = number
        self.kind = kind
        self.visited = -1
        self.choices: list[tuple[int, str, str]] = []

    def visit(self, node: ast.AST) -> ast.AST:
        """Number, list and change nodes from the top down."""
        self.visited += 1
        place = f"{getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}"
        self.choices += [(self.visited, place, kind) for kind in kinds_of(node)]
        if self.visited == self.number:
            return changed(node, self.kind)
        return self.generic_visit(node)


def mutants_of(source: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its lines."""
    lister = Changer()
    lister.visit(ast.parse(source))
    mutants = []
    for number, place, kind in lister.choices:
        tree = Changer(number, kind).visit(ast.parse(source))
        text = ast.unparse(ast.fix_missing_locations(tree))
        mutants.append(Mutant(f"{place} {kind}", text))
    return mutants


def kinds_of(node: ast.AST) -> list[str]:
    """How a node may be changed."""
    kinds = []
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        kinds.append("condition negated")
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        kinds.append("comparison swapped")
    if isinstance(node, ast.BoolOp):
        kinds.append("and/or swapped")
    if isinstance(node, ast.Raise):
        kinds.append("raise left out")
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
        kinds.append("call left out")
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        kinds.append("number changed")
    return kinds


def changed(node: ast.AST, kind: str) -> ast.AST:
    """What stands in a node's place."""
    match kind, node:
        case "condition negated", ast.If() | ast.IfExp() | ast.While():
            node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
        case "comparison swapped", ast.Compare():
            node.ops = [SWAPS[type(node.ops[0])]()]
        case "and/or swapped", ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case "raise left out" | "call left out", _:
            return ast.Pass()
        case "number changed", ast.Constant(value=int() | float() as number):
            return ast.Constant(value=number + 1)
        case _:
            raise ValueError(f"Expected a change that fits, got {kind!r} of {node!r}.")
    return node


def modules_in(names: list[str]) -> list[Path]:
    """Modules below folders of the package, or the modules themselves."""
    found = []
    for name in names:
        place = ROOT / PACKAGE / name
        paths = (
            sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
        )
        if not all(path.is_file() for path in paths):
            raise SystemExit(f"Expected a folder or module of {PACKAGE}, got {name!r}.")
        found += [path for path in paths if path.name != "__init__.py"]
    return [path.relative_to(ROOT / PACKAGE) for path in found]


def tests_of(module: Path) -> list[str]:
    """The test file that mirrors a module, or else the tests of its folder."""
    mirror = ROOT / "tests" / module.parent / f"test_{module.name}"
    place = mirror if mirror.exists() else mirror.parent
    return [str(place.relative_to(ROOT))] if place.exists() else []


def run_tests(tests: list[str], source: Path) -> int | None:
    """Exit code of pytest with the package below `source`; None if it took too long."""
    options = ["-x", "-q", "-n0", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    path = os.pathsep.join([str(source), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    try:
        return subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            check=False,
            timeout=SECONDS,
        ).returncode
    except subprocess.TimeoutExpired:
        return None


def try_module(
    module: Path, most: int, copied: Path, kept: dict[str, str]
) -> dict[str, str]:
    """Try mutants that `kept` does not know yet: their names → killed, survived or timeout."""
    target = copied / "realloc" / module
    source = target.read_text()
    tests = tests_of(module)
    mutants = mutants_of(source)
    random.Random(str(module)).shuffle(mutants)
    try:
        if tests and CLEAN not in kept:
            kept[CLEAN] = "passes" if run_tests(tests, copied) == 0 else "fails"
        if kept.get(CLEAN) != "passes":
            return kept
        for mutant in mutants[:most]:
            if mutant.name not in kept:
                target.write_text(mutant.source)
                code = run_tests(tests, copied)
                outcome = {None: "timeout", 0: "survived"}.get(code, "killed")
                kept[mutant.name] = outcome
                print(f"{module}:{mutant.name}: {outcome}", flush=True)
    finally:
        target.write_text(source)
    return kept


def as_table(results: dict[str, dict]) -> str:
    """Counts for each module, then the survivors with their lines."""
    lines = ["| module | mutants | noticed | survived |", "|---|---|---|---|"]
    survivors = []
    total: Counter[str] = Counter()
    for module, result in sorted(results.items()):
        outcomes = {name: end for name, end in result["mutants"].items() if name != CLEAN}
        counts = Counter(outcomes.values())
        total += counts
        noticed = counts["killed"] + counts["timeout"]
        lines.append(f"| {module} | {len(outcomes)} | {noticed} | {counts['survived']} |")
        if result["mutants"].get(CLEAN) != "passes":
            survivors.append(
                f"{module}: its tests fail, or there are none; nothing was tried"
            )
        survivors += [
            f"{module}:{name}" for name, end in outcomes.items() if end == "survived"
        ]
    noticed = total["killed"] + total["timeout"]
    lines.append(f"| all | {sum(total.values())} | {noticed} | {total['survived']} |")
    return "\n".join([*lines, "", *survivors])


def main() -> None:
    """Try what is missing, keeping every module's results as soon as they are there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--modules", nargs="+", default=list(MODULES), help="folders or modules"
    )
    parser.add_argument("--most", type=int, default=20, help="mutants of each module")
    parser.add_argument("--again", action="store_true", help="also what was tried already")
    parser.add_argument("--table", action="store_true", help="only print what is known")
    given = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if given.table:
        print(as_table(results))
        return
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, "src")
        shutil.copytree(ROOT / "src", copied, ignore=shutil.ignore_patterns("__pycache__"))
        for module in modules_in(given.modules):
            digest = hashlib.sha256((ROOT / PACKAGE / module).read_bytes()).hexdigest()[:16]
            former = results.get(str(module), {})
            fresh = given.again or former.get("digest") != digest
            kept = {} if fresh else dict(former["mutants"])
            results[str(module)] = {
                "digest": digest,
                "mutants": try_module(module, given.most, copied, kept),
            }
            RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    print(as_table(results))


if __name__ == "__main__":
    main()
