"""Packs: what a folder has to be, and that no archive can do harm or half install itself."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from grader import InputError, RubricError, load_bank
from grader.cli import app
from grader.packs import (
    MAX_FILES,
    SUMS,
    Manifest,
    build_pack,
    covers,
    find_packs,
    install_pack,
    load_pack,
    new_pack,
    parse_manifest,
    remove_pack,
)
from grader.yamlfile import MAX_FILE_BYTES

MANIFEST = """\
id: kitchen
title: Cooking
language: en
licence: CC-BY-4.0
authors: [A. Cook]
version: 1.2.0
topics: [food]
"""


def rubric(item_id: str, language: str = "en") -> str:
    return f"""\
id: {item_id}
language: {language}
prompt: Why does bread rise?
reference_answer: Yeast gives off gas.
components:
  definition:
    weight: 5
    elements:
      - id: gas
        key_statements: [Yeast gives off gas.]
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "installed"
    monkeypatch.setenv("GRADER_PACKS", str(folder))
    return folder


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    folder = tmp_path / "source" / "kitchen"
    folder.mkdir(parents=True)
    (folder / "pack.yaml").write_text(MANIFEST)
    (folder / "bread.yaml").write_text(rubric("bread"))
    (folder / "LICENSE").write_text("Do what you like.")
    (folder / "notes.txt").write_text("not part of the pack")
    return folder


def summed(files: Mapping[str, bytes]) -> bytes:
    return "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items()).encode()


def archive(path: Path, files: Mapping[str, bytes], sums: bytes | None = None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in {**files, SUMS: summed(files) if sums is None else sums}.items():
            target.writestr(name, data)
    return path


def content(**changes: bytes) -> dict[str, bytes]:
    return {"pack.yaml": MANIFEST.encode(), "bread.yaml": rubric("bread").encode(), **changes}


def test_a_pack_travels_and_is_found_like_what_ships(kitchen: Path, tmp_path: Path, installed: Path) -> None:
    before = set(load_bank())
    path = build_pack(kitchen, tmp_path)
    assert path.name == "kitchen-1.2.0.pack.zip"
    assert set(zipfile.ZipFile(path).namelist()) == {"LICENSE", "bread.yaml", "pack.yaml", SUMS}
    pack = install_pack(path)
    assert pack.folder == installed / "kitchen"
    assert pack.items["bread"] == load_bank(kitchen)["bread"]
    assert set(load_bank()) == before | {"bread"}
    assert [found.manifest.id for found in find_packs()][-1] == "kitchen"
    remove_pack("kitchen")
    assert set(load_bank()) == before
    with pytest.raises(InputError, match="no pack 'kitchen' is installed; allowed: none"):
        remove_pack("kitchen")


def test_the_same_files_make_the_same_archive(kitchen: Path, tmp_path: Path) -> None:
    first = build_pack(kitchen, tmp_path / "a.zip").read_bytes()
    (kitchen / "bread.yaml").touch()
    assert build_pack(kitchen, tmp_path / "b.zip").read_bytes() == first


def test_the_packs_that_ship_are_whole() -> None:
    packs = {pack.manifest.id: pack for pack in find_packs()}
    assert "pytorch" in packs
    assert sum(len(pack.items) for pack in packs.values()) == len(load_bank())
    for pack in packs.values():
        tags = {tag for item in pack.items.values() for tag in item.tags}
        assert set(pack.manifest.topics) <= tags, pack.manifest.id


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("title: Cooking\n", "", 1, "title", "field is missing"),
        ("version: 1.2.0", "version: one", 6, "version", "should match pattern"),
        ("version: 1.2.0", "version: 1.10", 6, "version", "valid string, got 1.1"),
        ("version: 1.2.0", "version: 1.2.0.4", 6, "version", "should match pattern"),
        ("[A. Cook]", "[]", 5, "authors", "at least 1 item"),
        ("language: en", "language: english", 3, "language", "should match pattern"),
        ("topics: [food]", "topics: [food]\nprice: 3", 8, "price", "unknown field"),
        ("id: kitchen", "id: ../kitchen", 1, "id", "should match pattern"),
    ],
)
def test_problems_of_a_manifest_have_line_and_field(old: str, new: str, line: int, field: str, message: str) -> None:
    assert old in MANIFEST
    with pytest.raises(RubricError) as caught:
        parse_manifest(MANIFEST.replace(old, new))
    (problem,) = caught.value.problems
    assert (problem.line, problem.field) == (line, field)
    assert message in problem.message


