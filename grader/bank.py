"""Rubric files in, items out; every problem is reported with file, line and field."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_MAX_VALUES = 20_000


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
    for path in rubric_files([Path(path) for path in paths] or [default_rubrics()]):
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


def rubric_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The rubric files that ``paths`` name, folders searched recursively, in a fixed order.

    Raises:
        InputError: A path does not exist, or a folder holds no rubric.
    """
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
        InputError: There is no such file.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
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
    return parse_rubric(content, name=name)[0]


def parse_rubric(content: str | bytes, *, name: str = "<string>") -> tuple[Item, Any]:
    """The item written in ``content`` (YAML) and the round-trip data it came from, for `line_of`.

    Raises:
        RubricError: The text is not acceptable; every problem has its line and field.
    """
    data = _parse_yaml(content, name)
    found: list[tuple[Location, str]] = []
    try:
        item = Item.model_validate(data, context={"problems": found})
    except ValidationError as error:
        details = error.errors(include_url=False)
        found = [(_place(d["loc"]), _wording(d["type"], d["msg"], d["input"])) for d in details]
        found += _further_problems(data, details)
    if found:
        by_place: dict[Location, str] = {}
        for where, what in found:
            by_place.setdefault(where, what)
        raise RubricError([_problem(data, name, where, what) for where, what in by_place.items()])
    return item, data


def _further_problems(data: Any, details: Sequence[Mapping[str, Any]]) -> list[tuple[Location, str]]:
    """Contradictions between fields that show when the fields that failed are left out or filled in."""
    rest = _plain(data)
    for count, detail in enumerate(details):
        *parents, last = _place(detail["loc"])
        node = rest
        try:
            for part in parents:
                node = node[part]
            if detail["type"] == "missing" or detail["type"].startswith("string_"):
                node[last] = f"placeholder{count}"
            elif isinstance(node, dict):
                del node[last]
            else:
                return []
        except (KeyError, IndexError, TypeError):
            return []
    found: list[tuple[Location, str]] = []
    try:
        Item.model_validate(rest, context={"problems": found})
    except ValidationError:
        return []
    return found


def _plain(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {key: _plain(value) for key, value in data.items()}
    return [_plain(value) for value in data] if isinstance(data, list) else data


def _parse_yaml(content: str | bytes, name: str) -> Any:
    if isinstance(content, bytes):
        raw = content
        try:
            content = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw[: error.start].count(b"\n") + 1
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
        at = getattr(error, "position", None)
        line = content[:at].count("\n") + 1 if isinstance(at, int) else 0
        what = str(error).partition("\n")[0]
        raise RubricError([Problem("yaml", f"not valid YAML: {what}", name, line, "")]) from None
    if not isinstance(data, Mapping):
        raise RubricError([Problem("yaml", "a rubric file holds one mapping of fields", name, 1, "")])
    return data


def _refuse_bombs(content: str, name: str) -> None:
    """Aliases, very deep nesting and very many values have no use in a rubric and can exhaust memory or time."""
    depth = 0
    for count, event in enumerate(YAML(typ="rt").parse(io.StringIO(content))):
        if count > _MAX_VALUES:
            line = event.start_mark.line + 1
            raise RubricError([Problem("yaml-size", f"more than {_MAX_VALUES:,} values", name, line, "")])
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
    if kind == "literal_error" and message.startswith("Input should be 'any' or 'all'"):
        message = "Input should be 'any', 'all' or a whole number from 1"
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return f"{message[0].lower()}{message[1:]}, got {shown}"


def _place(where: Location) -> Location:
    """Where a problem is, without the steps that pydantic adds for unions and validators."""
    added = ("function-", "literal[", "constrained-")
    return tuple(part for part in where if not (isinstance(part, str) and part.startswith(added)))


def _problem(data: Any, name: str, where: Location, what: str) -> Problem:
    return Problem("field", what, name, line_of(data, where), ".".join(map(str, where)))


def line_of(data: Any, where: Iterable[str | int]) -> int:
    """Line (from 1) of the field at ``where`` in round-trip YAML data, of its nearest parent if absent."""
    line, node = 1, data
    for part in where:
        try:
            marks: Any = node.lc
            position = marks.key(part) if isinstance(node, Mapping) else marks.item(part)
            line, node = position[0] + 1, node[part]
        except (AttributeError, KeyError, IndexError, TypeError):
            break
    return line
