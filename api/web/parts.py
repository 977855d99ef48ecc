"""Parts of a rubric added to its YAML and removed from it: components, elements, misconceptions, follow-ups."""

from __future__ import annotations

import re
from collections.abc import Iterable, MutableMapping
from typing import Any

from api.problems import Problem
from api.web.fields import COMPONENT, ELEMENT, FOLLOW_UP, MISCONCEPTION, entries, holder_of
from api.web.yamltext import dumped
from grader.yamlfile import parse_yaml

_REMOVABLE = re.compile(f"{COMPONENT}|{FOLLOW_UP}|{MISCONCEPTION}|{ELEMENT}")
_ELEMENTS = re.compile(f"(?:{COMPONENT}|{FOLLOW_UP})/elements")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")


def added(text: str, path: str, name: str = "") -> tuple[str, str]:
    """The YAML with one more part, whose texts are still empty, and the path of that part.

    Args:
        text: The rubric.
        path: ``components``, ``misconceptions``, ``follow_ups``, or the list of elements of one of these.
        name: Name of a new component.

    Raises:
        RubricError: The text is no YAML mapping.
        Problem: There is no such place, or the name is none or in use.
    """
    data = parse_yaml(text, "rubric")
    if path == "components":
        place = _add_component(data, name.strip())
    elif path in ("misconceptions", "follow_ups") or _ELEMENTS.fullmatch(path):
        place = _add_entry(data, path)
    else:
        raise Problem("invalid", f"nothing can be added at '{path[:120]}'")
    return dumped(data), place


def _add_component(data: Any, name: str) -> str:
    found = data.setdefault("components", {})
    if not isinstance(found, MutableMapping):
        raise Problem("invalid", "components is no mapping; correct the YAML first")
    if not _NAME.fullmatch(name) or name in found:
        raise Problem("invalid", f"'{name[:60]}' is no new name; allowed: a-z, 0-9 and _, beginning with a letter")
    found[name] = {"weight": 0, "elements": [_element(())]}
    return f"components/{name}"


def _add_entry(data: Any, path: str) -> str:
    *steps, last = path.split("/")
    holder = holder_of(data, steps, path)
    found = holder.get(last) or []
    if not isinstance(found, list):
        raise Problem("invalid", f"'{path[:120]}' is no list; correct the YAML first")
    used = [str(one.get("id", "")) for _, one in entries(found)]
    if last == "elements":
        made = _element(used)
    elif last == "misconceptions":
        made = {"id": _free("misconception", used), "statements": [], "feedback": ""}
    else:
        made = {"id": _free("follow-up", used), "question": "", "reference_answer": "", "elements": [_element(())]}
    if found:
        found.append(made)
    else:  # a list written as [] would take its entries in one line
        holder[last] = [made]
    return f"{path}/{len(holder[last]) - 1}"


def _element(used: Iterable[str]) -> dict[str, Any]:
    return {"id": _free("idea", used), "key_statements": []}


def _free(stem: str, used: Iterable[str]) -> str:
    taken, number = set(used), 1
    while f"{stem}-{number}" in taken:
        number += 1
    return f"{stem}-{number}"


def removed(text: str, path: str) -> str:
    """The YAML without one part.

    Raises:
        RubricError: The text is no YAML mapping.
        Problem: There is no such part.
    """
    if not _REMOVABLE.fullmatch(path):
        raise Problem("invalid", f"'{path[:120]}' cannot be removed")
    data = parse_yaml(text, "rubric")
    *steps, last = path.split("/")
    holder_of(data, [*steps, last], path)
    holder = holder_of(data, steps[:-1], path)[steps[-1]]
    del holder[int(last) if isinstance(holder, list) else last]
    return dumped(data)
