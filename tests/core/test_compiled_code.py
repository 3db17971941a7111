"""Code that Numba keeps on disk is found again by the next process, and compiled anew after a change of the source."""

import ast
from pathlib import Path

import pytest

import calibrant

SOURCES = sorted(Path(calibrant.__file__).parent.rglob("*.py"))
MODULES = [path for path in SOURCES if "@numba.njit" in path.read_text("utf-8")]


def is_compiled(node):
    return isinstance(node, ast.FunctionDef) and any("numba.njit" in ast.unparse(d) for d in node.decorator_list)


def names_read(function):
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def made_inside(factory):
    """Return what a function that makes compiled ones defines or assigns; its arguments may be part of them."""
    if not any(map(is_compiled, factory.body)):
        return set()
    assigned = {target.id for node in factory.body if isinstance(node, ast.Assign) for target in node.targets}
    return assigned | {node.name for node in factory.body if isinstance(node, ast.FunctionDef)}


def test_there_are_such_modules():
    assert {"cell_loops.py"} <= {path.name for path in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_loops_read_nothing_of_other_modules_and_call_no_function_made_beside_them(path):
    tree = ast.parse(path.read_text("utf-8"))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("calibrant")
        for alias in node.names
    }
    compiled = [node for node in ast.walk(tree) if is_compiled(node)]
    beside = {name for node in tree.body if isinstance(node, ast.FunctionDef) for name in made_inside(node)}
    for function in compiled:
        assert not names_read(function) & imported, "Numba's cache does not see changes of another module"
        assert not names_read(function) & beside, "Numba's cache never finds a closure over a compiled function again"