def test_all_problems_of_a_folder_come_at_once(kitchen: Path) -> None:
    (kitchen / "pack.yaml").write_text(MANIFEST.replace("kitchen", "cellar"))
    (kitchen / "brot.yaml").write_text(rubric("brot", "de"))
    (kitchen / "deep").mkdir()
    (kitchen / "deep" / "cake.yaml").write_text(rubric("cake"))
    with pytest.raises(RubricError) as caught:
        load_pack(kitchen)
    assert [problem.code for problem in caught.value.problems] == ["pack-id", "pack-language", "pack-layout"]
    assert "the item is in 'de', the pack in 'en'" in str(caught.value)


def test_a_broken_item_and_a_broken_manifest_are_both_named(kitchen: Path) -> None:
    (kitchen / "pack.yaml").write_text(MANIFEST.replace("version: 1.2.0\n", ""))
    (kitchen / "bread.yaml").write_text("id: bread")
    with pytest.raises(RubricError) as caught:
        load_pack(kitchen)
    assert {problem.file.rpartition("/")[2] for problem in caught.value.problems} == {"pack.yaml", "bread.yaml"}


def test_a_folder_without_manifest_is_no_pack(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no pack\.yaml in this folder"):
        load_pack(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        load_pack(tmp_path / "none")


def test_a_new_pack_has_a_readable_manifest_and_is_never_overwritten(tmp_path: Path) -> None:
    manifest = Manifest.model_validate(parse_manifest(MANIFEST).model_dump() | {"title": 'Küche: "heiß" & mehr'})
    path = new_pack(tmp_path / "kitchen", manifest)
    assert parse_manifest(path.read_bytes()) == manifest
    with pytest.raises(InputError, match="there is a pack already"):
        new_pack(tmp_path / "kitchen", manifest)
    with pytest.raises(InputError, match="must be named 'kitchen'"):
        new_pack(tmp_path / "cellar", manifest)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (content(**{"../../bread.yaml": b"x"}), "has no place in a pack"),
        (content(**{"/etc/bread.yaml": b"x"}), "has no place in a pack"),
        (content(**{"a\\b.yaml": b"x"}), "has no place in a pack"),
        (content(**{"deep/cake.yaml": b"x"}), "has no place in a pack"),
        (content(**{"setup.py": b"x"}), "has no place in a pack"),
        (content(**{"big.yaml": b" " * (MAX_FILE_BYTES + 1)}), "at most 1,000,000"),
        ({f"a{number}.yaml": b"" for number in range(MAX_FILES)}, "at most 2,000 in a pack"),
        ({"bread.yaml": rubric("bread").encode()}, r"no pack\.yaml inside"),
        (content(**{"cake.yaml": rubric("bread").encode()}), "must equal the file name"),
        (content(**{"brot.yaml": rubric("brot", "de").encode()}), "the item is in 'de'"),
        (content(**{"cake.yaml": b"id: cake"}), "field is missing"),
        ({"pack.yaml": MANIFEST.encode()}, "no items that can be read"),
        (content(**{"zero-grad.yaml": rubric("zero-grad").encode()}), "already used by the pack 'pytorch'"),
    ],
)
def test_what_is_no_pack_is_refused_and_nothing_is_written(
    files: dict[str, bytes], message: str, tmp_path: Path, installed: Path
) -> None:
    with pytest.raises(InputError, match=message):
        install_pack(archive(tmp_path / "p.zip", files))
    assert not installed.exists() or not list(installed.iterdir())


@pytest.mark.parametrize(
    ("sums", "message"),
    [
        (summed({**content(), "bread.yaml": b"other"}), r"bread\.yaml was altered"),
        (summed({"pack.yaml": MANIFEST.encode()}), r"bread\.yaml has no checksum"),
        (summed(content(**{"cake.yaml": b"x"})), r"cake\.yaml is missing"),
        (b"hello", "line 1 of SHA256SUMS is no checksum"),
        (b"\xff", "no plain text"),
    ],
)
def test_every_file_must_fit_its_checksum(sums: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        install_pack(archive(tmp_path / "p.zip", content(), sums))


def test_a_link_or_a_second_file_of_a_name_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "p.zip", content())
    with zipfile.ZipFile(path, "a") as target:
        link = zipfile.ZipInfo("cake.yaml")
        link.external_attr = 0o120777 << 16
        target.writestr(link, "/etc/passwd")
    with pytest.raises(InputError, match="is no plain file"):
        install_pack(path)
    path = archive(tmp_path / "q.zip", content())
    with zipfile.ZipFile(path, "a") as target, pytest.warns(UserWarning, match="Duplicate name"):
        target.writestr("bread.yaml", rubric("bread"))
    with pytest.raises(InputError, match="comes twice"):
        install_pack(path)


