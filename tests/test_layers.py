"""The layers of docs/decisions.md: every arrow points the right way, checked on the source text."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Modules of the library that may call the pipeline; everything else is a stage of it.
ABOVE_THE_PIPELINE = {
    "__init__", "grading", "cli", "tables", "viva", "lint", "lint_checks", "explain", "advice", "lifecycle", "loading",
    "table_stream", "partitions", "engine_ray"
}  # fmt: skip
PIPELINE = "grader.grading"


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imports(path: Path, *, at_run_time: bool = False) -> Iterator[str]:
    """Full names of what a module imports; with ``at_run_time``, without what only type checkers see."""
    skipped: set[ast.AST] = set()
    tree = ast.parse(path.read_text("utf-8"))
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(tree):
        if at_run_time and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            skipped.update(inner for statement in node.body for inner in ast.walk(statement))
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = [*package[: len(package) - node.level + 1], node.module] if node.level else [node.module]
            name = ".".join(part for part in parts if part)
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names)


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


@pytest.mark.parametrize(
    ("package", "forbidden"), [("grader", ("api", "eval", "tests")), ("api", ("eval", "tests")), ("eval", ("tests",))]
)
def test_arrows_point_the_right_way(package: str, forbidden: tuple[str, ...]) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(package)
        for name in imports(path)
        if any(within(name, layer) for layer in forbidden)
    ]
    assert not wrong


def test_only_what_stands_above_the_pipeline_imports_it() -> None:
    wrong = []
    for path in modules("grader"):
        top = path.relative_to(ROOT / "grader").with_suffix("").parts[0]
        names = set(imports(path, at_run_time=True))
        if top not in ABOVE_THE_PIPELINE and names & {PIPELINE, "grader.Grader"}:
            wrong.append(str(path.relative_to(ROOT)))
    assert not wrong


def test_eval_is_never_imported_by_its_bare_name() -> None:
    wrong = [str(path) for package in ("grader", "api", "eval", "tests") for path in modules(package)
             for node in ast.walk(ast.parse(path.read_text("utf-8")))
             if isinstance(node, ast.Import) and any(alias.name == "eval" for alias in node.names)]  # fmt: skip
    assert not wrong, "eval shadows a builtin: import names from it"


def test_importing_the_library_loads_nothing_heavy() -> None:
    heavy = "{'torch', 'sentence_transformers', 'transformers', 'pandas', 'matplotlib', 'sklearn', 'scipy'}"
    code = f"import sys, grader; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import eval", {"eval"}),
        ("from eval.metrics import qwk as q", {"eval.metrics", "eval.metrics.qwk"}),
        ("def f():\n    import api.app", {"api.app"}),
        ("from .index import x", {"grader.evidence.index", "grader.evidence.index.x"}),
        ("from ..index import x", {"grader.index", "grader.index.x"}),
        ("from .. import api", {"grader", "grader.api"}),
    ],
)
def test_the_walk_sees_every_form_of_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, expected: set[str]
) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "grader" / "evidence" / "x.py"
    path.parent.mkdir(parents=True)
    path.write_text(source, "utf-8")
    assert set(imports(path)) == expected
