"""Excel and Parquet files, honest and hostile."""

from __future__ import annotations

import datetime as dt
import io
import random
import struct
import zipfile

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grader.errors import InputError
from grader.formats.export import Result, write_back
from grader.formats.layouts import read_layout
from grader.formats.limits import Limits
from grader.formats.table import read_table

ROWS = [["id", "answer", "mark"], ["007", "=1+1 is text", 2.5], ["008", "two\nlines", 3]]


def xlsx(rows, title="Form1", others=()):
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    for line in book.active.iter_rows():
        for cell in line:
            if isinstance(cell.value, str):
                cell.data_type = "s"
    for name, more in others:
        sheet = book.create_sheet(name)
        for row in more:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def repack(data, changes):
    """The same zip with some parts replaced or added."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            if part.filename not in changes:
                new.writestr(part.filename, old.read(part.filename))
        for name, content in changes.items():
            new.writestr(name, content)
    return out.getvalue()


def sheet_xml(cells):
    return f'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{cells}</sheetData></worksheet>'


def read(data, name="class.xlsx", sheet=None, **limits):
    return read_table(data, name=name, limits=Limits(**limits), sheet=sheet)


def test_excel_cells_are_text_and_typed_values_are_remembered():
    table = read(xlsx(ROWS))
    assert table.kind == "xlsx"
    assert table.frame.to_numpy().tolist() == [["007", "=1+1 is text", "2.5"], ["008", "two\nlines", "3"]]
    assert table.values[0][2] == 2.5
    assert (table.encoding, table.delimiter) == (None, None)
    assert table.warnings == ()


def test_whole_numbers_dates_and_truth_values():
    row = [12345678, 1.0, True, dt.datetime(2026, 4, 30, 9, 0), dt.date(2026, 4, 30), dt.time(9, 5)]
    table = read(xlsx([list("abcdef"), row]))
    assert table.frame.iloc[0].tolist() == [
        "12345678",
        "1",
        "TRUE",
        "2026-04-30 09:00:00",
        "2026-04-30",
        "09:05:00",
    ]


def test_long_numeric_id_is_warned_about():
    table = read(xlsx([["id"], [1234567890123456789]]))
    assert [note.code for note in table.warnings] == ["long-number"]
    assert table.warnings[0].row == 2


def test_blank_rows_keep_the_row_numbers():
    table = read(xlsx([[None], ["id", "a"], ["1", "x"], [None], ["2", "y"]]))
    assert (table.header_row, table.rows) == (2, (3, 5))


def test_only_the_first_filled_sheet_is_read_and_the_others_are_named():
    data = xlsx([["id"], ["1"]], others=[("Notes", [["x"], ["y"]]), ("Empty", [])])
    table = read(data)
    assert "'Notes'" in str(table.warnings[0])
    assert "Empty" not in str(table.warnings[0])
    assert read(data, sheet="Notes").headers == ("x",)
    with pytest.raises(InputError, match=r"no sheet 'Zzz'; allowed: 'Form1', 'Notes', 'Empty'"):
        read(data, sheet="Zzz")


def test_excel_named_csv_is_read_with_one_warning():
    table = read(xlsx(ROWS), name="class.csv")
    assert table.headers == ("id", "answer", "mark")
    assert [note.code for note in table.warnings] == ["excel-content"]
    assert "class.csv is an Excel file" in str(table.warnings[0])


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 512 + "Workbook".encode("utf-16-le"), r"\.xls"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 512 + "EncryptedPackage".encode("utf-16-le"),
            "password",
        ),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 512 + "WordDocument".encode("utf-16-le"), "Word"),
        (b"PK\x03\x04 broken", "damaged"),
        (b"PK\x05\x06" + b"\x00" * 18, "zip archive"),
        (xlsx([[None]]), "empty"),
        (xlsx([["id", "a"]]), "header but no rows"),
    ],
)
def test_bad_workbooks(data, match):
    with pytest.raises(InputError, match=match) as caught:
        read(data, name="class.csv")
    assert "allowed" in str(caught.value) or "save" in str(caught.value)


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ({"word/document.xml": "<x/>"}, "Word"),
        (
            {"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": "<x/>"},
            "OpenDocument",
        ),
        ({"xl/workbook.bin": "x"}, "xlsb"),
        ({"responses/a.csv": "id,a"}, "zip archive"),
    ],
)
def test_other_zips_are_named(parts, match):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(InputError, match=match):
        read(out.getvalue())


def test_zip_bomb_is_refused_before_it_is_parsed():
    bomb = repack(xlsx(ROWS), {"xl/worksheets/sheet1.xml": sheet_xml(" " * 5_000_000)})
    assert len(bomb) < 50_000
    with pytest.raises(InputError, match=r"expands to more than 1,000,000 bytes"):
        read(bomb, max_uncompressed_bytes=1_000_000)


def test_zip_bomb_that_lies_about_its_size():
    bomb = repack(xlsx(ROWS), {"xl/worksheets/sheet1.xml": sheet_xml(" " * 5_000_000)})
    size = struct.pack("<I", len(sheet_xml(" " * 5_000_000)))
    assert bomb.count(size) == 2
    with pytest.raises(InputError, match="expands to more"):
        read(bomb.replace(size, struct.pack("<I", 100)), max_uncompressed_bytes=1_000_000)


def test_two_cells_in_far_corners():
    far = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    with pytest.raises(InputError, match="reaches XFD1048576: 16,384 columns"):
        read(repack(xlsx(ROWS), {"xl/worksheets/sheet1.xml": sheet_xml(far)}))
    deep = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c><v>1</v></c></row>'
    with pytest.raises(InputError, match="1,048,576 rows"):
        read(repack(xlsx(ROWS), {"xl/worksheets/sheet1.xml": sheet_xml(deep)}))


def test_one_long_text_used_by_many_cells():
    many = "".join(f'<row r="{at}"><c r="A{at}" t="s"><v>0</v></c></row>' for at in range(1, 5_001))
    namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    strings = f'<sst xmlns="{namespace}"><si><t>{"x" * 40_000}</t></si></sst>'
    data = repack(xlsx(ROWS), {"xl/worksheets/sheet1.xml": sheet_xml(many), "xl/sharedStrings.xml": strings})
    with pytest.raises(InputError, match="bytes of text when written out"):
        read(data, max_uncompressed_bytes=10_000_000)


def test_many_parts():
    with pytest.raises(InputError, match="parts inside the file"):
        read(repack(xlsx(ROWS), {f"xl/x{at}.xml": "" for at in range(2_001)}))


def test_limits_of_sheets():
    rows = [["a", "b"], *[[f"x{at}", "y"] for at in range(30)]]
    with pytest.raises(InputError, match="19 rows; allowed: at most 10"):
        read(xlsx(rows[:20]), max_rows=10)
    with pytest.raises(InputError, match="reaches B31: 31 rows"):
        read(xlsx(rows), max_rows=10)
    with pytest.raises(InputError, match="columns"):
        read(xlsx([[f"c{at}" for at in range(11)], ["x"] * 11]), max_columns=10)
    with pytest.raises(InputError, match="row 2, column B: 101 characters"):
        read(xlsx([["a", "b"], ["1", "x" * 101]]), max_cell_chars=100)


def test_password_flag_inside_a_zip():
    data = bytearray(xlsx(ROWS))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = 0
        while (at := data.find(magic, start)) >= 0:
            data[at + offset] |= 1
            start = at + 4
    with pytest.raises(InputError, match="password"):
        read(bytes(data))


def test_damaged_workbooks_never_crash():
    good = xlsx(ROWS)
    chance = random.Random(7)
    for _ in range(300):
        bad = bytearray(good)
        for _ in range(chance.randint(1, 8)):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        try:
            read(bytes(bad[: chance.randint(50, len(bad))] if chance.random() < 0.3 else bad))
        except InputError:
            continue


def test_damaged_sheets_never_crash():
    good = xlsx(ROWS)
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".xml")]
        parts = {name: archive.read(name) for name in names}
    chance = random.Random(11)
    for _ in range(200):
        name = chance.choice(names)
        bad = bytearray(parts[name])
        for _ in range(chance.randint(1, 6)):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        try:
            read(repack(good, {name: bytes(bad)}))
        except InputError:
            continue


def parquet(frame):
    out = io.BytesIO()
    frame.to_parquet(out)
    return out.getvalue()


def test_parquet_is_read_as_text():
    frame = pd.DataFrame({"id": ["007", None], "n": [1, 2], "x": [1.5, None], "when": [dt.date(2026, 1, 2), None]})
    table = read(parquet(frame), name="a.parquet")
    assert table.kind == "parquet"
    assert table.frame.to_numpy().tolist() == [["007", "1", "1.5", "2026-01-02"], ["", "2", "", ""]]
    assert table.rows == (2, 3)


def test_parquet_in_excel_out():
    frame = pd.DataFrame({"candidate": ["007", "8"], "view": ["x", "y"], "n": [1.5, None], "big": [2**60, -(2**60)]})
    found = read_layout(read(parquet(frame), name="a.parquet"))
    export = write_back(found, [Result("007", "view", 2.0)], format="xlsx")
    rows = list(openpyxl.load_workbook(io.BytesIO(export.data)).active.iter_rows(values_only=True))
    assert rows[1] == ("007", "x", 2, 1.5, str(2**60))
    assert rows[2] == ("8", "y", None, None, str(-(2**60)))


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"a": pa.array([[1], [2]])}, "list"),
        ({"a": pa.array([b"x", b"y"])}, "binary"),
        ({"a": pa.array(["x", "y" * 101])}, "row 3, column A: 101 characters"),
        ({"a": pa.array(["x"] * 20)}, "20 rows; allowed: at most 10"),
        ({f"c{at}": pa.array(["x"]) for at in range(11)}, "11 columns"),
        ({"a": pa.array([], pa.string())}, "header but no rows"),
    ],
)
def test_bad_parquet(columns, match):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    with pytest.raises(InputError, match=match):
        read(out.getvalue(), max_rows=10, max_columns=10, max_cell_chars=100)


def test_damaged_parquet():
    data = parquet(pd.DataFrame({"a": ["x"]}))
    with pytest.raises(InputError, match="damaged Parquet"):
        read(data[:40])
