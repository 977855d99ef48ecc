"""A rubric's YAML as fields of a form, and changed fields back into the YAML; `api.web.parts` adds and removes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from api.problems import Problem
from api.web.i18n import mark
from api.web.yamltext import dumped
from grader.yamlfile import parse_yaml

Kind = Literal["text", "area", "number", "rule", "lines", "names", "groups"]
PartKind = Literal["question", "component", "element", "misconception", "follow_up"]
RULES = ("required", "at_least", "in_order")
COMPONENT = r"components/[^/]{1,80}"
FOLLOW_UP = r"follow_ups/\d{1,3}"
MISCONCEPTION = r"misconceptions/\d{1,3}"
ELEMENT = rf"(?:{COMPONENT}|{FOLLOW_UP})/elements/\d{{1,3}}"
#: Mappings that are made when a field in them is filled, and go with the last one.
_MADE = {"keywords": "groups", "ask_when": ""}
_MATCH = re.compile(r"(exact|phrase):\s*(.*)", re.DOTALL)
_BAR = " | "


@dataclass(frozen=True, slots=True)
class Spec:
    """How a field is edited, what it is called in English, and whether it may be left out."""

    kind: Kind
    label: str
    optional: bool = False


_IDENTITY = Spec("text", mark("Id (a-z, 0-9, hyphens)"))
#: Fields of each kind of part, by their place below the part.
_SPECS: Mapping[PartKind, Mapping[str, Spec]] = {
    "question": {
        "prompt": Spec("area", mark("Question")),
        "reference_answer": Spec("area", mark("Model answer")),
        "scale/max": Spec("number", mark("Top of the scale")),
        "scale/step": Spec("number", mark("Step of the scale")),
    },
    "component": {
        "weight": Spec("number", mark("Weight in points")),
        "rule": Spec("rule", mark("Which ideas are needed"), optional=True),
        "n": Spec("number", mark("How many ideas suffice"), optional=True),
        "hint": Spec("text", mark("Hint"), optional=True),
    },
    "element": {
        "id": _IDENTITY,
        "weight": Spec("number", mark("Weight among the ideas of its part"), optional=True),
        "key_statements": Spec("lines", mark("Accepted wordings, one a line")),
        "keywords/groups": Spec(
            "groups", mark("Keywords, one group a line, alternatives separated by “ | ”"), optional=True
        ),
        "keywords/need": Spec("text", mark("How many groups are needed: any, all or a number"), optional=True),
    },
    "misconception": {
        "id": _IDENTITY,
        "statements": Spec("lines", mark("False statements, one a line")),
        "refutes": Spec("names", mark("Parts it makes impossible, separated by commas"), optional=True),
        "penalty": Spec("number", mark("Points taken"), optional=True),
        "cap": Spec("number", mark("Or: the most points left"), optional=True),
        "feedback": Spec("area", mark("Why it is wrong")),
    },
    "follow_up": {
        "id": _IDENTITY,
        "question": Spec("area", mark("Question")),
        "ask_when/met": Spec("names", mark("Asked where these parts are there"), optional=True),
        "ask_when/missed": Spec("names", mark("Asked where these parts are missing"), optional=True),
        "reference_answer": Spec("area", mark("Model answer")),
    },
}
_BASES: Mapping[PartKind, str] = {
    "question": "",
    "component": f"{COMPONENT}/",
    "element": f"{ELEMENT}/",
    "misconception": f"{MISCONCEPTION}/",
    "follow_up": f"{FOLLOW_UP}/",
}
_PATHS = [(re.compile(base + place), spec) for kind, base in _BASES.items() for place, spec in _SPECS[kind].items()]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the form.

    Attributes:
        path: Where it stands in the YAML, its keys joined by slashes.
        kind: How it is edited.
        label: What it is called, in English.
        value: Its text; a list has one entry a line.
    """

    path: str
    kind: Kind
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Part:
    """Fields that belong together, with the elements below them.

    Attributes:
        kind: What it is.
        name: Its name or id; empty for the question.
        path: Where it stands in the YAML; empty for the question, which cannot be removed.
        fields: Its own fields.
        elements: Its elements.
        adds: Path of the list that takes another element, or empty.
    """

    kind: PartKind
    name: str
    path: str
    fields: tuple[Field, ...]
    elements: tuple[Part, ...] = ()
    adds: str = ""


