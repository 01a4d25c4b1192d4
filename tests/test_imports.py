"""No module imports itself, however far around: imports in functions and for type checking count."""

import ast
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "adjudge"


def imports(root):
    """Return {module: the modules of the package that it imports}, wherever in the file an import stands."""
    trees = {}
    for path in sorted(root.rglob("*.py")):
        parts = (root.name, *path.relative_to(root).with_suffix("").parts)
        trees[".".join(parts).removesuffix(".__init__")] = ast.parse(path.read_text())
    edges = {}
    for module, tree in trees.items():
        names = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{module}: import by the full name, not relative to the file"
                full = {f"{node.module}.{alias.name}" for alias in node.names}
                names |= {name if name in trees else node.module for name in full}
        edges[module] = (names & trees.keys()) - {module}
    return edges


def cycle(edges):
    """Return the modules of a cycle in the order in which they import each other, or none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return error.args[1][::-1]
    return []


def test_no_import_cycle():
    """Not one, lazy and type-only imports counted; the message names the modules on the way round."""
    around = cycle(imports(ROOT))
    assert not around, f"import cycle: {' imports '.join(around)}"


def test_a_cycle_is_found_and_named(tmp_path):
    """A lazy import and one for type checking alone make a cycle; its modules are named in order."""
    (tmp_path / "house").mkdir()
    files = {
        "a": "from house import b",
        "b": "def later():\n    from house.c import x",
        "c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import house.a",
        "d": "import house.a, os",
        "__init__": "from house.d import x",
    }
    for name, text in files.items():
        (tmp_path / "house" / f"{name}.py").write_text(text)
    edges = imports(tmp_path / "house")
    assert edges["house"] == {"house.d"}
    around = cycle(edges)
    assert around[0] == around[-1]
    assert all(after in edges[module] for module, after in pairwise(around))
    assert set(around) == {"house.a", "house.b", "house.c"}
