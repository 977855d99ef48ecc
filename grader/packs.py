"""Packs: a folder of items with a manifest, and the archive in which it travels.

A pack is a folder with ``pack.yaml`` (the `Manifest`) and one rubric file an item. `build_pack` writes a zip that holds
these files, an optional ``README.md`` and ``LICENSE``, and their SHA-256 sums; `install_pack` accepts nothing else.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grader.bank import MANIFEST, Bank, default_places, installed_packs, load_bank, parse_item, rubric_files
from grader.errors import InputError, Problem, RubricError
from grader.rubric import Item, Line, Slug
from grader.yamlfile import MAX_FILE_BYTES, check_size, field_problem, found_problems, parse_yaml

SUMS = "SHA256SUMS"
SUFFIX = ".pack.zip"
MAX_FILES = 2_000
MAX_BYTES = 50_000_000

_ALLOWED = re.compile(r"pack\.yaml|README\.md|LICENSE|[a-z0-9]+(?:-[a-z0-9]+)*\.yaml")
_SUM_LINE = re.compile(r"([0-9a-f]{64})  (\S+)")
#: The earliest time a zip can hold: the same files make the same archive, whenever it is built.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_READ_MODE = 0o644 << 16

Version = Annotated[str, Field(pattern=r"^(0|[1-9]\d{0,5})(\.(0|[1-9]\d{0,5})){2}$")]


class Manifest(BaseModel):
    """What ``pack.yaml`` says about a pack.

    Attributes:
        id: Name of the folder and of the archive.
        title: What readers see.
        description: One paragraph on what is in it and for whom.
        language: Two-letter code that all items share.
        licence: SPDX name, or a sentence.
        authors: Who wrote it, at least one.
        version: Three numbers with dots; raised whenever an item changes.
        topics: What it is about.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    id: Slug
    title: Line
    description: Line | None = None
    language: Annotated[str, Field(pattern=r"^[a-z]{2}$")]
    licence: Line
    authors: Annotated[tuple[Line, ...], Field(min_length=1)]
    version: Version
    topics: Annotated[tuple[Slug, ...], Field(min_length=1)]

    @property
    def release(self) -> tuple[int, ...]:
        """The version as three numbers, for comparison."""
        return tuple(int(part) for part in self.version.split("."))


@dataclass(frozen=True, slots=True)
class Pack:
    """A manifest with its items and the folder they are in."""

    manifest: Manifest
    items: Bank
    folder: Path


def parse_manifest(content: str | bytes, *, name: str = MANIFEST) -> Manifest:
    """The manifest written in ``content`` (YAML).

    Raises:
        RubricError: It is not acceptable; every problem has its line and field.
    """
    data = parse_yaml(content, name)
    try:
        return Manifest.model_validate(data)
    except ValidationError as error:
        found = found_problems(error.errors(include_url=False))
    raise RubricError([field_problem(data, name, where, what) for where, what in found])


def load_pack(folder: str | os.PathLike[str]) -> Pack:
    """The pack in ``folder``.

    Raises:
        InputError: There is no such folder, or it has no manifest or no items.
        RubricError: The manifest or an item has problems; all are listed.
    """
    folder = Path(folder)
    path = folder / MANIFEST
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    if not path.is_file():
        raise InputError(f"{folder}: no {MANIFEST} in this folder; 'grader pack new' writes one")
    problems: list[Problem] = []
    manifest, items = None, Bank([])
    try:
        check_size(path.stat().st_size, str(path))
        manifest = parse_manifest(path.read_bytes(), name=str(path))
    except RubricError as error:
        problems += error.problems
    try:
        items = load_bank(folder)
    except RubricError as error:
        problems += error.problems
    if manifest is not None:
        problems += [*_disagreements(manifest, items, folder), *_misplaced(folder)]
    if problems or manifest is None:
        raise RubricError(problems)
    return Pack(manifest, items, folder)


def _disagreements(manifest: Manifest, items: Bank, folder: Path) -> Iterator[Problem]:
    """What does not fit between the manifest, the items and the folder."""
    place = str(folder / MANIFEST)
    if manifest.id != folder.resolve().name:
        message = f"id '{manifest.id}' must equal the name of the folder, '{folder.resolve().name}'"
        yield Problem("pack-id", message, place, 0, "id")
    if not items:
        yield Problem("pack-empty", "the pack has no items that can be read", place, 0, "")
    for item in items.values():
        if item.language != manifest.language:
            message = f"the item is in '{item.language}', the pack in '{manifest.language}'"
            yield Problem("pack-language", message, str(folder / f"{item.id}.yaml"), 0, "language")


def _misplaced(folder: Path) -> Iterator[Problem]:
    for path in rubric_files([folder]):
        if path.parent != folder or path.suffix != ".yaml":
            message = "items of a pack lie in its own folder and end in .yaml"
            yield Problem("pack-layout", message, str(path), 0, "")


def find_packs(places: Iterable[Path] = ()) -> list[Pack]:
    """The packs in ``places`` (folders of packs), by default what ships and what is installed, in order.

    Raises:
        RubricError: A pack has problems.
    """
    roots = list(places) or default_places()
    return [load_pack(path.parent) for root in roots for path in sorted(root.glob(f"[!.]*/{MANIFEST}"))]


