"""QTI content packages: a zip with ``imsmanifest.xml`` that lists the items. Read in memory, nothing is unpacked."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Callable, Mapping
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from grader.errors import InputError
from grader.formats.archive import MAX_PARTS, expand
from grader.formats.limits import DEFAULT_LIMITS, check_limit
from grader.formats.model_qti import is_item, read_qti
from grader.formats.notes import NoteLog, shorten
from grader.formats.question import ModelQuestion

MANIFEST = "imsmanifest.xml"
_ITEM = "imsqti_item"
_BASE = "{http://www.w3.org/XML/1998/namespace}base"
Parse = Callable[[bytes, str], Element]


def is_package(data: bytes) -> bool:
    """Whether a zip has a manifest at its top; a damaged one has none."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return MANIFEST in archive.namelist()
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, RuntimeError):  # also: features it lacks
        return False


def read_package(data: bytes, name: str, log: NoteLog, parse: Parse) -> list[ModelQuestion]:
    """The questions of the items that the manifest of a package lists, in its order.

    Args:
        data: The zip.
        name: File name, for messages.
        log: Takes what was left out and why.
        parse: Makes an element of XML, given its file name for messages, and refuses what is unsafe.

    Raises:
        InputError: The package is damaged, encrypted or too large, or its manifest lists no item.
    """
    files = _files(data, name)
    hrefs = _hrefs(parse(files[MANIFEST], f"{name}/{MANIFEST}"))
    if not hrefs:
        raise InputError(f"{name}: {MANIFEST} lists no item; allowed: resources of a type that begins with '{_ITEM}'")
    found = []
    for href in dict.fromkeys(hrefs):
        content = files.get(_inside(href))
        if content is None:
            log.add("missing", f"{shorten(href)} is listed by {MANIFEST} but is not in the package")
            continue
        root = parse(content, f"{name}/{_inside(href)}")
        if is_item(root):
            found += read_qti(root, log)
        else:
            log.add("type", f"{shorten(href)} is listed as an item but is none")
    return found


def _files(data: bytes, name: str) -> Mapping[str, bytes]:
    """The XML files of the zip by their path, expanded within the limits whatever sizes the zip declares."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = archive.infolist()
    check_limit(name, "parts inside the file", len(parts), MAX_PARTS)
    left, files = DEFAULT_LIMITS.max_uncompressed_bytes, {}
    for part in parts:
        if part.filename.lower().endswith(".xml"):
            files[part.filename] = expand(data, part, left, name, DEFAULT_LIMITS)
            left -= len(files[part.filename])
    return files


def _hrefs(manifest: Element) -> list[str]:
    """Where the items are, seen from the top of the package."""
    found = []
    for group in (node for node in manifest.iter() if _tag(node) == "resources"):
        for resource in (node for node in group if _tag(node) == "resource"):
            bases = (node.get(_BASE, "") for node in (manifest, group, resource))
            if resource.get("type", "").lower().startswith(_ITEM) and resource.get("href"):
                found.append("".join((*bases, resource.get("href", ""))))
    return found


def _inside(href: str) -> str:
    """The path that ``href`` names; one that leads out of the package is the path of no file in it."""
    return posixpath.normpath(unquote(href).replace("\\", "/"))


def _tag(node: Element) -> str:
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""
