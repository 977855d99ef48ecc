"""Moodle XML: essays with grader information, short answers, and pattern matches with a model answer."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from grader.formats.notes import NoteLog, shorten
from grader.formats.question import ModelQuestion, plain
from grader.rubric import Item

_FULL = 100.0
#: What an export writes below the model answer; a reader stops there.
_RULE = re.compile(r"<hr\b", re.I)
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def read_moodle(root: Element, log: NoteLog) -> list[ModelQuestion]:
    """The questions of a ``<quiz>`` that have a model answer; other types and questions without one are noted."""
    found = []
    for number, question in enumerate(root.iter("question"), 1):
        kind = question.get("type", "")
        if kind == "category":
            continue
        name = plain(_text(question, "name")) or f"question {number}"
        if kind not in _MODEL_ANSWERS:
            read = ", ".join(_MODEL_ANSWERS)
            log.add("type", f"{shorten(name)} is of the type {kind or 'unknown'}; only {read} are read")
            continue
        prompt = plain(_text(question, "questiontext"))
        answers = _MODEL_ANSWERS[kind](question)
        if prompt and answers:
            found.append(ModelQuestion(name, prompt, answers, _grade(question)))
        else:
            lacks = "no text" if not prompt else f"no model answer ({_PLACES[kind]})"
            log.add("no-answer", f"{shorten(name)} has {lacks}")
    return found


def _text(parent: Element, tag: str) -> str:
    node = parent.find(f"{tag}/text")
    return "".join(node.itertext()) if node is not None else ""


def _essay_answer(question: Element) -> tuple[str, ...]:
    for tag in ("graderinfo", "generalfeedback"):
        answer = plain(_RULE.split(_text(question, tag))[0])
        if answer:
            return (answer,)
    return ()


def _short_answers(question: Element) -> tuple[str, ...]:
    """The full-mark answers without wildcards, the longest first."""
    full = [answer for answer in question.findall("answer") if _number(answer.get("fraction")) == _FULL]
    written = ["".join(node.itertext()) for answer in full for node in answer.findall("text")]
    texts = {plain(text) for text in written if "*" not in text} - {""}
    return tuple(sorted(texts, key=lambda text: (-len(text), text)))


def _pattern_answer(question: Element) -> tuple[str, ...]:
    """The model answer beside the rules; what the rules match is no answer that could be shown to anybody."""
    answer = plain("".join("".join(node.itertext()) for node in question.findall("modelanswer")))
    return (answer,) if answer else ()


_MODEL_ANSWERS = {"essay": _essay_answer, "shortanswer": _short_answers, "pmatch": _pattern_answer}
_PLACES = {
    "essay": "grader information or general feedback",
    "shortanswer": "an answer for full marks without wildcards",
    "pmatch": "the field modelanswer",
}


def _grade(question: Element) -> float | None:
    grade = _number(question.findtext("defaultgrade"))
    return grade if grade is not None and 0 < grade <= 1000 else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def write_moodle(items: Iterable[Item]) -> bytes:
    """Moodle XML with an essay an item; graders see the model answer and, below a rule, the components."""
    quiz = Element("quiz")
    for item in items:
        question = SubElement(quiz, "question", type="essay")
        _add_text(question, "name", item.id)
        _add_text(question, "questiontext", _paragraphs(item.prompt), "html")
        _add_text(question, "generalfeedback", "", "html")
        fields = {"defaultgrade": f"{item.scale.max:g}", "penalty": "0", "hidden": "0", "idnumber": item.id}
        fields |= {"responseformat": "editor", "responserequired": "1", "responsefieldlines": "10"}
        fields |= {"attachments": "0", "attachmentsrequired": "0"}
        for tag, value in fields.items():
            SubElement(question, tag).text = value
        _add_text(question, "graderinfo", _grader_information(item), "html")
        _add_text(question, "responsetemplate", "", "html")
        if item.tags:
            tags = SubElement(question, "tags")
            for tag in item.tags:
                _add_text(tags, "tag", tag)
    indent(quiz)
    data: bytes = tostring(quiz, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _add_text(parent: Element, tag: str, text: str, form: str | None = None) -> None:
    node = SubElement(parent, tag, {"format": form} if form else {})
    SubElement(node, "text").text = _NOT_XML.sub("\ufffd", text)


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{html.escape(line, quote=False)}</p>" for line in text.splitlines() if line.strip())


def _grader_information(item: Item) -> str:
    entries = []
    for name, component in item.components.items():
        wording = html.escape(component.elements[0].key_statements[0], quote=False)
        entries.append(f"<li>{name.replace('_', ' ')} ({component.weight:g}): {wording}</li>")
    return f"{_paragraphs(item.reference_answer)}<hr /><ul>{''.join(entries)}</ul>"