@dataclass(frozen=True, slots=True)
class Cover:
    """What can be known of a pack without reading its items.

    Attributes:
        manifest: What it says about itself.
        items: Ids of its items.
    """

    manifest: Manifest
    items: frozenset[str]


def covers(places: Iterable[Path] = ()) -> list[Cover]:
    """The packs in ``places`` as `find_packs` finds them, in milliseconds; broken ones are left out."""
    paths = (path for root in list(places) or default_places() for path in sorted(root.glob(f"[!.]*/{MANIFEST}")))
    return [found for path in paths if (found := _cover(path)) is not None]


def _cover(path: Path) -> Cover | None:
    try:
        manifest = _manifest_at(path, path.stat().st_mtime_ns)
    except (OSError, RubricError):
        return None
    return Cover(manifest, frozenset(each.stem for each in path.parent.glob("*.yaml") if each != path))


@lru_cache(maxsize=256)
def _manifest_at(path: Path, changed_at: int) -> Manifest:
    """The manifest as of ``changed_at``, a time of change in nanoseconds."""
    return parse_manifest(path.read_bytes(), name=str(path))


def new_pack(folder: str | os.PathLike[str], manifest: Manifest) -> Path:
    """Writes a manifest into ``folder``, which is made if need be; returns the manifest's path.

    Raises:
        InputError: There is a manifest already, or the folder's name is not the pack's id.
    """
    folder = Path(folder)
    path = folder / MANIFEST
    if folder.resolve().name != manifest.id:
        raise InputError(f"{folder}: the folder of the pack '{manifest.id}' must be named '{manifest.id}'")
    if path.exists():
        raise InputError(f"{path}: there is a pack already; allowed: an empty or new folder")
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(_manifest_text(manifest), encoding="utf-8")
    return path


def _manifest_text(manifest: Manifest) -> str:
    from ruamel.yaml import YAML

    writer = YAML()
    writer.width = 110
    stream = io.StringIO()
    writer.dump(manifest.model_dump(mode="json", exclude_none=True), stream)
    return stream.getvalue()


def build_pack(folder: str | os.PathLike[str], target: str | os.PathLike[str] | None = None) -> Path:
    """Writes the pack in ``folder`` as an archive; the same files always give the same bytes.

    Args:
        folder: The pack.
        target: The file or folder to write to; by default ``<id>-<version>.pack.zip`` in the current folder.

    Returns:
        The path of the archive.

    Raises:
        InputError: The pack has problems (`load_pack`), or is too large to be installed.
    """
    pack = load_pack(folder)
    name = f"{pack.manifest.id}-{pack.manifest.version}{SUFFIX}"
    path = Path(target) if target is not None else Path(name)
    path = path / name if path.is_dir() else path
    chosen = sorted(file for file in pack.folder.iterdir() if file.is_file() and _ALLOWED.fullmatch(file.name))
    files = {file.name: file.read_bytes() for file in chosen}
    _check_amount(len(files), sum(map(len, files.values())), str(folder))
    files[SUMS] = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items()).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = _READ_MODE
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    path.write_bytes(buffer.getvalue())
    return path


def _check_amount(files: int, size: int, name: str) -> None:
    if files > MAX_FILES:
        raise InputError(f"{name}: {files:,} files; allowed: at most {MAX_FILES:,} in a pack")
    if size > MAX_BYTES:
        raise InputError(f"{name}: {size:,} bytes; allowed: at most {MAX_BYTES:,} in a pack")


def install_pack(
    archive: str | os.PathLike[str], root: str | os.PathLike[str] | None = None, *, replace: bool = False
) -> Pack:
    """Checks a pack's archive and puts it where `grader.load_bank` finds it.

    Args:
        archive: What `build_pack` wrote.
        root: Folder of packs; `grader.bank.installed_packs` if not given.
        replace: Whether an installed pack of the same or a later version may be replaced.

    Raises:
        InputError: The archive is damaged, altered or holds anything that no pack has; the pack is installed already in
            this or a later version; or an item's id is taken by another pack. Nothing is written then.
        RubricError: The manifest or an item has problems.
    """
    path = Path(archive)
    files = _read_archive(path)
    manifest, items = _check_content(files, path.name)
    place = Path(root) if root is not None else installed_packs()
    target = place / manifest.id
    if target.exists() and not replace:
        _check_newer(manifest, target)
    _check_ids(items, manifest.id, place)
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".incoming-", dir=place) as incoming:
        fresh, old = Path(incoming) / manifest.id, Path(incoming) / "old"
        fresh.mkdir()
        for name, data in files.items():
            (fresh / name).write_bytes(data)
        if target.exists():
            target.rename(old)
        fresh.rename(target)
    return load_pack(target)


def remove_pack(pack_id: str, root: str | os.PathLike[str] | None = None) -> None:
    """Deletes an installed pack.

    Raises:
        InputError: There is none of that id.
    """
    place = Path(root) if root is not None else installed_packs()
    known = {path.parent.name: path.parent for path in place.glob(f"[!.]*/{MANIFEST}")}
    if pack_id not in known:
        raise InputError(f"no pack '{pack_id}' is installed; allowed: {', '.join(sorted(known)) or 'none'}")
    shutil.rmtree(known[pack_id])


