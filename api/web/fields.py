"""A rubric's YAML as fields of a form, and one changed field back into the YAML."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ruamel.yaml import YAML

from api.problems import Problem
from api.web.i18n import mark
from grader.yamlfile import parse_yaml

Kind = Literal["text", "area", "number", "lines"]
#: Last part of a path to what it holds and what it is called.
_FIELDS: Mapping[str, tuple[Kind, str]] = {
    "prompt": ("area", mark("Question")),
    "reference_answer": ("area", mark("Model answer")),
    "max": ("number", mark("Top of the scale")),
    "step": ("number", mark("Step of the scale")),
    "weight": ("number", mark("Weight in points")),
    "hint": ("text", mark("Hint")),
    "key_statements": ("lines", mark("Accepted wordings, one a line")),
    "statements": ("lines", mark("False statements, one a line")),
    "feedback": ("area", mark("Why it is wrong")),
}
_PATH = re.compile(
    r"prompt|reference_answer|scale/(max|step)|components/[^/]{1,80}/(weight|hint)"
    r"|components/[^/]{1,80}/elements/\d{1,3}/key_statements|misconceptions/\d{1,3}/(statements|feedback)"
)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the form.

    Attributes:
        path: Where it stands in the YAML, its keys joined by slashes.
        kind: How it is edited.
        label: What it is called, in English.
        about: Id of the element it belongs to, or empty.
        value: Its text; a list has one entry a line.
    """

    path: str
    kind: Kind
    label: str
    about: str
    value: str


@dataclass(frozen=True, slots=True)
class Group:
    """Fields that belong together: the question, a component, or a misconception."""

    kind: Literal["question", "component", "misconception"]
    name: str
    fields: tuple[Field, ...]


def groups_of(text: str) -> list[Group]:
    """The form of a rubric; what is missing or of an unexpected shape is left to the YAML.

    Raises:
        RubricError: The text is no YAML mapping.
    """
    data = parse_yaml(text, "rubric")
    scale = [_field(data.get("scale"), f"scale/{name}") for name in ("max", "step")]
    found = [_group("question", "", [_field(data, "prompt"), _field(data, "reference_answer"), *scale])]
    for name, component in _entries(data.get("components")):
        base = f"components/{name}"
        fields = [_field(component, f"{base}/weight"), _field(component, f"{base}/hint", needed=False)]
        for at, element in _entries(component.get("elements")):
            path = f"{base}/elements/{at}/key_statements"
            fields.append(_field(element, path, about=str(element.get("id", ""))))
        found.append(_group("component", name, fields))
    for at, one in _entries(data.get("misconceptions")):
        base = f"misconceptions/{at}"
        fields = [_field(one, f"{base}/statements"), _field(one, f"{base}/feedback")]
        found.append(_group("misconception", str(one.get("id", at)), fields))
    return [group for group in found if group.fields]


def _entries(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Key (or number) and mapping of each entry of a mapping or list."""
    if isinstance(value, Mapping):
        pairs = [(str(key), one) for key, one in value.items()]
    elif isinstance(value, Sequence) and not isinstance(value, str):
        pairs = [(str(at), one) for at, one in enumerate(value)]
    else:
        pairs = []
    yield from ((key, one) for key, one in pairs if isinstance(one, Mapping))


def _group(kind: Literal["question", "component", "misconception"], name: str, fields: list[Field | None]) -> Group:
    return Group(kind, name, tuple(one for one in fields if one is not None))


def _field(holder: Any, path: str, *, about: str = "", needed: bool = True) -> Field | None:
    last = path.rpartition("/")[2]
    kind, label = _FIELDS[last]
    if not isinstance(holder, Mapping) or (needed and last not in holder):
        return None
    value = holder.get(last)
    if kind == "lines":
        if not isinstance(value, Sequence) or isinstance(value, str):
            return None
        return Field(path, kind, label, about, "\n".join(str(one) for one in value))
    return Field(path, kind, label, about, "" if value is None else str(value))


def changed(text: str, path: str, value: str) -> str:
    """The YAML with one field changed; comments and the order of fields stay.

    Raises:
        RubricError: The text is no YAML mapping.
        Problem: There is no such field, or the value does not fit it.
    """
    data = parse_yaml(text, "rubric")
    if not _PATH.fullmatch(path):
        raise Problem("invalid", f"no field '{path[:120]}' in the form")
    *steps, last = path.split("/")
    holder: Any = data
    for step in steps:
        holder = _step(holder, step, path)
    if not isinstance(holder, Mapping):
        raise Problem("invalid", f"the rubric has no '{path[:120]}'")
    _set(holder, last, value)
    return dumped(data)


def _step(holder: Any, step: str, path: str) -> Any:
    if isinstance(holder, Mapping) and step in holder:
        return holder[step]
    if isinstance(holder, Sequence) and not isinstance(holder, str) and step.isdigit() and int(step) < len(holder):
        return holder[int(step)]
    raise Problem("invalid", f"the rubric has no '{path[:120]}'")


def _set(holder: Any, name: str, value: str) -> None:
    kind, _ = _FIELDS[name]
    stripped = value.strip()
    if kind == "number":
        holder[name] = _number(name, stripped)
    elif kind == "lines":
        lines = [line.strip() for line in stripped.split("\n") if line.strip()]
        if not lines:
            raise Problem("invalid", f"{name} is empty; allowed: one entry a line")
        if isinstance(holder.get(name), list):
            holder[name][:] = lines
        else:
            holder[name] = lines
    elif name == "hint" and not stripped:
        holder.pop(name, None)
    else:
        holder[name] = stripped if kind == "area" else " ".join(stripped.split())


def _number(name: str, text: str) -> float | int:
    try:
        found = float(text.replace(",", "."))
    except ValueError:
        raise Problem("invalid", f"{name}: '{text[:40]}' is no number") from None
    if not abs(found) <= 1e6:
        raise Problem("invalid", f"{name}: {text[:40]}; allowed: a number up to 1,000,000")
    return int(found) if found.is_integer() else found


def dumped(data: Any) -> str:
    """Plain or round-trip data as a rubric is written by hand."""
    yaml, out = YAML(), io.StringIO()
    yaml.width, yaml.default_flow_style = 100_000, False
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.dump(data, out)
    return out.getvalue()
