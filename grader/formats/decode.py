"""From bytes to text: what kind of file it is, and which encoding."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from grader.errors import InputError
from grader.formats.notes import NoteLog, shorten

_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FOREIGN = (
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"{\\rtf", "an RTF document"),
    (b"SQLite format 3", "a database"),
)
#: How files that are no tables begin, in lower case.
MARKUP = ("<!doctype html", "<html", "<?xml", "<table")
_ALLOWED = "allowed: CSV or TSV text, XLSX, Parquet"
# Single control characters come from pasted text; a binary file has one in ten.
_FEW_CONTROLS = 20
_MAX_CONTROL_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Text:
    """A decoded file."""

    content: str
    encoding: str


def container(data: bytes, name: str) -> str:
    """``zip``, ``parquet`` or ``text``, told from the content and never from the name.

    Raises:
        InputError: An old or protected Excel file, or a kind of file that holds no table.
    """
    if data.startswith(_ZIP):
        return "zip"
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(_OLE):
        raise InputError(f"{name}: {_ole_kind(data)}; {_ALLOWED}")
    for magic, kind in _FOREIGN:
        if data.startswith(magic):
            raise InputError(f"{name}: this is {kind}, not a table; {_ALLOWED}")
    return "text"


def utf16(data: bytes) -> bool:
    """Whether a text starts with the byte order mark of UTF-16."""
    return data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not data.startswith(codecs.BOM_UTF32_LE)


def _ole_kind(data: bytes) -> str:
    if "EncryptedPackage".encode("utf-16-le") in data:
        return "this Excel file is protected by a password: remove the password in Excel and save it again"
    if "WordDocument".encode("utf-16-le") in data:
        return "this is an old Word document, not a table"
    return "this is an Excel file of the old kind (.xls): open it and save it as .xlsx or .csv"


def decode(data: bytes, name: str, log: NoteLog) -> Text:
    """The text of a file: UTF-8 or UTF-16 by its byte order mark, else UTF-8, else cp1252 with a note.

    Raises:
        InputError: The bytes are no text in any of these, or contain NUL or lone surrogates.
    """
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise InputError(f"{name}: encoded as UTF-32; allowed: UTF-8, UTF-16, or Windows cp1252")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = Text(_strict(data, "utf-16", name), "utf-16")
    elif b"\x00" in data:
        at = data.index(b"\x00")
        line = data[:at].count(b"\n") + 1
        raise InputError(
            f"{name}: NUL byte at byte {at} (line {line}): this is a binary file, or UTF-16 "
            "without a byte order mark; allowed: save the table as CSV in UTF-8"
        )
    elif data.startswith(codecs.BOM_UTF8):
        text = Text(_strict(data, "utf-8-sig", name), "utf-8-sig")
    else:
        text = _unmarked(data, name, log)
    _check_text(text.content, name)
    return text


def _strict(data: bytes, encoding: str, name: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        cause = "a lone surrogate or cut character" if encoding == "utf-16" else "no valid character"
        raise InputError(
            f"{name}: {cause} at byte {error.start}, though the file says it is {encoding}; "
            "allowed: save the table again as CSV in UTF-8"
        ) from None


def _unmarked(data: bytes, name: str, log: NoteLog) -> Text:
    try:
        return Text(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError as error:
        bad = error.start
    if _has_surrogates(data):
        raise InputError(
            f"{name}: lone surrogate at byte {bad}: half a character, written by a faulty program; "
            "allowed: save the table again as CSV in UTF-8"
        )
    try:
        content = data.decode("cp1252")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: neither UTF-8 (byte {bad}) nor Windows cp1252 (byte {error.start}); "
            "allowed: save the table again as CSV in UTF-8"
        ) from None
    line = data[:bad].count(b"\n") + 1
    sample = shorten(data[max(0, bad - 12) : bad + 12].decode("cp1252", "replace"))
    log.add(
        "encoding-guessed",
        f"not UTF-8, so read as Windows cp1252: check that letters such as {sample} (line {line}) look right",
    )
    return Text(content, "cp1252")


def _has_surrogates(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _check_text(content: str, name: str) -> None:
    if "\x00" in content:
        line = content[: content.index("\x00")].count("\n") + 1
        raise InputError(f"{name}: NUL character in line {line}: this is no text file; {_ALLOWED}")
    head = content.lstrip()[:20].lower()
    if head.startswith(MARKUP):
        raise InputError(f"{name}: this is a web page or XML named as a table; {_ALLOWED}")
    if head.startswith(("[{", '{"')):
        raise InputError(f"{name}: this is JSON; {_ALLOWED}")
    controls = sum(content.count(chr(code)) for code in range(1, 32) if code not in (9, 10, 13))
    if controls > max(_FEW_CONTROLS, len(content) * _MAX_CONTROL_SHARE):
        raise InputError(f"{name}: {controls} control characters: this is a binary file, no text; {_ALLOWED}")
