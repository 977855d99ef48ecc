"""Text tables: encodings, delimiters, damaged and hostile files."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import InputError
from grader.formats.limits import Limits
from grader.formats.table import read_table

PLAIN = "id,answer\n007,Müller – ok\n"


def read(data, name="class.csv", **limits):
    data = data.encode() if isinstance(data, str) else data
    return read_table(data, name=name, limits=Limits(**limits))


def cells(table):
    return table.frame.to_numpy().tolist()


def codes(table):
    return [note.code for note in table.warnings]


def test_cells_are_text_and_nothing_is_parsed():
    table = read("id,mark,date,empty,truth\n007,1.50,30.04.2026,,TRUE\n 8 ,1e5,NA,nan,null\n")
    assert cells(table) == [["007", "1.50", "30.04.2026", "", "TRUE"], [" 8 ", "1e5", "NA", "nan", "null"]]
    assert table.rows == (2, 3)
    assert table.kind == "csv"
    assert set(map(str, table.frame.dtypes)) <= {"str", "string"}


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (PLAIN.encode("utf-8"), "utf-8"),
        (PLAIN.encode("utf-8-sig"), "utf-8-sig"),
        (PLAIN.encode("utf-16"), "utf-16"),
        (b"\xfe\xff" + PLAIN.encode("utf-16-be"), "utf-16"),
        (PLAIN.encode("cp1252"), "cp1252"),
    ],
)
def test_encodings(data, encoding):
    table = read(data)
    assert table.encoding == encoding
    assert table.headers == ("id", "answer")
    assert cells(table) == [["007", "Müller – ok"]]
    assert codes(table) == (["encoding-guessed"] if encoding == "cp1252" else [])


def test_cp1252_warning_says_so_and_where():
    note = read("id,answer\n1,x\n2,Größe\n".encode("cp1252")).warnings[0]
    assert "cp1252" in str(note)
    assert "line 3" in str(note)
    assert "Größe" in str(note)


def test_bom_before_a_quoted_header():
    assert read('"id","answer"\n1,x\n'.encode("utf-8-sig")).headers == ("id", "answer")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_are_sniffed(delimiter):
    rows = [
        ["id", "answer", "mark"],
        ["1", "one; two, three", "1"],
        ["2", "four, five", "2"],
        ["3", "six", "3"],
    ]
    text = "\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)
    table = read(text)
    assert table.delimiter == delimiter
    assert cells(table) == rows[1:]


def test_semicolon_file_with_many_commas():
    table = read("name;answer\nA;one, two, three\nB;four, five, six\nC;seven, eight, nine\n")
    assert table.delimiter == ";"
    assert table.headers == ("name", "answer")


def test_excel_sep_line_sets_the_delimiter_and_is_no_row():
    table = read("sep=;\r\nid;answer\r\n1;a,b\r\n")
    assert (table.delimiter, table.header_row, table.rows) == (";", 1, (2,))


def test_one_column_is_a_table():
    assert cells(read("answer\nyes\nno\n")) == [["yes"], ["no"]]


def test_tsv_name_decides_between_equal_delimiters():
    assert read("a,b\tc\n1,2\t3\n", name="x.tsv").delimiter == "\t"
    assert read("a,b\tc\n1,2\t3\n", name="x.csv").delimiter == ","


def test_rows_are_counted_as_a_spreadsheet_counts_them():
    table = read('\n\nid,answer\n1,"two\nlines"\n\n2,x\n')
    assert table.header_row == 3
    assert table.rows == (4, 6)
    assert cells(table)[0][1] == "two\nlines"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings(ending):
    assert cells(read(ending.join(["id,a", "1,x", "2,y", ""]))) == [["1", "x"], ["2", "y"]]


def test_short_row_is_filled_with_a_warning():
    table = read("id,a,b\n1,x\n2,y,z\n")
    assert cells(table)[0] == ["1", "x", ""]
    assert str(table.warnings[0]) == (
        "row 2, column 'b': 2 cells where the header has 3; the missing ones are read as empty"
    )


def test_extra_cells_are_kept_with_a_warning():
    table = read("id,a\n1,x,y,z\n2,y,\n")
    assert cells(table) == [["1", "x"], ["2", "y"]]
    assert table.extras == {2: ("y", "z")}
    assert codes(table) == ["extra-cells"]
    assert table.warnings[0].row == 2


def test_duplicate_and_empty_headers_are_kept_apart_and_remembered():
    table = read("1.0,q,1.0,,1.0\na,b,c,d,e\n")
    assert table.headers == ("1.0", "q", "1.0", "", "1.0")
    assert table.labels == ("1.0", "q", "1.0 (2)", "(column D)", "1.0 (3)")
    assert table.frame.columns.is_unique
    assert codes(table) == ["duplicate-header", "empty-header", "duplicate-header"]


def test_label_of_a_duplicate_never_hits_a_real_header():
    assert read("a,a (2),a\n1,2,3\n").labels == ("a", "a (2)", "a (3)")


def test_trailing_empty_columns_are_dropped():
    assert read("id,a,,\n1,x,,\n").headers == ("id", "a")


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_formula_text_is_text(start):
    assert cells(read(f"id,a\n1,{start}1+1\n")) == [["1", f"{start}1+1"]]


@pytest.mark.parametrize(
    ("text", "decimal"),
    [
        ("id;m\n1;2,5\n2;10\n", ","),
        ("id,m\n1,2.5\n", "."),
        ('id,m\n1,"18,5"\n', ","),
        ("id;Bewertung/10,00\n1;3\n", ","),
    ],
)
def test_decimal_mark_is_guessed(text, decimal):
    assert read(text).decimal == decimal


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "empty"),
        (b"  \n\n", "empty"),
        (b"\xef\xbb\xbf", "no filled cell"),
        (b"id,answer\n", "header but no rows"),
        (b"id,answer\n,\n , \n", "header but no rows"),
        (b"id,answer\n1,a\x00b\n", "NUL"),
        ("id,answer\n1,x\n".encode("utf-16-le"), "UTF-16"),
        ("id,a\n1,a\x00b\n".encode("utf-16"), "NUL"),
        ("id,answer\n1,x\n".encode("utf-32"), "UTF-32"),
        (b"id,answer\n1,\xed\xa0\x80\n", "lone surrogate"),
        (b"\xff\xfe" + b"i\x00,\x00a\x00\n\x001\x00,\x00\x00\xd8x\x00", "lone surrogate"),
        (b"\xef\xbb\xbfid\n\xff\xfe", "utf-8-sig"),
        (b"id,a\n1,\x81\x8d\n", "neither UTF-8"),
        (b"%PDF-1.7 ...", "PDF"),
        (b"\x89PNG\r\n\x1a\n....", "PNG"),
        (b"\x1f\x8b\x08....", "gzip"),
        (bytes(range(1, 32)) * 20, "control characters"),
        (b"<!DOCTYPE html><table>", "web page"),
        (b"<?xml version='1.0'?>", "XML"),
        (b'[{"id": 1}]', "JSON"),
        (b'id,answer\n1,"never closed\n2,x\n3,y\n', "row 2: a quotation mark"),
        (b'id,answer\n1,"a"b\n2,"never closed\n3,y\n', "row 3: a quotation mark"),
    ],
)
def test_bad_files_raise_one_clear_error(data, match):
    with pytest.raises(InputError, match=match) as caught:
        read(data, name="class 7.csv")
    message = str(caught.value)
    assert message.startswith("class 7.csv:")
    assert "allowed" in message


def test_text_after_a_closing_quote_is_read_with_a_warning():
    table = read('id,answer\n1,"He said" hi\n2,x\n')
    assert cells(table) == [["1", "He said hi"], ["2", "x"]]
    assert codes(table) == ["stray-quote"]
    assert table.warnings[0].row == 2


@pytest.mark.parametrize(
    ("data", "limits", "match"),
    [
        (
            ",".join(f"c{at}" for at in range(10_000)) + "\n" + "," * 9_999,
            {},
            r"10,000 columns; allowed: at most 1,000",
        ),
        ("a,b\n1,2,3,4,5\n", {"max_columns": 4}, r"row 2: 5 columns; allowed: at most 4"),
        ("a\n" + "x\n" * 11, {"max_rows": 10}, r"rows; allowed: at most 10"),
        ("a,b\n" + "x,y\n" * 11, {"max_cells": 10}, r"cells; allowed: at most 10"),
        (
            "a,b\n1," + "x" * 101,
            {"max_cell_chars": 100},
            r"row 2, column B: 101 characters in a cell; allowed: at most 100",
        ),
        ("a,b\n1," + "x" * 140_000, {}, r"row 2: a cell is longer"),
        ("a,b\n1,2\n", {"max_bytes": 4}, r"8 bytes; allowed: at most 4"),
    ],
)
def test_limits(data, limits, match):
    with pytest.raises(InputError, match=match):
        read(data, **limits)


def test_just_within_the_limits():
    assert len(read("a\n" + "x\n" * 10, max_rows=10).rows) == 10
    assert read("a,b\n1," + "x" * 100, max_cell_chars=100).rows == (2,)


def test_many_ragged_rows_give_few_warnings():
    table = read("a,b\n" + "x\n" * 500, max_notes=5)
    assert len(table.warnings) == 6
    assert "495 more" in str(table.warnings[-1])


def test_a_path_is_read_and_checked_before_it_is_loaded(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text(PLAIN, encoding="utf-8")
    assert read_table(file, name="x.csv").headers == ("id", "answer")
    with pytest.raises(InputError, match="bytes; allowed"):
        read_table(file, name="x.csv", limits=Limits(max_bytes=3))
    for bad in (tmp_path / "missing.csv", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            read_table(bad, name="x.csv")


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_no_bytes_crash_the_reader(data):
    try:
        table = read(data)
    except InputError:
        return
    assert len(table.frame) == len(table.rows) > 0


@settings(max_examples=200)
@given(st.text(alphabet='ab,;\t"\n\r=1 ', max_size=60))
def test_no_text_crashes_the_reader(text):
    try:
        table = read(text)
    except InputError:
        return
    assert len(set(table.labels)) == len(table.headers) == table.frame.shape[1]
