"""Rubric files in, items out; every problem is reported with file, line and field."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from grader.errors import InputError, Problem, RubricError, UnknownItemError
from grader.rubric import Item, Location
from grader.yamlfile import check_size, field_problem, found_problems, parse_yaml, place

#: The manifest of a pack; every other YAML file in a pack's folder is an item.
MANIFEST = "pack.yaml"


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


def installed_packs() -> Path:
    """The folder that packs are installed in: ``GRADER_PACKS``, else ``grader/packs`` among the user's data files."""
    chosen = os.environ.get("GRADER_PACKS")
    if chosen:
        return Path(chosen)
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "grader" / "packs"


def default_places() -> list[Path]:
    """Where items are looked for when no place is named: what ships, then what was installed."""
    installed = installed_packs()
    has_items = installed.is_dir() and any(installed.glob("[!.]*/*.yaml"))
    return [default_rubrics(), *([installed] if has_items else [])]


def load_bank(*paths: str | os.PathLike[str]) -> Bank:
    """All items of the given files and folders (searched recursively), by default what ships and what is installed.

    Raises:
        RubricError: Any file has a problem; all problems of all files are listed.
        InputError: A path does not exist.
    """
    items: list[Item] = []
    problems: list[Problem] = []
    origin: dict[str, Path] = {}
    for path in rubric_files([Path(path) for path in paths] or default_places()):
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
            yield from (file for file in found if file.name != MANIFEST and not _hidden(file.relative_to(path)))
        elif path.is_file():
            yield path
        else:
            raise InputError(f"{path}: no such file or folder")


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def load_item(path: str | os.PathLike[str]) -> Item:
    """The item in one rubric file.

    Raises:
        RubricError: The file is not acceptable; every problem has its line and field.
        InputError: There is no such file.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    check_size(path.stat().st_size, str(path))
    return _parsed(path.read_bytes(), str(path))


@lru_cache(maxsize=512)
def _parsed(content: bytes, name: str) -> Item:
    """Reading YAML takes a tenth of a second a file; items are frozen and may be shared."""
    return parse_item(content, name=name)


def parse_item(content: str | bytes, *, name: str = "<string>") -> Item:
    """The item written in ``content`` (YAML).

    Raises:
        RubricError: The text is not acceptable; every problem has its line and field.
    """
    return parse_rubric(content, name=name)[0]


def parse_rubric(content: str | bytes, *, name: str = "<string>") -> tuple[Item, Any]:
    """The item written in ``content`` (YAML) and the round-trip data it came from, for `yamlfile.line_of`.

    Raises:
        RubricError: The text is not acceptable; every problem has its line and field.
    """
    data = parse_yaml(content, name)
    found: list[tuple[Location, str]] = []
    try:
        item = Item.model_validate(data, context={"problems": found})
    except ValidationError as error:
        details = error.errors(include_url=False)
        found = found_problems(details)
        found += _further_problems(data, details)
    if found:
        by_place: dict[Location, str] = {}
        for where, what in found:
            by_place.setdefault(where, what)
        raise RubricError([field_problem(data, name, where, what) for where, what in by_place.items()])
    return item, data


def _further_problems(data: Any, details: Sequence[Mapping[str, Any]]) -> list[tuple[Location, str]]:
    """Contradictions between fields that show when the fields that failed are left out or filled in."""
    rest = _plain(data)
    for count, detail in enumerate(details):
        if not place(detail["loc"]):  # the whole is not acceptable, such as half a character in the name of a field
            return []
        *parents, last = place(detail["loc"])
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
