"""Is a zip file a workbook that is safe to open? Checked before any parser sees it."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from itertools import pairwise

from grader.errors import InputError
from grader.formats.limits import Limits, check_limit
from grader.formats.notes import column_letter

#: Most files inside a zip.
MAX_PARTS = 2_000
_CHUNK = 1 << 20
_REF = re.compile(rb"<(?:\w+:)?c\b[^<>]*?\sr\s*=\s*[\"']\$?([A-Za-z]{1,4})\$?(\d{1,9})[\"']")
_ROW = re.compile(rb"<(?:\w+:)?row\b[^<>]*?\sr\s*=\s*[\"'](\d{1,9})[\"']")
_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")
_STRING_CELL = re.compile(rb"<(?:\w+:)?c\b[^<>]*\bt\s*=\s*[\"']s[\"']")
_STRING_INDEX = re.compile(rb"<(?:\w+:)?c\b[^<>]*\bt\s*=\s*[\"']s[\"'][^<>]*>\s*<(?:\w+:)?v>(\d{1,9})<")
_STRING = re.compile(rb"<(?:\w+:)?si[\s/>]")


def check_workbook(data: bytes, name: str, limits: Limits) -> None:
    """Raise when the zip is no XLSX, is encrypted, or would expand beyond the limits.

    The parts are really expanded and counted: the sizes a zip declares can lie. Cell addresses are looked
    at too, because two cells in far corners make a reader allocate everything between them.

    Raises:
        InputError: With what was found and what is allowed.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_kind(archive, name)
            parts = archive.infolist()
    except InputError:
        raise
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, RuntimeError) as error:
        raise InputError(f"{name}: a damaged Excel or zip file ({error}); allowed: save it again") from None
    check_limit(name, "parts inside the file", len(parts), MAX_PARTS)
    left = limits.max_uncompressed_bytes
    strings: list[int] = []
    sheets: list[bytes] = []
    for part in parts:
        content = expand(data, part, left, name, limits)
        left -= len(content)
        if b"sst" in content:
            strings.extend(_string_sizes(content))
        if b"sheetData" in content:
            sheets.append(content)
    for content in sheets:
        _check_sheet(content, strings, name, limits)


def _check_kind(archive: zipfile.ZipFile, name: str) -> None:
    names = {part.lower().lstrip("/") for part in archive.namelist()}
    # Whatever else a zip holds, the parser may read these instead, and they are not checked here.
    if "xl/workbook.bin" in names:
        kind = "a binary Excel workbook (.xlsb): save it as .xlsx or .csv"
    elif "mimetype" in names and "content.xml" in names:
        kind = "an OpenDocument file: save it as .xlsx or .csv"
    elif "xl/workbook.xml" in names:
        return
    elif any(part.startswith("word/") for part in names):
        kind = "a Word document, not a table"
    else:
        kind = "a zip archive: unpack it and send the table inside"
    raise InputError(f"{name}: this is {kind}; allowed: CSV or TSV text, XLSX, Parquet")


def expand(data: bytes, part: zipfile.ZipInfo, left: int, name: str, limits: Limits) -> bytes:
    """The expanded bytes of one part, read past what the zip declares, up to ``left``.

    Raises:
        InputError: It is encrypted, damaged, packed by a rare method, or expands to more than ``left`` bytes.
    """
    if part.flag_bits & 1:
        raise InputError(f"{name}: protected by a password; allowed: remove the password and save it again")
    header = data[part.header_offset : part.header_offset + 30]
    if len(header) < 30:
        raise InputError(f"{name}: a damaged zip file; allowed: save it again")
    names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    start = part.header_offset + 30 + names
    raw = data[start : start + part.compress_size]
    if part.compress_type == zipfile.ZIP_STORED:
        content = raw
    elif part.compress_type == zipfile.ZIP_DEFLATED:
        content = _inflate(raw, left, name)
    else:
        method = f"zip method {part.compress_type} in {part.filename!r}"
        raise InputError(f"{name}: {method}; allowed: store or deflate")
    if len(content) > left or part.file_size > limits.max_uncompressed_bytes:
        raise InputError(
            f"{name}: the file expands to more than {limits.max_uncompressed_bytes:,} bytes; "
            f"allowed: at most {limits.max_uncompressed_bytes:,}"
        )
    return content


def _inflate(raw: bytes, left: int, name: str) -> bytes:
    stream = zlib.decompressobj(-15)
    content = bytearray()
    pending = raw
    try:
        while pending and not stream.eof and len(content) <= left:
            content += stream.decompress(pending, _CHUNK)
            pending = stream.unconsumed_tail
    except zlib.error as error:
        raise InputError(f"{name}: a damaged Excel or zip file ({error}); allowed: save it again") from None
    return bytes(content)


def _string_sizes(content: bytes) -> list[int]:
    starts = [match.start() for match in _STRING.finditer(content)]
    return [end - start for start, end in pairwise([*starts, len(content)])]


def _check_sheet(content: bytes, strings: list[int], name: str, limits: Limits) -> None:
    addresses = _REF.findall(content)
    cells = len(_CELL.findall(content))
    rows = max((int(digits) for _, digits in addresses), default=0)
    columns = max((_column_number(letters) for letters in {letters for letters, _ in addresses}), default=0)
    if len(addresses) < cells:
        # Cells without an address follow each other from the row's own number.
        rows = max(rows, max((int(digits) for digits in _ROW.findall(content)), default=1))
        columns = max(columns, 1)
    where = f"{name}: a sheet reaches {column_letter(max(columns, 1) - 1)}{rows}"
    check_limit(where, "columns (delete empty ones at the right)", columns, limits.max_columns)
    # Blank rows between the filled ones are allowed for generously; they are counted exactly later.
    check_limit(where, "rows (delete empty ones below)", rows, 2 * limits.max_rows + 1)
    check_limit(where, "cells", max(rows * columns, cells), 2 * limits.max_cells)
    _check_strings(content, strings, name, limits)


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - ord("A") + 1
    return number


def _check_strings(content: bytes, strings: list[int], name: str, limits: Limits) -> None:
    """One long text that a million cells refer to is small in the file and huge when read."""
    used = [int(index) for index in _STRING_INDEX.findall(content)]
    total = sum(strings[index] for index in used if index < len(strings))
    total += (len(_STRING_CELL.findall(content)) - len(used)) * max(strings, default=0)
    check_limit(name, "bytes of text when written out", total, limits.max_uncompressed_bytes)