def _read_archive(path: Path) -> dict[str, bytes]:
    """The files of an archive, which are the ones its sums name, unaltered."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _check_entries(entries, path.name)
            files = {entry.filename: _expand(archive, entry, path.name) for entry in entries}
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise InputError(f"{path.name}: not a readable pack ({error}); build or download it again") from None
    _check_sums(files, path.name)
    return {name: data for name, data in files.items() if name != SUMS}


def _check_entries(entries: list[zipfile.ZipInfo], name: str) -> None:
    """Refuse names, kinds and sizes that no pack has, before anything is expanded."""
    _check_amount(len(entries), sum(entry.file_size for entry in entries), name)
    seen: set[str] = set()
    for entry in entries:
        shown = repr(entry.filename[:80])
        if entry.filename != SUMS and not _ALLOWED.fullmatch(entry.filename):
            allowed = f"{MANIFEST}, item files such as 'my-item.yaml', README.md, LICENSE and {SUMS}, without folders"
            raise InputError(f"{name}: {shown} has no place in a pack; allowed: {allowed}")
        if entry.filename in seen:
            raise InputError(f"{name}: {shown} comes twice; build it again")
        if (entry.external_attr >> 16) & 0o170000 not in (0, 0o100000):
            raise InputError(f"{name}: {shown} is no plain file; allowed: plain files")
        if entry.flag_bits & 1:
            raise InputError(f"{name}: {shown} is encrypted; allowed: archives without a password")
        if entry.file_size > MAX_FILE_BYTES:
            raise InputError(f"{name}: {shown} has {entry.file_size:,} bytes; allowed: at most {MAX_FILE_BYTES:,}")
        seen.add(entry.filename)
    for needed in (MANIFEST, SUMS):
        if needed not in seen:
            raise InputError(f"{name}: no {needed} inside; allowed: what 'grader pack build' writes")


def _expand(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> bytes:
    """The bytes of one file; the size that a zip declares can lie, so no more than the limit is read."""
    with archive.open(entry) as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"{name}: {entry.filename} expands to more than {MAX_FILE_BYTES:,} bytes")
    return data


def _check_sums(files: Mapping[str, bytes], name: str) -> None:
    """Compare every file with its checksum."""
    try:
        lines = files[SUMS].decode("ascii").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{name}: {SUMS} is no plain text; build it again") from None
    sums = {}
    for number, line in enumerate(lines, 1):
        match = _SUM_LINE.fullmatch(line)
        if not match:
            raise InputError(f"{name}: line {number} of {SUMS} is no checksum with a file name; build it again")
        sums[match[2]] = match[1]
    given = files.keys() - {SUMS}
    for file in sorted(given ^ sums.keys()):
        problem = "has no checksum" if file in given else "is missing though it has a checksum"
        raise InputError(f"{name}: {file} {problem}; build it again")
    for file in sorted(given):
        if hashlib.sha256(files[file]).hexdigest() != sums[file]:
            raise InputError(f"{name}: {file} was altered, its checksum does not fit; build or download it again")


def _check_content(files: Mapping[str, bytes], name: str) -> tuple[Manifest, list[Item]]:
    """The manifest and the items, all acceptable."""
    problems: list[Problem] = []
    items: list[Item] = []
    manifest = parse_manifest(files[MANIFEST], name=f"{name}/{MANIFEST}")
    for file, data in sorted(files.items()):
        if file == MANIFEST or not file.endswith(".yaml"):
            continue
        try:
            item = parse_item(data, name=f"{name}/{file}")
        except RubricError as error:
            problems += error.problems
            continue
        if f"{item.id}.yaml" != file:
            problems.append(Problem("file-name", f"id '{item.id}' must equal the file name", f"{name}/{file}", 1, "id"))
        items.append(item)
    if problems:
        raise RubricError(problems)
    problems = list(_disagreements(manifest, Bank(items), Path(manifest.id)))
    if problems:
        raise RubricError(problems)
    return manifest, items


def _check_newer(manifest: Manifest, target: Path) -> None:
    installed = parse_manifest((target / MANIFEST).read_bytes(), name=str(target / MANIFEST))
    if manifest.release <= installed.release:
        raise InputError(
            f"pack '{manifest.id}' is installed in version {installed.version}, this is {manifest.version}; "
            "allowed: a later version, or --replace"
        )


def _check_ids(items: Iterable[Item], pack_id: str, place: Path) -> None:
    """No id or alias may be in use by another pack."""
    taken = {
        name: pack.manifest.id
        for pack in find_packs(dict.fromkeys([*default_places(), place]))
        if not (pack.manifest.id == pack_id and pack.folder.parent == place)
        for item in pack.items.values()
        for name in (item.id, *item.aliases)
    }
    for item in items:
        for name in (item.id, *item.aliases):
            if name in taken:
                raise InputError(f"id '{name}' is already used by the pack '{taken[name]}'; allowed: another id")
