"""Measurements of the package's own text: names, folders, and how long its functions are.

`python -m tests.architecture.measure [FOLDER]` prints them for the package, or for another
tree of sources.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "tidemill"

# Participles and pronouns say nothing of what they stand for. They are fine for a few lines.
VAGUE = frozenset(
    "found mine own one some kept held told wanted given whole made those each asked"
    " taken done gone known seen all_ any_ it them these that".split()
)
SHORT_SCOPE_LINES = 5
MODULES_PER_FOLDER = 15
# `command` is the same thing in every file of cli/: the function that its command calls.
_EVERYWHERE = frozenset(("command",))


_INNER_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Binding:
    """A name that is given a value, and how many lines it can be seen in."""

    name: str
    path: Path
    line: int
    scope_lines: int

    @property
    def is_vague(self) -> bool:
        return self.name.strip("_") in VAGUE

    @property
    def breaks_the_rule(self) -> bool:
        return self.is_vague and self.scope_lines > SHORT_SCOPE_LINES


def modules(source: Path) -> list[Path]:
    """The modules of a package, without the fronts of its folders."""
    return [path for path in sorted(source.rglob("*.py")) if path.name != "__init__.py"]


def bindings(source: Path) -> list[Binding]:
    """Every parameter, variable, field, function and class."""
    return [
        binding
        for path in sorted(source.rglob("*.py"))
        for binding in _in_module(path, ast.parse(path.read_text(encoding="utf-8")))
    ]


def _in_module(path: Path, tree: ast.Module) -> Iterator[Binding]:
    for scope, node, name in _names(tree, tree):
        yield Binding(name, path, getattr(node, "lineno", 1), _lines_of(scope))


def _names(scope: ast.AST, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST, str]]:
    """The names that `node` and what is in it bind, each with its scope."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield scope, child, child.name
            yield from _names(child, child)
        elif isinstance(child, _INNER_SCOPES):
            yield from _names(child, child)
        else:
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                yield scope, child, child.id
            elif isinstance(child, ast.arg):
                yield scope, child, child.arg
            yield from _names(scope, child)


def _lines_of(scope: ast.AST) -> int:
    first, last = getattr(scope, "lineno", None), getattr(scope, "end_lineno", None)
    return 10**6 if first is None or last is None else last - first + 1


def vague_share(names: list[Binding]) -> float:
    return sum(binding.is_vague for binding in names) / max(1, len(names))


def names_bound_twice(source: Path) -> dict[str, list[str]]:
    """Public classes, functions and aliases that two modules define, with those modules."""
    homes: Mapping[str, list[str]] = defaultdict(list)
    for path in modules(source):
        for name in _defined(ast.parse(path.read_text(encoding="utf-8"))):
            homes[name].append(path.relative_to(source).as_posix())
    return {name: paths for name, paths in sorted(homes.items()) if len(paths) > 1}


def _defined(tree: ast.Module) -> set[str]:
    names = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign) and not _is_type_variable(node.value):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {name for name in names if not name.startswith("_") and name not in _EVERYWHERE}


def _is_type_variable(value: ast.expr) -> bool:
    function = value.func if isinstance(value, ast.Call) else None
    return isinstance(function, ast.Name) and function.id in ("TypeVar", "ParamSpec")


def folder_sizes(source: Path) -> Counter[str]:
    """Modules that lie directly in each folder."""
    return Counter(path.parent.relative_to(source).as_posix() for path in modules(source))


def function_lines(source: Path) -> list[int]:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in source.rglob("*.py"))
    functions = (
        node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    )
    return sorted(_lines_of(node) for node in functions)


def report(source: Path) -> Iterator[str]:
    paths, names, lines = modules(source), bindings(source), function_lines(source)
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
    yield f"modules {len(paths)}, median lines {lengths[len(lengths) // 2]}"
    yield f"functions: median {lines[len(lines) // 2]}, longest {lines[-1]} lines"
    vague = Counter(binding.name for binding in names if binding.is_vague)
    long = sum(binding.breaks_the_rule for binding in names)
    share = 100 * vague_share(names)
    yield f"vague bindings {sum(vague.values())} of {len(names)} ({share:.2f} %)"
    yield f"  in scopes of over {SHORT_SCOPE_LINES} lines {long}"
    yield "  " + ", ".join(f"{name} {count}" for name, count in vague.most_common(12))
    yield "by folder: " + ", ".join(
        f"{folder} {count}"
        for folder, count in Counter(
            b.path.parent.relative_to(source).as_posix() for b in names if b.is_vague
        ).most_common()
    )
    twice = names_bound_twice(source)
    yield f"names bound twice {len(twice)}"
    yield from (f"  {name}: {', '.join(homes)}" for name, homes in twice.items())
    yield "largest folders: " + ", ".join(
        f"{folder} {count}" for folder, count in folder_sizes(source).most_common(5)
    )


if __name__ == "__main__":
    for line in report(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE):
        print(line)
