"""Content lint: what is wrong with a rubric beyond what loading it finds.

Errors must be mended. Warnings are judgements: a line in the item's ``lint_waivers`` accepts one, with its reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from grader.bank import default_rubrics, parse_rubric, rubric_files
from grader.errors import Problem, RubricError
from grader.grading import Grader
from grader.lint_checks import RULES, Finding, graded_checks, static_checks
from grader.rubric import Item, Location, Waiver
from grader.yamlfile import check_size, line_of

#: Codes of the findings that a waiver may accept.
WAIVABLE = frozenset(code for code, rule in RULES.items() if rule.severity == "warning") - {"unused-waiver"}


def lint(paths: Iterable[str | os.PathLike[str]] = (), grader: Grader | None = None) -> list[Problem]:
    """All problems of the rubric files in ``paths`` (files and folders, by default the bank that ships).

    Args:
        paths: Where to look; folders are searched recursively.
        grader: Grades reference answers and statements; without one only what needs no encoder is checked.

    Raises:
        InputError: A path does not exist, or a folder holds no rubric.
    """
    problems: list[Problem] = []
    owners: dict[str, Path] = {}
    for path in rubric_files([Path(path) for path in paths] or [default_rubrics()]):
        problems += lint_file(path, grader, owners)
    return problems


def lint_file(path: Path, grader: Grader | None = None, owners: dict[str, Path] | None = None) -> list[Problem]:
    """The problems of one rubric file, in the order of its lines.

    Args:
        path: The file.
        grader: As in `lint`.
        owners: Ids and aliases seen so far with their files, to find the ones used twice; this file's are added.
    """
    try:
        check_size(path.stat().st_size, str(path))
    except RubricError as error:
        return list(error.problems)
    problems, found = _examine(path.read_bytes(), grader, str(path))
    if found is None:
        return problems
    item, data = found
    if item.id != path.stem:
        message = f"id '{item.id}' must equal the file name '{path.stem}'"
        problems.append(Problem("file-name", message, str(path), line_of(data, ["id"]), "id"))
    for field, name in [("id", item.id), *(("aliases", alias) for alias in item.aliases)]:
        other = owners.setdefault(name, path) if owners is not None else path
        if other != path:
            message = f"id '{name}' is already used by {other.name}"
            problems.append(Problem("duplicate-id", message, str(path), line_of(data, [field]), field))
    return sorted(problems, key=lambda problem: problem.line)


def lint_text(content: str | bytes, grader: Grader | None = None, *, name: str = "<string>") -> list[Problem]:
    """The problems of the rubric written in ``content``; one that cannot be loaded has only those of loading."""
    return _examine(content, grader, name)[0]


def _examine(content: str | bytes, grader: Grader | None, name: str) -> tuple[list[Problem], tuple[Item, Any] | None]:
    raw = content.decode("utf-8-sig", "replace") if isinstance(content, bytes) else content
    problems = list(_trailing_blanks(raw, name))
    try:
        item, data = parse_rubric(content, name=name)
    except RubricError as error:
        return [*problems, *error.problems], None
    findings = list(dict.fromkeys([*static_checks(item), *(graded_checks(item, grader) if grader else ())]))
    kept, unused = _apply_waivers(item, data, findings, complete=grader is not None)
    problems += [_problem(finding, data, name) for finding in [*kept, *unused]]
    return sorted(problems, key=lambda problem: problem.line), (item, data)


def _trailing_blanks(raw: str, name: str) -> Iterator[Problem]:
    for number, line in enumerate(raw.split("\n"), 1):
        if line.removesuffix("\r").endswith((" ", "\t")):
            yield Problem("trailing-blank", "the line ends with blanks; remove them", name, number, "")


def _apply_waivers(
    item: Item, data: Any, findings: list[Finding], *, complete: bool
) -> tuple[list[Finding], list[Finding]]:
    """The findings that no waiver accepts, and what is wrong with the waivers themselves."""
    kept, used = [], set()
    for finding in findings:
        matching = [at for at, waiver in enumerate(item.lint_waivers) if _covers(waiver, finding, data)]
        used.update(matching)
        if not matching:
            kept.append(finding)
    about_waivers = []
    for at, waiver in enumerate(item.lint_waivers):
        if waiver.code not in WAIVABLE:
            allowed = ", ".join(sorted(WAIVABLE))
            message = f"'{waiver.code}' is no warning that can be waived; allowed: {allowed}"
            about_waivers.append(Finding("unknown-waiver", message, ("lint_waivers", at, "code")))
        elif at not in used and (complete or not RULES[waiver.code].graded):
            message = f"nothing at '{waiver.where}' gives the warning '{waiver.code}'; remove the waiver"
            about_waivers.append(Finding("unused-waiver", message, ("lint_waivers", at, "where")))
    return kept, about_waivers


def _covers(waiver: Waiver, finding: Finding, data: Any) -> bool:
    """Whether the waiver names the finding's field or one above it, list entries by position or by id."""
    if waiver.code != finding.code or finding.code not in WAIVABLE:
        return False
    places = (".".join(map(str, finding.where)), field_name(data, finding.where))
    return any(f"{place}.".startswith(f"{waiver.where.strip()}.") for place in places)


def field_name(data: Any, where: Location) -> str:
    """The dotted path of a field; list entries that have an id are named by it and not by their position."""
    parts, node = [], data
    for part in where:
        try:
            node = node[part]
        except (KeyError, IndexError, TypeError):
            node = None
        named = isinstance(part, int) and isinstance(node, Mapping) and "id" in node
        parts.append(str(node["id"]) if named else str(part))
    return ".".join(parts)


def _problem(finding: Finding, data: Any, name: str) -> Problem:
    plain = [part for part in finding.where if part != "any"]  # a keyword group may be a bare list
    line = max(line_of(data, finding.where), line_of(data, plain))
    severity = RULES[finding.code].severity
    return Problem(finding.code, finding.message, name, line, field_name(data, finding.where), severity)
