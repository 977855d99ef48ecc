"""YAML in, plain data or problems with file, line and field out; no file can exhaust memory or time."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node

from grader.errors import Problem, RubricError
from grader.rubric import Location

MAX_FILE_BYTES = 1_000_000
_MAX_DEPTH = 30
_MAX_VALUES = 20_000


def parse_yaml(content: str | bytes, name: str) -> Any:
    """The mapping written in ``content``, as round-trip data that knows its lines.

    Raises:
        RubricError: The text is not UTF-8, no YAML, no mapping, or uses what could exhaust memory.
    """
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
    except TypeError:  # it cannot be looked up
        lines = list(_odd_names(YAML(typ="rt").compose(content)))
        if not lines:
            raise
        what = "the name of a field is a list or a mapping; allowed: a word"
        raise RubricError([Problem("yaml", what, name, min(lines), "")]) from None
    except (YAMLError, ValueError, RecursionError) as error:
        at = getattr(error, "position", None)
        line = content[:at].count("\n") + 1 if isinstance(at, int) else 0
        what = str(error).partition("\n")[0]
        raise RubricError([Problem("yaml", f"not valid YAML: {what}", name, line, "")]) from None
    if not isinstance(data, Mapping):
        raise RubricError([Problem("yaml", "the file holds one mapping of fields", name, 1, "")])
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


def _odd_names(node: Node) -> Iterator[int]:
    """Lines of the names of fields that are lists or mappings."""
    for child in node.value if isinstance(node, CollectionNode) else ():
        name, value = child if isinstance(node, MappingNode) else (None, child)
        if isinstance(name, CollectionNode):
            yield name.start_mark.line + 1
        yield from _odd_names(value)


def check_size(size: int, name: str) -> None:
    """Raise when a file of ``size`` bytes is too large to be read.

    Raises:
        RubricError: With the size and what is allowed.
    """
    if size > MAX_FILE_BYTES:
        message = f"file has {size:,} bytes, at most {MAX_FILE_BYTES:,} are allowed"
        raise RubricError([Problem("file-size", message, name, 0, "")])


def found_problems(details: Iterable[Mapping[str, Any]]) -> list[tuple[Location, str]]:
    """Place and wording of what pydantic reports (``ValidationError.errors(include_url=False)``)."""
    return [(place(d["loc"]), _wording(d["type"], d["msg"], d["input"])) for d in details]


def field_problem(data: Any, name: str, where: Location, what: str) -> Problem:
    """The problem of the field at ``where`` with its line."""
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


def place(where: Location) -> Location:
    """Where a problem is, without the steps that pydantic adds for unions and validators."""
    added = ("function-", "literal[", "constrained-")
    return tuple(part for part in where if not (isinstance(part, str) and part.startswith(added)))


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
