"""QTI 3 and 2 assessment items with an extended text interaction.

The model answer is the correct response, else the rubric block for scorers. Names are compared without the prefix
``qti-`` and without hyphens, so that ``qti-item-body`` and ``itemBody`` are the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from grader.formats.notes import NoteLog, shorten
from grader.formats.question import ModelQuestion, plain

_BLOCKS = frozenset("p div li br tr h1 h2 h3 h4 h5 h6 ul ol table prompt blockquote pre value".split())
_TEXT_INTERACTIONS = frozenset(("extendedtextinteraction", "textentryinteraction"))
_HIDDEN = frozenset(("rubricblock", "feedbackblock", "feedbackinline", "modalfeedback", "templateblock"))
_POINTS = re.compile(r"^\s*[-*]?\s*\[[\d.,]+\]\s*", re.M)


def is_item(root: Element) -> bool:
    """Whether ``root`` is an assessment item."""
    return _name(root) == "assessmentitem"


def read_qti(root: Element, log: NoteLog) -> list[ModelQuestion]:
    """The question of an item, or a note why there is none."""
    label = root.get("title") or root.get("identifier") or "item"
    if not any(_name(node) in _TEXT_INTERACTIONS for node in root.iter()):
        log.add("type", f"{shorten(label)} has no extended text interaction")
        return []
    bodies = _all(root, "itembody")
    prompt = plain("".join(_text(node, _HIDDEN) for node in bodies))
    answers = _correct(root) or _rubric(root)
    if not prompt or not answers:
        lacks = "no text" if not prompt else "no correct response and no rubric block for scorers"
        log.add("no-answer", f"{shorten(label)} has {lacks}")
        return []
    language = (root.get("{http://www.w3.org/XML/1998/namespace}lang") or "")[:2].lower()
    known = language if re.fullmatch("[a-z]{2}", language) else None
    return [ModelQuestion(plain(label), prompt, answers, _max_score(root), known)]


def _name(node: Element) -> str:
    tag = node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""
    return tag.lower().removeprefix("qti-").replace("-", "")


def _all(root: Element, name: str) -> list[Element]:
    return [node for node in root.iter() if _name(node) == name]


def _text(node: Element, hidden: frozenset[str] = frozenset()) -> str:
    """The text below ``node``, blocks on lines of their own."""
    return "".join(_parts(node, hidden))


def _parts(root: Element, hidden: frozenset[str]) -> Iterator[str]:
    pending: list[Element | str] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            yield node
            continue
        if _name(node) in hidden:
            continue
        edge = "\n" if _name(node) in _BLOCKS else ""
        yield edge + (node.text or "")
        children: list[Element | str] = [edge]
        for child in reversed(node):
            children += [child.tail or "", child]
        pending += children


def _correct(root: Element) -> tuple[str, ...]:
    values = [value for correct in _all(root, "correctresponse") for value in _all(correct, "value")]
    return tuple(dict.fromkeys(text for text in map(plain, map(_text, values)) if text))


def _rubric(root: Element) -> tuple[str, ...]:
    blocks = [node for node in _all(root, "rubricblock") if "scorer" in (node.get("view") or "").split()]
    text = plain(_POINTS.sub("", plain("\n".join(map(_text, blocks)))))
    return (text,) if text else ()


def _max_score(root: Element) -> float | None:
    for declaration in _all(root, "outcomedeclaration"):
        names = {"MAXSCORE": [v.text for v in _all(declaration, "value")], "SCORE": [_upper(declaration)]}
        for text in names.get(declaration.get("identifier", ""), ()):
            try:
                value = float(text or "")
            except ValueError:
                continue
            if math.isfinite(value) and 0 < value <= 1000:
                return value
    return None


def _upper(declaration: Element) -> str | None:
    return declaration.get("normal-maximum") or declaration.get("normalMaximum")
