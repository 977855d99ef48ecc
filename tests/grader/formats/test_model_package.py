"""QTI content packages: the items a manifest lists are read, and no zip does harm."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping

import pytest

from grader import InputError
from grader.formats import model_package
from grader.formats.limits import Limits
from grader.formats.model_answers import ModelAnswers, read_model_answers
from grader.formats.question import ModelQuestion

ITEM = """<?xml version="1.0"?>
<qti-assessment-item xmlns="http://www.imsglobal.org/xsd/imsqtiasi_v3p0" identifier="{name}" title="{name}">
  <qti-response-declaration identifier="RESPONSE" cardinality="single" base-type="string">
    <qti-correct-response><qti-value>Yeast gives off gas.</qti-value></qti-correct-response>
  </qti-response-declaration>
  <qti-item-body>
    <p>Why does {name} rise?</p><qti-{kind} response-identifier="RESPONSE"/>
  </qti-item-body>
</qti-assessment-item>
"""
RESOURCE = '<resource identifier="r{at}" type="{kind}" href="{href}"><file href="{href}"/></resource>'


def item(name: str, kind: str = "extended-text-interaction") -> str:
    return ITEM.format(name=name, kind=kind)


def manifest(*hrefs: str, kind: str = "imsqti_item_xmlv3p0", base: str = "") -> str:
    listed = "".join(RESOURCE.format(at=at, kind=kind, href=href) for at, href in enumerate(hrefs))
    place = f' xml:base="{base}"' if base else ""
    return (
        '<manifest xmlns="http://www.imsglobal.org/xsd/qti/qtiv3p0/imscp_v1p1" identifier="m"><organizations/>'
        f"<resources{place}>{listed}</resources></manifest>"
    )


def package(files: Mapping[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def read(data: bytes) -> ModelAnswers:
    return read_model_answers(data, name="quiz.zip")


def question(name: str) -> ModelQuestion:
    return ModelQuestion(name, f"Why does {name} rise?", ("Yeast gives off gas.",))


def test_the_items_of_the_manifest_are_read_in_its_order() -> None:
    found = read(
        package(
            {
                "imsmanifest.xml": manifest("items/b.xml", "items/a%20b.xml", "items/gone.xml", "./items/choice.xml"),
                "items/a b.xml": item("cake"),
                "items/b.xml": item("bread"),
                "items/choice.xml": item("choice", "choice-interaction"),
                "items/not-listed.xml": item("roll"),
                "images/dough.png": b"\x89PNG",
            }
        )
    )
    assert found.kind == "qti_package"
    assert list(found.questions) == [question("bread"), question("cake")]
    notes = [str(note) for note in found.notes]
    assert any("gone.xml' is listed by imsmanifest.xml but is not in the package" in note for note in notes)
    assert any("'choice' has no extended text interaction" in note for note in notes)


def test_a_base_is_put_in_front_and_tests_are_no_items() -> None:
    files = {"items/a.xml": item("bread")}
    assert len(read(package({"imsmanifest.xml": manifest("a.xml", base="items/"), **files})).questions) == 1
    with pytest.raises(InputError, match=r"quiz\.zip: imsmanifest\.xml lists no item"):
        read(package({"imsmanifest.xml": manifest("items/a.xml", kind="imsqti_test_xmlv3p0"), **files}))


@pytest.mark.parametrize(
    "href", ["../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "..%2f..%2fa.xml", "..\\..\\a.xml"]
)
def test_a_reference_out_of_the_package_finds_nothing(href: str) -> None:
    data = package({"imsmanifest.xml": manifest(href, "a.xml"), "a.xml": item("bread")})
    found = read(data)
    assert list(found.questions) == [question("bread")]
    assert "is not in the package" in str(found.notes[0])


def test_an_item_that_is_none_is_noted() -> None:
    files = {"imsmanifest.xml": manifest("a.xml", "b.xml"), "a.xml": "<html/>", "b.xml": item("bread")}
    found = read(package(files))
    assert len(found.questions) == 1
    assert "listed as an item but is none" in str(found.notes[0])


def test_a_bomb_is_not_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_package, "DEFAULT_LIMITS", Limits(max_uncompressed_bytes=100_000))
    bomb = package({"imsmanifest.xml": manifest("a.xml"), "a.xml": "<a>" + " " * 1_000_000})
    with pytest.raises(InputError, match="expands to more than 100,000 bytes"):
        read(bomb)
    size = struct.pack("<I", 1_000_003)
    assert bomb.count(size) == 2
    with pytest.raises(InputError, match="expands to more than 100,000 bytes"):
        read(bomb.replace(size, struct.pack("<I", 5)))  # a zip that lies about the size


def test_too_many_files_are_refused() -> None:
    files = {"imsmanifest.xml": manifest("a.xml"), **{f"{at}.xml": "" for at in range(2_001)}}
    with pytest.raises(InputError, match="2,002 parts inside the file; allowed: at most 2,000"):
        read(package(files))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"imsmanifest.xml": "<manifest"}, "quiz.zip/imsmanifest.xml: not well-formed XML"),
        ({"imsmanifest.xml": '<!DOCTYPE m [<!ENTITY a "b">]><m>&a;</m>'}, "a document type or entities"),
        ({"imsmanifest.xml": manifest("a.xml"), "a.xml": "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"}, "quiz.zip/a.xml"),
        ({"imsmanifest.xml": manifest("a.xml")}, "no question with a model answer"),
        ({"deep/imsmanifest.xml": manifest("a.xml")}, "a zip archive"),
    ],
)
def test_what_is_no_package_with_answers_is_refused(files: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(package(files))


def test_an_encrypted_package_is_refused() -> None:
    data = bytearray(package({"imsmanifest.xml": manifest("a.xml"), "a.xml": item("bread")}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    with pytest.raises(InputError, match="protected by a password"):
        read(bytes(data))


def test_a_zip_of_a_later_version_is_refused() -> None:
    data = bytearray(package({"imsmanifest.xml": manifest("a.xml"), "a.xml": item("bread")}))
    data[data.find(b"PK\x01\x02") + 6] = 99
    with pytest.raises(InputError, match="damaged"):
        read(bytes(data))


def test_a_damaged_package_is_refused() -> None:
    data = package({"imsmanifest.xml": manifest("a.xml"), "a.xml": item("bread")})
    for at in range(0, len(data), 7):
        broken = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        try:
            read(broken)
        except InputError:
            continue