def parts_of(text: str) -> list[Part]:
    """The form of a rubric; what is missing or of an unexpected shape is left to the YAML.

    Raises:
        RubricError: The text is no YAML mapping.
    """
    data = parse_yaml(text, "rubric")
    found = [_part("question", "", "", data)]
    for name, one in entries(data.get("components")):
        found.append(_with_elements("component", name, f"components/{name}", one))
    for at, one in entries(data.get("misconceptions")):
        found.append(_part("misconception", str(one.get("id", at)), f"misconceptions/{at}", one))
    for at, one in entries(data.get("follow_ups")):
        found.append(_with_elements("follow_up", str(one.get("id", at)), f"follow_ups/{at}", one))
    return [part for part in found if part.fields]


def fields_of(text: str) -> list[Field]:
    """All fields of `parts_of`, in order."""
    found: list[Field] = []
    for part in parts_of(text):
        found += part.fields
        for element in part.elements:
            found += element.fields
    return found


def entries(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Key (or number) and mapping of each entry of a mapping or list."""
    if isinstance(value, Mapping):
        pairs = [(str(key), one) for key, one in value.items()]
    elif isinstance(value, list):
        pairs = [(str(at), one) for at, one in enumerate(value)]
    else:
        pairs = []
    yield from ((key, one) for key, one in pairs if isinstance(one, Mapping))


def _with_elements(kind: PartKind, name: str, path: str, holder: Mapping[str, Any]) -> Part:
    own, base = _part(kind, name, path, holder), f"{path}/elements"
    elements = tuple(
        _part("element", str(one.get("id", at)), f"{base}/{at}", one) for at, one in entries(holder.get("elements"))
    )
    adds = base if isinstance(holder.get("elements"), list) else ""
    return Part(kind, name, path, own.fields, elements, adds)


def _part(kind: PartKind, name: str, path: str, holder: Mapping[str, Any]) -> Part:
    made = (_field(holder, place, f"{path}/{place}".lstrip("/"), spec) for place, spec in _SPECS[kind].items())
    return Part(kind, name, path, tuple(one for one in made if one is not None))


def _field(holder: Any, place: str, path: str, spec: Spec) -> Field | None:
    *steps, last = place.split("/")
    for step in steps:
        holder = holder.get(step, {} if spec.optional else None)
        if not isinstance(holder, Mapping):
            return None
    if (last not in holder and not spec.optional) or (place == "keywords/need" and "groups" not in holder):
        return None
    shown = _shown(spec.kind, holder.get(last))
    return None if shown is None else Field(path, spec.kind, spec.label, shown)


def _shown(kind: Kind, value: Any) -> str | None:
    """The text of a value; ``None`` where the field cannot hold it."""
    if value is None:
        return ""
    if kind == "groups":
        return _groups_text(value)
    if kind in ("lines", "names"):
        if not isinstance(value, list) or not all(isinstance(one, (str, int, float)) for one in value):
            return None
        return ("\n" if kind == "lines" else ", ").join(str(one) for one in value)
    return str(value) if isinstance(value, (str, int, float)) else None


def _groups_text(value: Any) -> str | None:
    if not isinstance(value, list):
        return None
    lines = []
    for group in value:
        words = group.get("any") if isinstance(group, Mapping) else group
        if not isinstance(words, list):
            return None
        match = group.get("match", "stem") if isinstance(group, Mapping) else "stem"
        lines.append(("" if match == "stem" else f"{match}: ") + _BAR.join(str(one) for one in words))
    text = "\n".join(lines)
    return text if _plain(_groups(text)) == _plain(value) else None


def _plain(groups: Sequence[Any]) -> list[tuple[list[str], str]]:
    """Words and match mode of each group."""
    read = [group if isinstance(group, Mapping) else {"any": group} for group in groups]
    return [([str(one) for one in group["any"]], group.get("match", "stem")) for group in read]


def _groups(text: str) -> list[Any]:
    """The keyword groups that a text stands for, written in one line each."""
    found: list[Any] = []
    for line in _lines(text):
        marked = _MATCH.fullmatch(line)
        words = CommentedSeq(one.strip() for one in (marked[2] if marked else line).split("|") if one.strip())
        words.fa.set_flow_style()
        if not words:
            raise Problem("invalid", f"the keyword group '{line[:60]}' is empty; allowed: one word or more")
        if marked:
            group = CommentedMap({"any": words, "match": marked[1]})
            group.fa.set_flow_style()
        found.append(group if marked else words)
    return found


def changed(text: str, values: Mapping[str, str]) -> str:
    """The YAML with fields, given by their paths, changed; comments and the order of fields stay.

    Raises:
        RubricError: The text is no YAML mapping.
        Problem: There is no such field, or the value does not fit it.
    """
    data = parse_yaml(text, "rubric")
    for path, value in values.items():
        _change(data, path, value)
    return dumped(data)


def merged(text: str, was: str, sent: Mapping[str, str]) -> str:
    """The YAML with those fields changed that a person changed in a form that showed ``was``.

    Raises:
        RubricError: One of the texts is no YAML mapping.
        Problem: As for `changed`.
    """
    shown = {one.path: one.value.strip() for one in fields_of(was)}
    edits = {path: sent[path] for path, value in shown.items() if sent.get(path, value).strip() != value}
    return changed(text, edits) if edits else text


def _change(data: Any, path: str, value: str) -> None:
    spec = next((spec for pattern, spec in _PATHS if pattern.fullmatch(path)), None)
    if spec is None:
        raise Problem("invalid", f"no field '{path[:120]}' in the form")
    *steps, last = path.split("/")
    made = steps[-1] if steps and steps[-1] in _MADE else ""
    holder = holder_of(data, steps[:-1] if made else steps, path)
    found = _read(spec, last, value)
    if not made:
        _put(holder, last, found)
        return
    inner = holder.get(made, {})
    if not isinstance(inner, Mapping):
        raise Problem("invalid", f"the rubric has no '{path[:120]}'")
    inner = inner if made in holder else CommentedMap()
    _put(inner, last, found)
    holder[made] = inner
    if not inner or (_MADE[made] and _MADE[made] not in inner):
        del holder[made]


def holder_of(data: Any, steps: Sequence[str], path: str) -> Any:
    """The mapping at the end of the steps.

    Raises:
        Problem: There is none.
    """
    for step in steps:
        if isinstance(data, Mapping) and step in data:
            data = data[step]
        elif isinstance(data, list) and step.isdigit() and int(step) < len(data):
            data = data[int(step)]
        else:
            raise Problem("invalid", f"the rubric has no '{path[:120]}'")
    if not isinstance(data, Mapping):
        raise Problem("invalid", f"the rubric has no '{path[:120]}'")
    return data


def _put(holder: Any, name: str, value: Any) -> None:
    """Set or remove a value; a list keeps its style and comments unless it was empty."""
    if value is None:
        holder.pop(name, None)
    elif isinstance(value, list) and isinstance(holder.get(name), list) and holder[name]:
        holder[name][:] = value
    else:
        holder[name] = value


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _read(spec: Spec, name: str, text: str) -> Any:
    """The value that a text stands for; ``None`` where an optional field was emptied."""
    stripped = text.strip()
    if not stripped and spec.optional:
        return None
    if spec.kind == "number":
        return _number(name, stripped)
    if spec.kind == "groups":
        return _groups(stripped)
    if spec.kind == "names":
        return [one.strip() for one in stripped.split(",") if one.strip()]
    if spec.kind == "lines":
        if not stripped:
            raise Problem("invalid", f"{name} is empty; allowed: one entry a line")
        return _lines(stripped)
    if spec.kind == "rule" and stripped not in RULES:
        raise Problem("invalid", f"rule: '{stripped[:40]}'; allowed: {', '.join(RULES)}")
    if name == "need" and stripped.isdigit():
        return int(stripped)
    return stripped if spec.kind == "area" else " ".join(stripped.split())


def _number(name: str, text: str) -> float | int:
    try:
        found = float(text.replace(",", "."))
    except ValueError:
        raise Problem("invalid", f"{name}: '{text[:40]}' is no number") from None
    if not abs(found) <= 1e6:
        raise Problem("invalid", f"{name}: {text[:40]}; allowed: a number up to 1,000,000")
    return int(found) if found.is_integer() else found