def test_a_zip_that_lies_about_its_size_is_not_expanded(tmp_path: Path) -> None:
    files = content(**{"bread.yaml": b"#" * (20 * MAX_FILE_BYTES)})
    path = archive(tmp_path / "p.zip", files)
    data = bytearray(path.read_bytes())
    size = struct.pack("<I", 20 * MAX_FILE_BYTES)
    while size in data:
        at = data.index(size)
        data[at : at + 4] = struct.pack("<I", 100)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"not a readable pack|expands to more|altered"):
        install_pack(path)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"hello", b"PK\x05\x06" + b"\x00" * 18])
def test_a_damaged_archive_is_an_input_error(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "p.zip"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"p\.zip: "):
        install_pack(path)
    with pytest.raises(InputError, match="no such file"):
        install_pack(tmp_path / "none.zip")


def test_only_a_later_version_replaces_an_installed_pack(tmp_path: Path, installed: Path) -> None:
    install_pack(archive(tmp_path / "p.zip", content(**{"cake.yaml": rubric("cake").encode()})))
    with pytest.raises(InputError, match=r"installed in version 1\.2\.0, this is 1\.2\.0"):
        install_pack(tmp_path / "p.zip")
    later = content(**{"pack.yaml": MANIFEST.replace("1.2.0", "1.10.0").encode()})
    assert install_pack(archive(tmp_path / "q.zip", later)).manifest.release == (1, 10, 0)
    assert not (installed / "kitchen" / "cake.yaml").exists()
    with pytest.raises(InputError, match="allowed: a later version, or --replace"):
        install_pack(tmp_path / "p.zip")
    assert install_pack(tmp_path / "p.zip", replace=True).manifest.version == "1.2.0"
    assert [path.name for path in installed.iterdir()] == ["kitchen"]


def test_the_command_makes_checks_builds_and_installs(tmp_path: Path, installed: Path) -> None:
    run = CliRunner()
    folder = tmp_path / "kitchen"
    new = ["pack", "new", str(folder), "--title", "Cooking", "--author", "A. Cook", "--topic", "food"]
    assert run.invoke(app, new).exit_code == 0
    assert run.invoke(app, ["pack", "check", str(folder), "--quick"]).exit_code == 1
    (folder / "bread.yaml").write_text(rubric("bread"))
    checked = run.invoke(app, ["pack", "check", str(folder), "--quick", "--json"])
    assert checked.exit_code == 0
    assert {problem["code"] for problem in json.loads(checked.stdout)} == {"few-statements"}
    (folder / "brot.yaml").write_text(rubric("brot", "de"))
    checked = run.invoke(app, ["pack", "check", str(folder), "--quick"])
    assert checked.exit_code == 1
    assert "[pack-language]" in checked.stdout
    (folder / "brot.yaml").unlink()
    assert run.invoke(app, ["pack", "build", str(folder), "--out", str(tmp_path)]).exit_code == 0
    built = tmp_path / "kitchen-0.1.0.pack.zip"
    assert run.invoke(app, ["pack", "install", str(built)]).exit_code == 0
    listed = json.loads(run.invoke(app, ["pack", "list", "--json"]).stdout)
    assert {"id": "kitchen", "items": 1, "version": "0.1.0"}.items() <= listed[-1].items()
    assert "bread" in run.invoke(app, ["items", "list", "--bank", str(installed)]).stdout
    assert run.invoke(app, ["pack", "remove", "kitchen"]).exit_code == 0
    assert not list(installed.iterdir())


def test_covers_name_the_items_and_follow_changes(tmp_path: Path) -> None:
    shipped = {cover.manifest.id: cover.items for cover in covers()}
    assert shipped == {pack.manifest.id: frozenset(pack.items) for pack in find_packs()}
    folder = tmp_path / "kitchen"
    folder.mkdir()
    (folder / "pack.yaml").write_text(MANIFEST)
    (folder / "bread.yaml").write_text(rubric("bread"))
    assert [(one.manifest.title, one.items) for one in covers([tmp_path])] == [("Cooking", {"bread"})]
    (folder / "pack.yaml").write_text("title: [")
    os.utime(folder / "pack.yaml", ns=(1, 1))
    assert covers([tmp_path]) == []
    (folder / "pack.yaml").unlink()
    assert covers([tmp_path, tmp_path / "nowhere"]) == []
