"""Reading foreign files: text of unknown encoding, XML with line numbers, splits named by folders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser, ParseError

from eval.datasets.schema import input_error
from grader.errors import InputError

_SPLIT_NAMES: tuple[tuple[str, str], ...] = (
    (r"unseen[-_ ]?answers|(^|[-_])ua$", "test_ua"),
    (r"unseen[-_ ]?questions|(^|[-_])uq$", "test_uq"),
    (r"unseen[-_ ]?domains|(^|[-_])ud$", "test_ud"),
    (r"(^|[-_])(train|training|validation|dev)$", "train"),
)


def read_bytes(path: Path) -> bytes:
    """The content of a file; a missing or unreadable one is an :class:`InputError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise input_error(path, f"cannot be read ({error.strerror})") from error


def read_text(path: Path) -> str:
    """The text of a file: UTF-8 (with or without BOM), else Windows-1252, else Latin-1.

    It never fails on an encoding; what a wrong guess leaves behind is found by the check.
    """
    raw = read_bytes(path)
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1")


def parts_below(path: Path, root: Path) -> tuple[str, ...]:
    """Folder names from the file upwards to ``root``, whose own name comes last, in lower case."""
    folder = path.parent
    base = root if root.is_dir() else root.parent
    below = folder.relative_to(base).parts if folder.is_relative_to(base) else folder.parts
    return tuple(part.lower() for part in (*reversed(below), base.resolve().name))


def split_of(names: tuple[str, ...]) -> str:
    """The split that the first speaking folder or file name stands for, else ``none``.

    >>> split_of(("core", "test-unseen-answers", "beetle"))
    'test_ua'
    >>> split_of(("english", "training"))
    'train'
    """
    for name in names:
        for pattern, split in _SPLIT_NAMES:
            if re.search(pattern, name):
                return split
    return "none"


def files_in(path: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """``path`` itself, or all files below it with one of ``suffixes``, sorted; never empty."""
    if path.is_file():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.suffix.lower() in suffixes and file.is_file())
    if not found:
        raise input_error(path, f"no file ending in {' or '.join(suffixes)} here")
    return found


class _LineBuilder(TreeBuilder):
    """Remembers the line on which each element starts."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[Element, int] = {}
        self.expat: Any = None

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        element: Element = super().start(tag, attrs)
        self.lines[element] = self.expat.CurrentLineNumber
        return element


class XmlFile:
    """A parsed XML file (no entities, no external references) whose errors name file and line."""

    def __init__(self, path: Path) -> None:
        """Parse ``path``; an :class:`InputError` names the line where it is not well-formed."""
        self.path = path
        builder = _LineBuilder()
        parser: Any = DefusedXMLParser(target=builder)
        builder.expat = parser.parser
        try:
            parser.feed(read_bytes(path))
            self.root: Element = parser.close()
        except ParseError as error:
            raise input_error(path, f"not well-formed XML ({error})", line=error.position[0]) from error
        except DefusedXmlException as error:
            raise input_error(path, f"entities and external references are not allowed ({error})") from error
        self._lines = builder.lines

    def questions(self) -> list[Element]:
        """The ``question`` elements: the root, or all below it; never empty."""
        found = [self.root] if self.root.tag == "question" else list(self.root.iter("question"))
        if not found:
            raise self.error(self.root, "an element <question> is needed", f"<{self.root.tag}>")
        return found

    def line(self, element: Element) -> int:
        """The line on which an element starts, from 1."""
        return self._lines[element]

    def error(self, element: Element, message: str, field: str) -> InputError:
        """An error about one field of an element."""
        return input_error(self.path, message, line=self.line(element), field=field)

    def attribute(self, element: Element, name: str) -> str:
        """A required attribute, stripped and not empty."""
        value = (element.get(name) or "").strip()
        if not value:
            raise self.error(element, f"<{element.tag}> needs the attribute {name}", name)
        return value

    def child_text(self, element: Element, name: str) -> str:
        """The text of a required child element, stripped; may be empty."""
        child = element.find(name)
        if child is None:
            raise self.error(element, f"<{element.tag}> needs an element <{name}>", name)
        return text_of(child)


def text_of(element: Element) -> str:
    """All text inside an element, stripped at both ends."""
    return "".join(element.itertext()).strip()


def one_line(text: str) -> str:
    """``text`` with every run of white space as one space."""
    return " ".join(text.split())
