"""Questions with model answers from the files teachers have: Moodle XML, GIFT, QTI items and packages, and CSV.

One door, `read_model_answers`; what a file holds is told from its content.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from grader.errors import InputError
from grader.formats import model_csv, model_gift, model_moodle, model_package, model_qti
from grader.formats.decode import container, decode
from grader.formats.limits import DEFAULT_LIMITS, check_limit
from grader.formats.notes import Note, NoteLog
from grader.formats.question import ModelQuestion

#: Most questions read from one file.
MAX_QUESTIONS = 2_000
_ALLOWED = (
    "allowed: Moodle XML, GIFT, QTI (an assessment item or a content package), "
    "or a table with the columns question and answer"
)
_XML = re.compile(r"\s*<[?!a-zA-Z]")


@dataclass(frozen=True, slots=True)
class ModelAnswers:
    """What a file holds.

    Attributes:
        kind: ``moodle_xml``, ``gift``, ``qti``, ``qti_package`` or ``table``.
        questions: In the order of the file, each with at least one model answer.
        notes: What was left out and why.
    """

    kind: str
    questions: Sequence[ModelQuestion]
    notes: Sequence[Note]


def read_model_answers(data: bytes, *, name: str) -> ModelAnswers:
    """The questions with a model answer in a file.

    Args:
        data: Its content.
        name: File name, for messages.

    Raises:
        InputError: The file is of another kind, damaged or too large, or no question in it has a model answer.
    """
    check_limit(name, "bytes", len(data), DEFAULT_LIMITS.max_bytes)
    log = NoteLog(DEFAULT_LIMITS.max_notes)
    kind, questions = _read(data, name, log)
    check_limit(name, "questions", len(questions), MAX_QUESTIONS)
    if not questions:
        why = f" ({log.notes()[0].message})" if log.notes() else ""
        raise InputError(f"{name}: no question with a model answer{why}; {_ALLOWED}")
    return ModelAnswers(kind, questions, log.notes())


def _read(data: bytes, name: str, log: NoteLog) -> tuple[str, list[ModelQuestion]]:
    if _XML.match(data[:200].decode("latin-1").removeprefix("\xef\xbb\xbf")):
        return _read_xml(data, name, log)
    packed = container(data, name)
    if packed == "zip" and model_package.is_package(data):
        return "qti_package", model_package.read_package(data, name, log, _parse)
    if packed == "text" and model_gift.looks_like_gift(text := decode(data, name, NoteLog(1)).content):
        return "gift", model_gift.read_gift(text, name, log)
    return "table", model_csv.read_table_answers(data, name, log)


def _read_xml(data: bytes, name: str, log: NoteLog) -> tuple[str, list[ModelQuestion]]:
    root = _parse(data, name)
    if root.tag == "quiz":
        return "moodle_xml", model_moodle.read_moodle(root, log)
    if model_qti.is_item(root):
        return "qti", model_qti.read_qti(root, log)
    shown = root.tag.rpartition("}")[2][:40]
    raise InputError(f"{name}: XML with the root element '{shown}'; {_ALLOWED}")


def _parse(data: bytes, name: str) -> Element:
    try:
        root: Element = fromstring(data, forbid_dtd=True)
    except DefusedXmlException as error:
        kind = type(error).__name__
        raise InputError(f"{name}: a document type or entities ({kind}); allowed: XML without them") from None
    except (ParseError, ValueError, LookupError) as error:
        raise InputError(f"{name}: not well-formed XML ({error}); export it again") from None
    return root
