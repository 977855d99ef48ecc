"""Rubric files in, items out; every problem is reported with file, line and field."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent

from grader.errors import InputError, Problem, RubricError, UnknownItemError
from grader.rubric import Item, Location

MAX_FILE_BYTES = 1_000_000
_MAX_DEPTH = 30


class Bank(Mapping[str, Item]):
    """Items by id (aliases resolve too), in the order of their ids."""

    def __init__(self, items: Iterable[Item]) -> None:
        """Holds ``items``.

        Raises:
            RubricError: Two items share an id or alias.
        """
        self._items: dict[str, Item] = {}
        self._aliases: dict[str, str] = {}
        problems = []
        for item in sorted(items, key=lambda item: item.id):
            for name in (item.id, *item.aliases):
                if name in self._items or name in self._aliases:
                    message = f"id '{name}' is already used by another item of this bank"
                    problems.append(Problem("duplicate-id", message, f"{item.id}.yaml", 0, "id"))
            self._items[item.id] = item
            self._aliases.update(dict.fromkeys(item.aliases, item.id))
        if problems:
            raise RubricError(problems)

    def __getitem__(self, item_id: str) -> Item:
        key = self._aliases.get(item_id, item_id)
        if key not in self._items:
            from rapidfuzz.process import extract

            near = [name for name, score, _ in extract(str(item_id), list(self._items), limit=3) if score > 60]
            hint = f"; did you mean {', '.join(near)}?" if near else f"; the bank has {len(self._items)} items"
            raise UnknownItemError(f"no item '{item_id}'{hint}")
        return self._items[key]

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._items or item_id in self._aliases

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


def default_rubrics() -> Path:
    """The folder of rubrics that ships with the project."""
    beside = Path(__file__).resolve().parent.parent / "rubrics"
    return beside if beside.is_dir() else Path(__file__).resolve().parent / "_rubrics"


def load_bank(*paths: str | os.PathLike[str]) -> Bank:
    """All items of the given files and folders (searched recursively), by default the bank that ships.

    Raises:
        RubricError: Any file has a problem; all problems of all files are listed.
        InputError: A path does not exist.
    """
    items: list[Item] = []
    problems: list[Problem] = []
    origin: dict[str, Path] = {}
    for path in _rubric_files([Path(path) for path in paths] or [default_rubrics()]):
        try:
            item = load_item(path)
        except RubricError as error:
            problems.extend(error.problems)
            continue
        if item.id in origin:
            message = f"id '{item.id}' is already used by {origin[item.id].name}"
            problems.append(Problem("duplicate-id", message, str(path), 1, "id"))
        elif item.id != path.stem:
            message = f"id '{item.id}' must equal the file name '{path.stem}'"
            problems.append(Problem("file-name", message, str(path), 1, "id"))
        else:
            origin[item.id] = path
            items.append(item)
    if problems:
        raise RubricError(problems)
    return Bank(items)


def _rubric_files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            found = sorted(found for suffix in ("*.yaml", "*.yml") for found in path.rglob(suffix))
            if not found:
                raise InputError(f"{path}: no .yaml files in this folder")
            yield from (file for file in found if file.name != "pack.yaml")
        elif path.is_file():
            yield path
        else:
            raise InputError(f"{path}: no such file or folder")


def load_item(path: str | os.PathLike[str]) -> Item:
    """The item in one rubric file.

    Raises:
        RubricError: The file is not acceptable; every problem has its line and field.
    """
    path = Path(path)
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        message = f"file has {size:,} bytes, at most {MAX_FILE_BYTES:,} are allowed"
        raise RubricError([Problem("file-size", message, str(path), 0, "")])
    return parse_item(path.read_bytes(), name=str(path))


def parse_item(content: str | bytes, *, name: str = "<string>") -> Item:
    """The item written in ``content`` (YAML).

    Raises:
        RubricError: The text is not acceptable; every problem has its line and field.
    """
    data = _parse_yaml(content, name)
    found: list[tuple[Location, str]] = []
    try:
        item = Item.model_validate(data, context={"problems": found})
    except ValidationError as error:
        problems = [
            _problem(data, name, detail["loc"], _wording(detail["type"], detail["msg"], detail["input"]))
            for detail in error.errors(include_url=False)
        ]
        raise RubricError(problems) from None
    if found:
        raise RubricError([_problem(data, name, where, what) for where, what in found])
    return item


def _parse_yaml(content: str | bytes, name: str) -> Any:
    if isinstance(content, bytes):
        try:
            content = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise RubricError([Problem("encoding", "file is not UTF-8", name, line, "")]) from None
    try:
        _refuse_bombs(content, name)
        data = YAML(typ="rt").load(content)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        what = (error.problem or "not valid YAML").strip()
        if "\\t" in what:
            what = "tabs are not allowed for indentation, use blanks"
        raise RubricError([Problem("yaml", what, name, line, "")]) from None
    except RubricError:
        raise
    except (YAMLError, ValueError, RecursionError) as error:
        raise RubricError([Problem("yaml", f"not valid YAML: {error}", name, 0, "")]) from None
    if not isinstance(data, Mapping):
        raise RubricError([Problem("yaml", "a rubric file holds one mapping of fields", name, 1, "")])
    return data


def _refuse_bombs(content: str, name: str) -> None:
    """Aliases and very deep nesting have no use in a rubric and can exhaust memory."""
    depth = 0
    for event in YAML(typ="rt").parse(io.StringIO(content)):
        if isinstance(event, AliasEvent) or getattr(event, "anchor", None):
            line = event.start_mark.line + 1
            raise RubricError([Problem("yaml-alias", "anchors and aliases are not allowed", name, line, "")])
        kind = type(event).__name__
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        if depth > _MAX_DEPTH:
            line = event.start_mark.line + 1
            raise RubricError([Problem("yaml-depth", f"nested deeper than {_MAX_DEPTH} levels", name, line, "")])


def _wording(kind: str, message: str, value: Any) -> str:
    if kind == "extra_forbidden":
        return "unknown field; see docs/rubric-format.md for the fields that exist"
    if kind == "missing":
        return "field is missing"
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return f"{message[0].lower()}{message[1:]}, got {shown}"


def _problem(data: Any, name: str, where: Location, what: str) -> Problem:
    parts = [part for part in where if not (isinstance(part, str) and part.startswith(("function-", "literal[")))]
    return Problem("field", what, name, line_of(data, parts), ".".join(map(str, parts)))


def line_of(data: Any, where: Iterable[str | int]) -> int:
    """Line (from 1) of the field at ``where`` in round-trip YAML data, of its nearest parent if absent."""
    line, node = 1, data
    for part in where:
        try:
            position = node.lc.key(part) if isinstance(node, Mapping) else node.lc.item(part)
            line, node = position[0] + 1, node[part]
        except (AttributeError, KeyError, IndexError, TypeError):
            break
    return line
